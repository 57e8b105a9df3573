package wire

import (
	"bytes"
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxParameters bounds a query request. The largest valid one, a thousand metrics of PutMetricData with dimensions and
// values in 1 MB, has fewer.
const maxParameters = 50_000

// maxNodes bounds the tree of a request: names of metrics have up to nine parts, most of which they share.
const maxNodes = 4 * maxParameters

// addParameters parses a form. net/url reads at most 10,000 parameters. Every parameter is a string of its own: an id
// that a queue remembers must not keep a whole form in memory.
func addParameters(to url.Values, form []byte) *Error {
	if n := bytes.Count(form, []byte{'&'}) + 1; n > maxParameters {
		return tooManyParameters(n)
	}
	for part := range bytes.SplitSeq(form, []byte{'&'}) {
		if len(part) == 0 {
			continue
		}
		pair := string(part)
		if strings.Contains(pair, ";") {
			return malformedQuery("The parameter %.100q has a semicolon that is not escaped.", pair)
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err == nil {
			value, err = url.QueryUnescape(value)
		}
		if err != nil {
			return malformedQuery("The parameter %.100q cannot be read: %v.", pair, err)
		}
		to[name] = append(to[name], value)
	}
	return nil
}

func tooManyParameters(n int) *Error {
	return malformedQuery("The request has %d parameters; at most %d are read.", n, maxParameters)
}

// node is one step of a parameter's dotted name: Attribute.1.Name=x is the node Attribute with the child 1, which has
// the child Name with the value x.
type node struct {
	name     string
	value    string
	valued   bool
	children []*node
	byName   map[string]*node // the children, once there are many
}

// parseForm returns the tree of a form, without parameters that belong to the protocol and not to the action.
func parseForm(values url.Values) (*node, *Error) {
	if len(values) > maxParameters {
		return nil, tooManyParameters(len(values))
	}
	root, nodes := &node{}, 0
	names := make([]string, 0, len(values))
	for name := range values {
		if !protocolParameter(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if len(values[name]) > 1 {
			return nil, malformedQuery("The parameter %s is given %d times.", name, len(values[name]))
		}
		if nodes += 1 + strings.Count(name, "."); nodes > maxNodes {
			return nil, malformedQuery("The names of the parameters have more than %d parts.", maxNodes)
		}
		if !root.put(name, values[name][0]) {
			return nil, malformedQuery("The parameter %s is not a name.", name)
		}
	}
	return root, nil
}

// protocolParameter reports whether a parameter is about the request itself: its action, the form of its answer, or its
// signature (versions 2 and 4).
func protocolParameter(name string) bool {
	switch name {
	case "Action", "Version", "AWSAccessKeyId", "Signature", "SignatureMethod", "SignatureVersion",
		"Timestamp", "Expires", "SecurityToken", contentTypeParameter:
		return true
	}
	return len(name) > 6 && strings.EqualFold(name[:6], "x-amz-")
}

func (n *node) put(name, value string) bool {
	at := n
	for i, part := range strings.Split(name, ".") {
		if part == "" || i > maxDepth {
			return false
		}
		at = at.step(part)
	}
	at.value, at.valued = value, true
	return true
}

// step returns a child, and creates it if necessary. Names come sorted, so it can only be the last child.
func (n *node) step(name string) *node {
	if last := len(n.children) - 1; last >= 0 && n.children[last].name == name {
		return n.children[last]
	}
	if c := n.child(name); c != nil {
		return c
	}
	c := &node{name: name}
	n.children = append(n.children, c)
	n.index(c)
	return c
}

// manyChildren is the number of children from which a search among them needs an index.
const manyChildren = 32

func (n *node) index(added *node) {
	switch {
	case len(n.children) < manyChildren:
	case n.byName == nil:
		n.byName = make(map[string]*node, 2*manyChildren)
		for _, c := range n.children {
			n.byName[c.name] = c
		}
	default:
		n.byName[added.name] = added
	}
}

func (n *node) child(name string) *node {
	if n.byName != nil {
		return n.byName[name]
	}
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

// numbered returns the children in order of their numbers, or the first child whose name is not a number.
func (n *node) numbered() (sorted []*node, odd *node) {
	for _, c := range n.children {
		if _, err := strconv.ParseUint(c.name, 10, 31); err != nil {
			return nil, c
		}
	}
	sorted = slices.Clone(n.children)
	slices.SortStableFunc(sorted, func(a, b *node) int { return cmp.Compare(a.number(), b.number()) })
	return sorted, nil
}

// number returns a name that is known to be a number.
func (n *node) number() uint64 {
	x, _ := strconv.ParseUint(n.name, 10, 31)
	return x
}

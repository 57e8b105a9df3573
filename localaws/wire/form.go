package wire

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxParameters bounds a query request. The largest valid one, a thousand metrics of PutMetricData with dimensions and
// values in 1 MB, has fewer.
const maxParameters = 50_000

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
		return nil, malformedQuery("The request has %d parameters; at most %d are read.", len(values), maxParameters)
	}
	root := &node{}
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
		if !root.put(name, values[name][0]) {
			return nil, malformedQuery("The parameter %s is not a name.", name)
		}
	}
	return root, nil
}

// protocolParameter reports whether a parameter is about the request itself: its action, or its signature (versions 2
// and 4).
func protocolParameter(name string) bool {
	switch name {
	case "Action", "Version", "AWSAccessKeyId", "Signature", "SignatureMethod", "SignatureVersion",
		"Timestamp", "Expires", "SecurityToken":
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

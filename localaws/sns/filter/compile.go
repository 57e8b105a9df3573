package filter

import (
	"fmt"
	"maps"
	"slices"

	"github.com/godwitmq/godwit/localaws/sns/jsontext"
)

// compiler turns tokens into branches. It checks in the same order as SNS's parser, so that of several errors the same
// one is reported.
type compiler struct {
	tokens
	nested bool
	points int // of all wildcards
}

// branch is one alternative during compilation: field name → patterns.
type branch map[string]field

type field struct {
	patterns []pattern
	values   int // number of the array's elements
	depth    int // 1 at the top
}

const orKeyword = "$or"

// reserved are words that cannot be field names inside $or.
var reserved = []string{
	"exactly", "equals-ignore-case", "prefix", "suffix", "anything-but", "exists", "wildcard", "numeric", "cidr",
	"=", "<", "<=", ">", ">=", "regex", "not-wildcard", "not-equals-ignore-case", "date-after", "date-on-or-after",
	"date-before", "date-on-or-before", "in-date-range", "ip-address-in-range", "ip-address-not-in-range",
}

func (c *compiler) policy() ([]branch, error) {
	if c.next().kind != jsontext.ObjectStart {
		return nil, c.refuse("Filter is not an object")
	}
	return c.object(nil, "", 1, false)
}

// object compiles one object into the given branches and returns the resulting ones.
func (c *compiler) object(so []branch, path string, depth int, insideOr bool) ([]branch, error) {
	empty := true
	for c.next().kind != jsontext.ObjectEnd {
		empty = false
		name := c.now.text
		var err error
		switch {
		case name == orKeyword:
			so, err = c.or(so, path, depth)
		case insideOr && slices.Contains(reserved, name):
			err = c.refuse(name + " is Ruler reserved fieldName which cannot be used inside $or.")
		default:
			so, err = c.member(so, join(path, name), name, depth, insideOr)
		}
		if err != nil {
			return nil, err
		}
	}
	if empty {
		return nil, c.refuse("Empty objects are not allowed")
	}
	return so, nil
}

func (c *compiler) member(so []branch, path, name string, depth int, insideOr bool) ([]branch, error) {
	switch c.next().kind {
	case jsontext.ObjectStart:
		c.nested = true
		return c.object(so, path, depth+1, insideOr)
	case jsontext.ArrayStart:
		f, err := c.values()
		if err != nil {
			return nil, err
		}
		f.depth = depth
		if len(so) == 0 {
			so = []branch{{}}
		}
		for _, b := range so {
			b[path] = f
		}
		return so, nil
	}
	return nil, c.refuse(`"` + name + `" must be an object or an array`)
}

// or splits every branch into one per alternative.
func (c *compiler) or(so []branch, path string, depth int) ([]branch, error) {
	if c.next().kind != jsontext.ArrayStart {
		return nil, c.refuse("It must be an Array followed with $or.")
	}
	var all []branch
	alternatives := 0
	for c.next().kind != jsontext.ArrayEnd {
		alternatives++
		if c.now.kind != jsontext.ObjectStart {
			return nil, c.refuse("Only JSON object is allowed in array of $or relationship.")
		}
		fork := []branch{{}}
		if len(so) > 0 {
			fork = fork[:0]
			for _, b := range so {
				fork = append(fork, maps.Clone(b))
			}
		}
		forked, err := c.object(fork, path, depth, true)
		if err != nil {
			return nil, err
		}
		if all = append(all, forked...); len(all) > maxCombinations {
			// Every branch is at least one combination. Going on would only use memory.
			return nil, refusal("Filter policy is too complex")
		}
	}
	if alternatives < 2 {
		return nil, c.refuse("There must have at least 2 Objects in $or relationship.")
	}
	return all, nil
}

// values compiles the array of one field.
func (c *compiler) values() (field, error) {
	var f field
	for c.next().kind != jsontext.ArrayEnd {
		f.values++
		switch c.now.kind {
		case jsontext.ObjectStart:
			p, err := c.expression()
			if err != nil {
				return field{}, err
			}
			f.patterns = append(f.patterns, p)
		case jsontext.String:
			f.patterns = append(f.patterns, exactString(c.now.text))
		case jsontext.Number:
			f.patterns = append(f.patterns, exactNumber(c.now.text))
		case jsontext.True, jsontext.False, jsontext.Null:
			f.patterns = append(f.patterns, exactWord(c.now.kind))
		default:
			return field{}, c.refuse("Match value must be String, number, true, false, or null")
		}
	}
	if f.values == 0 {
		return field{}, c.refuse("Empty arrays are not allowed")
	}
	if c.points += wildcardPoints(f.patterns); c.points > maxWildcardPoints {
		return field{}, refusal(fmt.Sprintf("Filter policy is too complex: its wildcards have more than %d points",
			maxWildcardPoints))
	}
	return f, nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

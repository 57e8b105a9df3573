package filter

import (
	"slices"

	"github.com/godwitmq/godwit/localaws/sns/jsontext"
)

// Attribute is one message attribute. As on SNS, attributes of types other than String, String.Array and Number are
// ignored.
type Attribute struct {
	Name  string
	Type  string
	Value string
}

// MatchAttributes reports whether a message with these attributes passes. A message without any attribute never passes,
// not even exists: false.
func (p *Policy) MatchAttributes(attributes []Attribute) bool {
	if len(attributes) == 0 {
		return false
	}
	return slices.ContainsFunc(p.branches, func(b []clause) bool { return p.branchMatches(b, attributes) })
}

func (p *Policy) branchMatches(clauses []clause, attributes []Attribute) bool {
	for i := range clauses {
		c := &clauses[i]
		matched, there := c.matchAttribute(p.fields[c.field], attributes)
		if !matched && (there || !c.matchesAbsence()) {
			return false
		}
	}
	return true
}

// matchAttribute reports whether the attribute with that name matches, and whether it has a value.
func (c *clause) matchAttribute(name string, attributes []Attribute) (matched, there bool) {
	for i := range attributes {
		a := &attributes[i]
		if a.Name != name {
			continue
		}
		switch a.Type {
		case "String":
			return c.matches(&value{kind: jsontext.String, text: a.Value}), true
		case "Number":
			return c.matches(&value{kind: jsontext.Number, text: a.Value}), true
		case "String.Array":
			return c.matchArray(a.Value)
		}
	}
	return false, false
}

// matchArray checks every element. A text that is not a JSON array counts as missing.
func (c *clause) matchArray(text string) (matched, there bool) {
	r := jsontext.NewReader(text)
	if t, err := r.Next(); err != nil || t.Kind != jsontext.ArrayStart {
		return false, false
	}
	for {
		t, err := r.Next()
		switch {
		case err != nil:
			return false, false
		case t.Kind == jsontext.End:
			return matched, there
		case t.Kind >= jsontext.String:
			there = true
			matched = matched || c.matches(&value{kind: t.Kind, text: t.Text})
		}
	}
}

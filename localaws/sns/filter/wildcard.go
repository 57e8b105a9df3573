package filter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/localaws/sns/jsontext"
)

const (
	maxWildcards      = 3   // SNS: wildcards in a pattern
	maxWildcardPoints = 100 // SNS: counted over the whole policy
)

// wildcard matches strings that consist of its parts with any text, also none, between them. A pattern without a
// wildcard has one part.
type wildcard []string

func (p wildcard) matches(v *value) bool {
	if v.kind != jsontext.String {
		return false
	}
	rest, ok := strings.CutPrefix(v.text, p[0])
	if len(p) == 1 {
		return ok && rest == ""
	}
	last := p[len(p)-1]
	if !ok || !strings.HasSuffix(rest, last) {
		return false
	}
	rest = rest[:len(rest)-len(last)]
	// The first place of a part leaves the most text for the next one, so no other place needs to be tried.
	for _, part := range p[1 : len(p)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return true
}

// anythingButWildcards matches a value that none of its patterns matches.
type anythingButWildcards []wildcard

func (p anythingButWildcards) matches(v *value) bool {
	return !slices.ContainsFunc(p, func(w wildcard) bool { return w.matches(v) })
}

// wildcardText parses the pattern of the current token. A backslash makes the next wildcard or backslash literal.
func (c *compiler) wildcardText() (wildcard, error) {
	if c.now.kind != jsontext.String {
		return nil, c.refuse("wildcard match pattern must be a string")
	}
	text := c.now.text
	var p wildcard
	var part strings.Builder
	for i := 0; i < len(text); i++ {
		next := byte(0)
		if i+1 < len(text) {
			next = text[i+1]
		}
		switch {
		case text[i] == '\\' && (next == '*' || next == '\\'):
			part.WriteByte(next)
			i++
		case text[i] == '\\':
			return nil, c.refuseRead(fmt.Sprintf("Invalid escape character at pos %d", i+1)) // in bytes, with the quote
		case text[i] == '*' && next == '*':
			return nil, c.refuseRead(fmt.Sprintf("Consecutive wildcard characters at pos %d", i+1))
		case text[i] == '*':
			p = append(p, part.String())
			part.Reset()
		default:
			part.WriteByte(text[i])
		}
	}
	if len(p) > maxWildcards {
		return nil, c.refuseRead(fmt.Sprintf("A wildcard match pattern can have at most %d wildcards", maxWildcards))
	}
	return append(p, part.String()), nil
}

// wildcard compiles the pattern of the operator wildcard.
func (c *compiler) wildcard() (pattern, error) {
	c.next()
	p, err := c.wildcardText()
	if err != nil {
		return nil, err
	}
	if c.next().kind != jsontext.ObjectEnd {
		return nil, c.refuse(onlyOne)
	}
	return p, nil
}

// anythingButWildcard compiles the pattern, or the list of patterns, of wildcard within anything-but.
func (c *compiler) anythingButWildcard() (pattern, error) {
	var p anythingButWildcards
	list := c.next().kind == jsontext.ArrayStart
	for !list || c.next().kind != jsontext.ArrayEnd {
		w, err := c.wildcardText()
		if err != nil {
			return nil, err
		}
		if p = append(p, w); !list {
			break
		}
	}
	if len(p) == 0 {
		return nil, c.refuse("Empty arrays are not allowed")
	}
	return p, c.endOfNested()
}

// points returns what a pattern adds to the complexity of its field.
func (p wildcard) points() int {
	if wildcards := len(p) - 1; wildcards > 1 {
		return 3 * wildcards
	}
	return len(p) - 1
}

// wildcardPoints returns SNS's complexity of a field: the sum of its patterns' points times their number.
func wildcardPoints(patterns []pattern) int {
	sum, n := 0, 0
	count := func(all ...wildcard) {
		for _, w := range all {
			sum += w.points()
			n++
		}
	}
	for _, p := range patterns {
		switch p := p.(type) {
		case wildcard:
			count(p)
		case anythingButWildcards:
			count(p...)
		}
	}
	return sum * n
}

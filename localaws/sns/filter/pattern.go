package filter

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/godwitmq/godwit/localaws/sns/jsontext"
)

// pattern matches one value of a field.
type pattern interface{ matches(v *value) bool }

// value is one value of a message: a string, a number, true, false or null.
type value struct {
	kind jsontext.Kind
	text string

	parsed     bool // number() was called
	comparable int64
	numeric    bool
}

// number returns the comparable form of a number; ok is false for other values.
func (v *value) number() (n int64, ok bool) {
	if v.kind != jsontext.Number {
		return 0, false
	}
	if !v.parsed {
		v.parsed = true
		v.comparable, v.numeric = parseNumber(v.text)
	}
	return v.comparable, v.numeric
}

// exactString returns the pattern for a string: the string itself, or the address that it denotes.
func exactString(text string) pattern {
	if a, ok := parseAddress(text); ok {
		return block{first: a, last: a}
	}
	return literal{kind: jsontext.String, text: text}
}

// exactNumber returns the pattern for a number: the comparable number or, beyond its bounds (as for account numbers),
// the digits as written.
func exactNumber(text string) pattern {
	if n, ok := parseNumber(text); ok {
		return numericRange{n, n}
	}
	return literal{kind: jsontext.Number, text: text}
}

func exactWord(kind jsontext.Kind) pattern {
	return word(kind)
}

type literal struct {
	kind jsontext.Kind
	text string
}

func (p literal) matches(v *value) bool { return v.kind == p.kind && v.text == p.text }

// word is true, false or null.
type word jsontext.Kind

func (p word) matches(v *value) bool { return v.kind == jsontext.Kind(p) }

type prefix string

func (p prefix) matches(v *value) bool {
	return v.kind == jsontext.String && strings.HasPrefix(v.text, string(p))
}

type suffix string

func (p suffix) matches(v *value) bool {
	return v.kind == jsontext.String && strings.HasSuffix(v.text, string(p))
}

// ignoringCase matches a character with its upper-case and its lower-case form, without further case folding.
type ignoringCase string

func (p ignoringCase) matches(v *value) bool {
	if v.kind != jsontext.String {
		return false
	}
	want, have := string(p), v.text
	for want != "" && have != "" {
		a, n := utf8.DecodeRuneInString(want)
		b, m := utf8.DecodeRuneInString(have)
		if a != b && unicode.ToLower(a) != b && unicode.ToUpper(a) != b {
			return false
		}
		want, have = want[n:], have[m:]
	}
	return want == have
}

// anythingBut holds either strings or numbers; a value of another type matches.
type anythingBut struct {
	texts   []string
	numbers []int64
}

func (p anythingBut) matches(v *value) bool {
	if n, ok := v.number(); ok {
		return !slices.Contains(p.numbers, n)
	}
	return v.kind != jsontext.String || !slices.Contains(p.texts, v.text)
}

type anythingButPrefix string

func (p anythingButPrefix) matches(v *value) bool {
	return v.kind != jsontext.String || !strings.HasPrefix(v.text, string(p))
}

// exists(true) matches every value; exists(false) matches no value, but a missing field, which the caller checks.
type exists bool

func (p exists) matches(*value) bool { return bool(p) }

// matchesAbsence reports whether a missing field can match the clause.
func (c *clause) matchesAbsence() bool {
	return slices.ContainsFunc(c.patterns, func(p pattern) bool {
		e, ok := p.(exists)
		return ok && !bool(e)
	})
}

// matches reports whether one of the patterns matches v.
func (c *clause) matches(v *value) bool {
	return slices.ContainsFunc(c.patterns, func(p pattern) bool { return p.matches(v) })
}

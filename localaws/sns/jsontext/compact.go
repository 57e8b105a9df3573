package jsontext

import (
	"fmt"
	"strings"
)

// Compact returns src without white space between tokens, and with no more escapes than JSON needs. An error is an
// *Error.
func Compact(src string) (string, error) {
	r := NewReader(src)
	var b strings.Builder
	b.Grow(len(src))
	before := ObjectStart // the token before; no comma is needed after an opening one
	for {
		t, err := r.Next()
		if err != nil {
			return "", err
		}
		if t.Kind == End {
			return b.String(), nil
		}
		if needsComma(before, t.Kind) {
			b.WriteByte(',')
		}
		switch t.Kind {
		case Name:
			Quote(&b, t.Text)
			b.WriteByte(':')
		case String:
			Quote(&b, t.Text)
		default:
			b.WriteString(t.Text)
		}
		before = t.Kind
	}
}

func needsComma(before, now Kind) bool {
	switch {
	case now == ObjectEnd || now == ArrayEnd:
		return false
	case before == ObjectStart || before == ArrayStart || before == Name:
		return false
	}
	return true
}

// Quote appends s as a JSON string.
func Quote(b *strings.Builder, s string) {
	b.WriteByte('"')
	kept := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b.WriteString(s[kept:i])
		kept = i + 1
		if at := strings.IndexByte("\"\\\b\f\n\r\t", c); at >= 0 {
			b.WriteByte('\\')
			b.WriteByte(`"\bfnrt`[at])
		} else {
			fmt.Fprintf(b, "\\u%04X", c)
		}
	}
	b.WriteString(s[kept:])
	b.WriteByte('"')
}

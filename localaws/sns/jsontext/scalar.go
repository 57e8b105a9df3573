package jsontext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// number consumes one number.
func (r *Reader) number() error {
	if r.peek() == '-' {
		r.pos++
	}
	if c := r.peek(); c < '0' || c > '9' {
		return r.numberFault("expected digit (0-9) to follow minus sign, for valid numeric value")
	}
	if r.peek() == '0' {
		r.pos++
		if c := r.peek(); '0' <= c && c <= '9' {
			return r.fail(r.pos, "Invalid numeric value: Leading zeroes not allowed")
		}
	}
	r.digits()
	if r.peek() == '.' {
		r.pos++
		if r.digits() == 0 {
			return r.numberFault("Decimal point not followed by a digit")
		}
	}
	if c := r.peek(); c == 'e' || c == 'E' {
		r.pos++
		if c := r.peek(); c == '+' || c == '-' {
			r.pos++
		}
		if r.digits() == 0 {
			return r.numberFault("Exponent indicator not followed by a digit")
		}
	}
	// A number must not be followed by a part of a word: 12a is not a number.
	if r.pos < len(r.src) && !strings.ContainsRune(" \t\r\n,]}", rune(r.src[r.pos])) {
		return r.unexpected("Expected space separating root-level values")
	}
	return nil
}

func (r *Reader) digits() int {
	start := r.pos
	for r.pos < len(r.src) && '0' <= r.src[r.pos] && r.src[r.pos] <= '9' {
		r.pos++
	}
	return r.pos - start
}

func (r *Reader) numberFault(why string) error {
	if r.pos >= len(r.src) {
		return r.fail(r.pos, "Unexpected end-of-input within/between number tokens")
	}
	return r.unexpectedIn("Unexpected character ("+r.quoteChar()+") in numeric value", why)
}

// quoted consumes a quoted text and returns it decoded; without escapes it is a part of the source.
func (r *Reader) quoted(atEnd string) (string, error) {
	start := r.pos + 1
	for i := start; i < len(r.src); i++ {
		switch c := r.src[i]; {
		case c == '"':
			r.pos = i + 1
			return r.src[start:i], nil
		case c == '\\' || c < ' ':
			r.pos = start
			return r.escaped(i, atEnd)
		}
	}
	r.pos = len(r.src)
	return "", r.fail(r.pos, "Unexpected end-of-input: "+atEnd)
}

// escaped is the slow path of quoted; at is the position of the first escape or control character.
func (r *Reader) escaped(at int, atEnd string) (string, error) {
	var b strings.Builder
	b.WriteString(r.src[r.pos:at])
	r.pos = at
	for r.pos < len(r.src) {
		c := r.src[r.pos]
		switch {
		case c == '"':
			r.pos++
			return b.String(), nil
		case c == '\\':
			if err := r.escape(&b); err != nil {
				return "", err
			}
			continue
		case c < ' ':
			return "", r.fail(r.pos+1,
				fmt.Sprintf("Illegal unquoted character (%s): has to be escaped using backslash to be included in "+
					"string value", controlName(c)))
		}
		b.WriteByte(c)
		r.pos++
	}
	return "", r.fail(r.pos, "Unexpected end-of-input: "+atEnd)
}

// escape decodes one escape sequence, including surrogate pairs.
func (r *Reader) escape(b *strings.Builder) error {
	r.pos++
	if r.pos >= len(r.src) {
		return r.fail(r.pos, "Unexpected end-of-input in character escape sequence")
	}
	const plain, meant = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	c := r.src[r.pos]
	if i := strings.IndexByte(plain, c); i >= 0 {
		b.WriteByte(meant[i])
		r.pos++
		return nil
	}
	if c != 'u' {
		return r.fail(r.pos+1, "Unrecognized character escape ("+r.quoteChar()+")")
	}
	r.pos++
	first, err := r.hex4()
	if err != nil {
		return err
	}
	if utf16.IsSurrogate(first) && strings.HasPrefix(r.src[r.pos:], `\u`) {
		keep := r.pos
		r.pos += 2
		second, err := r.hex4()
		if err != nil {
			return err
		}
		if both := utf16.DecodeRune(first, second); both != utf8.RuneError {
			b.WriteRune(both)
			return nil
		}
		r.pos = keep
	}
	b.WriteRune(first) // half a surrogate pair becomes the replacement character
	return nil
}

func (r *Reader) hex4() (rune, error) {
	var v rune
	for range 4 {
		if r.pos >= len(r.src) {
			return 0, r.fail(r.pos, "Unexpected end-of-input in character escape sequence")
		}
		digit := strings.IndexByte("0123456789abcdef", lower(r.src[r.pos]))
		if digit < 0 {
			return 0, r.unexpected("expected a hex-digit for character escape sequence")
		}
		v = v<<4 | rune(digit)
		r.pos++
	}
	return v, nil
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// identifierPart reports which characters the parser includes in the word that it reports.
func identifierPart(c rune) bool {
	return c == '_' || c == '$' || unicode.IsLetter(c) || unicode.IsDigit(c)
}

package wire

import (
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// key reads a member's name. The name may alias the document, and is valid until the next read.
func (d *jsonDecoder) key() ([]byte, *Error) {
	if d.at == len(d.data) || d.data[d.at] != '"' {
		return nil, d.malformed("a member's name in " + d.place())
	}
	from := d.at + 1
	if i := plainRun(d.data, from); i < len(d.data) && d.data[i] == '"' {
		d.at = i + 1
		return d.data[from:i], nil
	}
	text, err := d.text()
	return []byte(text), err
}

// text reads a string. Most strings have no escape and are copied in one piece.
func (d *jsonDecoder) text() (string, *Error) {
	d.at++
	from := d.at
	i := plainRun(d.data, from)
	if i < len(d.data) && d.data[i] == '"' {
		d.at = i + 1
		return string(d.data[from:i]), nil
	}
	return d.slowText(from, i)
}

// slowText continues text from the first byte that is not plain.
func (d *jsonDecoder) slowText(from, i int) (string, *Error) {
	// A text is never longer than the rest of the document.
	d.scratch.bytes = slices.Grow(d.scratch.bytes[:0], len(d.data)-from)
	out := append(d.scratch.bytes, d.data[from:i]...)
	for i < len(d.data) {
		n, run := unescape(out[len(out):cap(out)], d.data[i:])
		if out, i = out[:len(out)+n], i+run; i == len(d.data) {
			break
		}
		switch c := d.data[i]; {
		case c == '"':
			d.at = i + 1
			return string(out), nil
		case c == '\\':
			r, width := d.escape(i + 1)
			if width == 0 {
				return "", serialization("%s has an escape that is not one, at byte %d", d.place(), i+1)
			}
			out, i = utf8.AppendRune(out, r), i+1+width
		case c < ' ':
			return "", serialization("%s has a control character that is not escaped, at byte %d", d.place(), i)
		default:
			r, size := utf8.DecodeRune(d.data[i:])
			if r == utf8.RuneError && size == 1 {
				return "", serialization("%s is not valid UTF-8, at byte %d", d.place(), i)
			}
			out, i = append(out, d.data[i:i+size]...), i+size
		}
	}
	d.at = i
	return "", d.malformed("the end of " + d.place())
}

// escape decodes the escape whose letter is at i. It returns the character and the length of the escape without its
// backslash; 0: it is not an escape.
func (d *jsonDecoder) escape(i int) (r rune, width int) {
	if i == len(d.data) {
		return 0, 0
	}
	if c := letter(d.data[i]); c != 0 {
		return rune(c), 1
	}
	r, ok := d.hex(i)
	switch {
	case !ok:
		return 0, 0
	case !utf16.IsSurrogate(r):
		return r, 5
	case i+5 >= len(d.data) || d.data[i+5] != '\\':
		return 0, 0
	}
	low, ok := d.hex(i + 6)
	if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
		return 0, 0
	}
	return r, 11
}

// letter returns the byte for the letter after a backslash, or 0 if the letter does not stand for a single byte.
func letter(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return 0
}

// hex reads a u and four hexadecimal digits at i.
func (d *jsonDecoder) hex(i int) (rune, bool) {
	if i+5 > len(d.data) || d.data[i] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(d.data[i+1:i+5]), 16, 16)
	return rune(n), err == nil
}

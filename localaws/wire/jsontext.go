package wire

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// key reads a member's name. It may alias the document, and is good until the
// next read.
func (d *jsonDecoder) key(path *place) ([]byte, *Error) {
	if d.at == len(d.data) || d.data[d.at] != '"' {
		return nil, d.malformed("a member's name in " + path.String())
	}
	if end := bytes.IndexByte(d.data[d.at+1:], '"'); end >= 0 {
		raw := d.data[d.at+1 : d.at+1+end]
		if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
			d.at += end + 2
			return raw, nil
		}
	}
	text, err := d.text(path)
	return []byte(text), err
}

// text reads a string. Most have no escape and are copied in one piece.
func (d *jsonDecoder) text(path *place) (string, *Error) {
	d.at++
	from := d.at
	i := plainRun(d.data, from)
	if i < len(d.data) && d.data[i] == '"' {
		d.at = i + 1
		return string(d.data[from:i]), nil
	}
	return d.slowText(from, i, path)
}

// slowText goes on where text met the first byte that is not plain.
func (d *jsonDecoder) slowText(from, i int, path *place) (string, *Error) {
	out := append(d.scratch[:0], d.data[from:i]...)
	defer func() { d.scratch = out }()
	for i < len(d.data) {
		c := d.data[i]
		if safe(c) {
			run := i
			i = plainRun(d.data, i+1)
			out = append(out, d.data[run:i]...)
			continue
		}
		switch {
		case c == '"':
			d.at = i + 1
			return string(out), nil
		case c == '\\':
			var ok bool
			if out, i, ok = d.escape(out, i+1); !ok {
				return "", serialization("%s has an escape that is not one, at byte %d", path.String(), i)
			}
		case c < ' ':
			return "", serialization("%s has a control character that is not escaped, at byte %d", path.String(), i)
		default:
			r, size := utf8.DecodeRune(d.data[i:])
			if r == utf8.RuneError && size == 1 {
				return "", serialization("%s is not valid UTF-8, at byte %d", path.String(), i)
			}
			out, i = append(out, d.data[i:i+size]...), i+size
		}
	}
	d.at = i
	return "", d.malformed("the end of " + path.String())
}

// escape appends what the escape stands for whose letter is at i, and returns
// where to go on.
func (d *jsonDecoder) escape(out []byte, i int) ([]byte, int, bool) {
	if i == len(d.data) {
		return out, i, false
	}
	switch c := d.data[i]; c {
	case '"', '\\', '/':
		return append(out, c), i + 1, true
	case 'n':
		return append(out, '\n'), i + 1, true
	case 't':
		return append(out, '\t'), i + 1, true
	case 'r':
		return append(out, '\r'), i + 1, true
	case 'b':
		return append(out, '\b'), i + 1, true
	case 'f':
		return append(out, '\f'), i + 1, true
	}
	r, ok := d.hex(i)
	if !ok {
		return out, i, false
	}
	i += 5
	if utf16.IsSurrogate(r) {
		if i >= len(d.data) || d.data[i] != '\\' {
			return out, i, false
		}
		low, ok := d.hex(i + 1)
		if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
			return out, i, false
		}
		i += 6
	}
	return utf8.AppendRune(out, r), i, true
}

// hex reads a u and four hexadecimal digits at i.
func (d *jsonDecoder) hex(i int) (rune, bool) {
	if i+5 > len(d.data) || d.data[i] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(d.data[i+1:i+5]), 16, 16)
	return rune(n), err == nil
}

package console

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// showMost is the largest body that a page shows whole, and cutTo is how much of a larger one it shows.
	showMost = 16 << 10
	cutTo    = 1 << 10
	// indentMost is the largest body that is indented.
	indentMost = 1 << 20
	// hexMost is how many bytes are shown in hexadecimal: each takes four characters.
	hexMost = 4 << 10
)

// hidden is what stands for a value that a rule hides.
const hidden = "•••"

// shown is a body as a page shows it.
type shown struct {
	Text   string
	Form   string // json, text or hex
	Forms  []string
	Size   int64
	Cut    int    // how many bytes are shown, if not all
	Hidden string // why nothing is shown
	Masked bool   // values are hidden
}

// showBody shows a body in a form; "": the one that fits.
func showBody(m *Mask, body []byte, form string) *shown {
	s := &shown{Size: int64(len(body))}
	isJSON, isText := json.Valid(body), textual(body)
	if len(m.Paths) > 0 {
		masked, err := m.body(body)
		if err != nil {
			s.Hidden = err.Error()
			return s
		}
		body, s.Masked, isText = masked, true, true
	}
	switch {
	case isJSON:
		s.Forms = []string{"json", "text", "hex"}
	case isText:
		s.Forms = []string{"text", "hex"}
	default:
		s.Forms = []string{"hex", "text"}
	}
	if s.Form = form; !slices.Contains(s.Forms, form) {
		s.Form = s.Forms[0]
	}
	most := showMost
	if len(body) > showMost {
		most = cutTo
	}
	if s.Form == "hex" {
		if len(body) > hexMost {
			most = min(most, hexMost)
		}
		s.cut(len(body), most)
		s.Text = hex.Dump(body[:min(len(body), most)])
		return s
	}
	if s.Form == "json" && len(body) <= indentMost {
		var b bytes.Buffer
		if json.Indent(&b, body, "", "  ") == nil && b.Len() <= 4*showMost {
			body, most = b.Bytes(), max(most, b.Len())
		}
	}
	s.cut(len(body), most)
	s.Text = lines(body[:min(len(body), most)])
	return s
}

// cut notes that not everything is shown.
func (s *shown) cut(all, most int) {
	if all > most {
		s.Cut = most
	}
}

// textual reports whether a body is text.
func textual(body []byte) bool {
	if len(body) > indentMost {
		body = body[:indentMost]
		for n := 0; n < utf8.UTFMax && !utf8.Valid(body); n++ {
			body = body[:len(body)-1]
		}
	}
	return utf8.Valid(body) && !bytes.ContainsFunc(body, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r'
	})
}

// lines is a text from anybody with its line breaks.
func lines(body []byte) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(strings.ReplaceAll(string(body), "\r\n", "\n"), "�"))
}

// glimpse is the beginning of a body for a list.
func glimpse(m *Mask, body []byte) string {
	if len(m.Paths) > 0 {
		masked, err := m.body(body)
		if err != nil {
			return hidden
		}
		body = masked
	}
	if body = body[:min(len(body), 4*glimpseMost)]; !textual(body) {
		return "0x" + hex.EncodeToString(body[:min(len(body), 32)])
	}
	return string(body)
}

// body hides values of a body in JSON. Any other body is an error, since nobody knows what is in it.
func (m *Mask) body(body []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil || d.More() {
		return nil, fmt.Errorf("parts of bodies are hidden here, and this one is no JSON, so it is not shown")
	}
	for _, path := range m.Paths {
		v = hide(v, strings.Split(path, "."))
	}
	return json.Marshal(v)
}

// hide replaces the values at a path. A star is every element or every field.
func hide(v any, path []string) any {
	if len(path) == 0 {
		return hidden
	}
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if path[0] == "*" || strings.EqualFold(path[0], name) {
				v[name] = hide(inner, path[1:])
			}
		}
	case []any:
		rest := path
		if path[0] == "*" {
			rest = path[1:]
		}
		for i := range v {
			v[i] = hide(v[i], rest)
		}
	}
	return v
}

// header hides the value of a header.
func (m *Mask) header(name, value string) string {
	for _, h := range m.Headers {
		if strings.EqualFold(h, name) {
			return hidden
		}
	}
	return value
}

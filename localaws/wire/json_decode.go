package wire

import (
	"bytes"
	"encoding/base64"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// maxDepth bounds nesting, so that a malicious request cannot exhaust the stack. No service's input is half as deep.
const maxDepth = 32

// jsonDecoder reads one JSON document directly into a struct. The standard decoder costs several times as much per
// byte, and cannot name an unknown member.
type jsonDecoder struct {
	data    []byte
	at      int
	action  string
	scratch *buffer  // for texts with escapes
	path    []string // the path of the current member, for errors
	load    *load
}

// decodeJSON decodes a request's body into the struct. in does not alias data or scratch afterwards. An empty body is
// an empty object.
func decodeJSON(data []byte, scratch *buffer, action Action, in any, l *load) *Error {
	var room [4]string // no input is deeper, so the path needs no allocation
	d := &jsonDecoder{data: data, action: action.Name, scratch: scratch, path: room[:0], load: l}
	if d.skipSpace(); d.at == len(data) {
		return nil
	}
	if err := d.value(action.input, reflect.ValueOf(in).Elem(), 0); err != nil {
		return err
	}
	if d.skipSpace(); d.at != len(data) {
		return d.malformed("the end of the document")
	}
	return nil
}

// value decodes into v. If v is a pointer, value allocates what it points to.
func (d *jsonDecoder) value(s *shape, v reflect.Value, depth int) *Error {
	if depth > maxDepth {
		return serialization("%s: %s is nested more than %d deep", d.action, d.place(), maxDepth)
	}
	if d.skipSpace(); d.at == len(d.data) {
		return d.malformed("a value")
	}
	c := d.data[d.at]
	if c == 'n' {
		return d.word("null")
	}
	if s.pointer {
		v.Set(reflect.New(s.typ))
		v = v.Elem()
	}
	switch {
	case c == '{' && s.kind == structKind:
		return d.structure(s, v, depth)
	case c == '{' && s.kind == mapKind:
		return d.mapping(s, v, depth)
	case c == '[' && s.kind == listKind:
		return d.list(s, v, depth)
	case c == '"' && s.kind == stringKind:
		text, err := d.text()
		v.SetString(text)
		return err
	case s.kind == stringKind && c != '{' && c != '[' && c != '"':
		return d.scalarText(v)
	case c == '"' && s.kind == blobKind:
		return d.blob(v)
	case (c == '-' || c >= '0' && c <= '9') && s.kind == timeKind:
		var seconds float64
		err := d.number(&shape{typ: reflect.TypeFor[float64](), kind: floatKind}, reflect.ValueOf(&seconds).Elem())
		if err == nil {
			v.Set(reflect.ValueOf(timeOf(seconds)))
		}
		return err
	case c == '"' && s.kind == floatKind:
		return d.wordFloat(s, v)
	case (c == '-' || c >= '0' && c <= '9') && (s.kind == intKind || s.kind == floatKind):
		return d.number(s, v)
	case (c == 't' || c == 'f') && s.kind == boolKind:
		v.SetBool(c == 't')
		return d.word(strconv.FormatBool(c == 't'))
	}
	return d.mismatch(c, s)
}

func (d *jsonDecoder) structure(s *shape, v reflect.Value, depth int) *Error {
	return d.members(func(key []byte) *Error {
		f := s.jsonField(key)
		if f == nil {
			d.path = append(d.path, string(key))
			return unknownParameter(d.action, d.place(), s, false)
		}
		return d.member(f.jsonName, f.shape, f.in(v), depth)
	})
}

func (d *jsonDecoder) mapping(s *shape, v reflect.Value, depth int) *Error {
	v.Set(reflect.MakeMap(s.typ))
	slot := reflect.New(s.typ.Elem()).Elem()
	return d.members(func(key []byte) *Error {
		slot.SetZero()
		if err := d.load.decode(d.action, entryCost+slot.Type().Size(), d.place); err != nil {
			return err
		}
		name := string(key)
		if d.skipSpace(); bytes.HasPrefix(d.data[d.at:], []byte("null")) {
			return d.word("null") // null counts as absent
		}
		if err := d.member(name, s.elem, slot, depth); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(name), slot)
		return nil
	})
}

// member decodes the value of a member.
func (d *jsonDecoder) member(name string, s *shape, v reflect.Value, depth int) *Error {
	d.path = append(d.path, name)
	err := d.value(s, v, depth+1)
	if err == nil {
		d.path = d.path[:len(d.path)-1]
	}
	return err
}

// members visits an object and calls one for each key, with the reader before the key's value.
func (d *jsonDecoder) members(one func(key []byte) *Error) *Error {
	d.at++
	for first := true; ; first = false {
		if d.skipSpace(); d.at == len(d.data) {
			return d.malformed("a member or the end of " + d.place())
		}
		if d.data[d.at] == '}' {
			d.at++
			return nil
		}
		if !first {
			if err := d.char(','); err != nil {
				return err
			}
			d.skipSpace()
		}
		key, err := d.key()
		if err != nil {
			return err
		}
		if d.skipSpace(); d.at == len(d.data) {
			return d.malformed("a colon")
		}
		if err := d.char(':'); err != nil {
			return err
		}
		if err := one(key); err != nil {
			return err
		}
	}
}

func (d *jsonDecoder) list(s *shape, v reflect.Value, depth int) *Error {
	d.at++
	room := 1
	if s.elem.kind == structKind {
		room = 10 // a batch is never longer, and growing would copy its entries
	}
	v.Set(reflect.MakeSlice(s.typ, 0, room))
	for n := 0; ; n++ {
		if d.skipSpace(); d.at == len(d.data) {
			return d.malformed("an element or the end of " + d.place())
		}
		if d.data[d.at] == ']' {
			d.at++
			return nil
		}
		if n > 0 {
			if err := d.char(','); err != nil {
				return err
			}
		}
		if err := d.load.decode(d.action, s.elem.typ.Size(), d.place); err != nil {
			return err
		}
		if n == v.Cap() {
			v.Grow(max(4, n))
		}
		v.SetLen(n + 1)
		if err := d.value(s.elem, v.Index(n), depth+1); err != nil {
			return err
		}
	}
}

// scalarText reads a number or a boolean where a string is expected: as on AWS, it becomes its own text.
func (d *jsonDecoder) scalarText(v reflect.Value) *Error {
	from := d.at
	for d.at < len(d.data) && bytes.IndexByte([]byte("+-.0123456789abcdefghijklmnopqrstuvwxyzE"), d.data[d.at]) >= 0 {
		d.at++
	}
	text := string(d.data[from:d.at])
	if _, err := strconv.ParseFloat(text, 64); err != nil && text != "true" && text != "false" {
		d.at = from
		return d.malformed("a value of " + d.place())
	}
	v.SetString(text)
	return nil
}

// wordFloat reads a number that JSON cannot write: "NaN", "Infinity" or "-Infinity".
func (d *jsonDecoder) wordFloat(s *shape, v reflect.Value) *Error {
	from := d.at
	text, err := d.text()
	if err != nil {
		return err
	}
	x, known := map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}[text]
	if !known {
		d.at = from
		return d.mismatch('"', s)
	}
	v.SetFloat(x)
	return nil
}

func (d *jsonDecoder) number(s *shape, v reflect.Value) *Error {
	from := d.at
	for d.at < len(d.data) && bytes.IndexByte([]byte("+-.eE0123456789"), d.data[d.at]) >= 0 {
		d.at++
	}
	text := string(d.data[from:d.at])
	if s.kind == intKind {
		if n, err := strconv.ParseInt(text, 10, s.typ.Bits()); err == nil {
			v.SetInt(n)
			return nil
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return serialization("%s is not a number: %s", d.place(), text)
	}
	if s.kind == floatKind {
		v.SetFloat(x)
		return nil
	}
	if x != math.Trunc(x) || math.Abs(x) >= 1<<53 || v.OverflowInt(int64(x)) {
		return serialization("%s is not a whole number of %d bits: %s", d.place(), s.typ.Bits(), text)
	}
	v.SetInt(int64(x))
	return nil
}

func (d *jsonDecoder) blob(v reflect.Value) *Error {
	text, err := d.text()
	if err != nil {
		return err
	}
	b, bad := base64.StdEncoding.DecodeString(text)
	if bad != nil {
		return serialization("%s is not base64: %v", d.place(), bad)
	}
	v.SetBytes(b)
	return nil
}

func (d *jsonDecoder) skipSpace() {
	for d.at < len(d.data) {
		switch d.data[d.at] {
		case ' ', '\t', '\n', '\r':
			d.at++
		default:
			return
		}
	}
}

func (d *jsonDecoder) char(c byte) *Error {
	if d.at == len(d.data) || d.data[d.at] != c {
		return d.malformed(strconv.Quote(string(c)))
	}
	d.at++
	return nil
}

func (d *jsonDecoder) word(w string) *Error {
	if !bytes.HasPrefix(d.data[d.at:], []byte(w)) {
		return d.malformed(w)
	}
	d.at += len(w)
	return nil
}

func (d *jsonDecoder) malformed(wanted string) *Error {
	return serialization("%s: the body is not JSON: expected %s at byte %d", d.action, wanted, d.at)
}

// mismatch returns AWS's error for a value of the wrong type, and adds the member where AWS's text has room for it.
func (d *jsonDecoder) mismatch(c byte, s *shape) *Error {
	found := map[byte]string{
		'"': "STRING_VALUE", '{': "START_OBJECT", '[': "START_ARRAY", 't': "TRUE_VALUE",
		'f': "FALSE_VALUE",
	}[c]
	if found == "" && (c == '-' || c >= '0' && c <= '9') {
		found = "NUMBER_VALUE"
	}
	if found == "" {
		return d.malformed("a value of " + d.place())
	}
	switch {
	case c == '{' && s.kind != listKind:
		return serialization("Start of structure or map found where not expected.")
	case c == '[' && s.kind == stringKind:
		return serialization("Unrecognized collection type class java.lang.String")
	case c == '[':
		return serialization("Start of list found where not expected")
	}
	wanted := map[kind]string{
		stringKind: "a String", intKind: "an Integer", floatKind: "a Double", boolKind: "a Boolean",
		blobKind: "a Blob", listKind: "a List", mapKind: "a Map", structKind: "a Structure",
		timeKind: "a Timestamp",
	}[s.kind]
	return serialization("%s can not be converted to %s (%s)", found, wanted, d.place())
}

// place returns the reader's position in the input.
func (d *jsonDecoder) place() string {
	if len(d.path) == 0 {
		return "the input"
	}
	return strings.Join(d.path, ".")
}

func joined(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

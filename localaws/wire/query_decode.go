package wire

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// queryDecoder decodes a form's tree into a struct.
type queryDecoder struct {
	action string
	load   *load
}

// decodeQuery decodes a form into the struct.
func decodeQuery(values url.Values, action Action, in any, l *load) *Error {
	root, err := parseForm(values)
	if err != nil {
		return err
	}
	d := queryDecoder{action.Name, l}
	return d.structure(action.input, plain, root, reflect.ValueOf(in).Elem(), "")
}

// value decodes node n into v; layout is the layout of the member's list or map.
func (d queryDecoder) value(s *shape, layout form, n *node, v reflect.Value, path string) *Error {
	if s.pointer {
		v.Set(reflect.New(s.typ))
		v = v.Elem()
	}
	switch s.kind {
	case structKind:
		return d.structure(s, layout, n, v, path)
	case listKind:
		return d.list(s, layout, n, v, path)
	case mapKind:
		return d.mapping(s, layout, n, v, path)
	default:
		return d.scalar(s, n, v, path)
	}
}

func (d queryDecoder) structure(s *shape, _ form, n *node, v reflect.Value, path string) *Error {
	if n.valued {
		return malformedQuery("%s has members; it cannot have a value itself.", path)
	}
	for _, c := range n.children {
		i, known := s.query[c.name]
		if !known && s.emptied(c) {
			continue
		}
		if !known {
			return unknownParameter(d.action, joined(path, c.leaf()), s, true)
		}
		f := &s.fields[i]
		if c.name == f.form.other && !f.in(v).IsZero() {
			return malformedQuery("%s and %s are the same parameter.", joined(path, f.queryName), joined(path, c.name))
		}
		if err := d.value(f.shape, f.form, c, f.in(v), joined(path, c.name)); err != nil {
			return err
		}
	}
	return nil
}

// emptied reports whether n is an empty list or map under its member's own name: botocore writes AttributeNames= for a
// list whose items are AttributeName.1.
func (s *shape) emptied(n *node) bool {
	if n.value != "" || len(n.children) > 0 {
		return false
	}
	f := s.jsonField([]byte(n.name))
	return f != nil && (f.shape.kind == listKind || f.shape.kind == mapKind)
}

// list reads Name.1, Name.2 (flat) or Name.member.1. Old clients omit the number in a flat list with one element.
func (d queryDecoder) list(s *shape, layout form, n *node, v reflect.Value, path string) *Error {
	if n.value == "" && len(n.children) == 0 && s.elem.kind == structKind {
		return nil // an empty list is sent as Name=
	}
	items, err := d.items(layout.flat, layout.item, n, path)
	if err != nil {
		return err
	}
	if err := d.reserve(len(items), s.elem.typ.Size(), path); err != nil {
		return err
	}
	v.Set(reflect.MakeSlice(s.typ, len(items), len(items)))
	for i, item := range items {
		if err := d.value(s.elem, plain, item, v.Index(i), joined(path, item.name)); err != nil {
			return err
		}
	}
	return nil
}

// mapping reads Name.1.Key and Name.1.Value (flat) or Name.entry.1.key.
func (d queryDecoder) mapping(s *shape, layout form, n *node, v reflect.Value, path string) *Error {
	items, err := d.items(layout.flat, "entry", n, path)
	if err != nil {
		return err
	}
	if err := d.reserve(len(items), entryCost+s.typ.Elem().Size(), path); err != nil {
		return err
	}
	v.Set(reflect.MakeMapWithSize(s.typ, len(items)))
	for _, item := range items {
		if err := d.entry(s, layout, item, v, path); err != nil {
			return err
		}
	}
	return nil
}

func (d queryDecoder) reserve(n int, each uintptr, path string) *Error {
	return d.load.decode(d.action, uintptr(n)*each, func() string { return path }) //nolint:gosec // a length
}

func (d queryDecoder) entry(s *shape, layout form, item *node, v reflect.Value, path string) *Error {
	at := joined(path, item.name)
	for _, c := range item.children {
		if c.name != layout.key && c.name != layout.value {
			return malformedQuery("Unknown parameter %s: an entry has %s and %s.", joined(at, c.leaf()), layout.key,
				layout.value)
		}
	}
	key := item.child(layout.key)
	if key == nil || !key.valued {
		return malformedQuery("%s has no %s.", at, layout.key)
	}
	slot := reflect.New(s.typ.Elem()).Elem()
	if value := item.child(layout.value); value != nil {
		if err := d.value(s.elem, plain, value, slot, joined(at, layout.value)); err != nil {
			return err
		}
	} else if s.elem.kind != stringKind {
		return malformedQuery("%s has no %s.", at, layout.value)
	}
	v.SetMapIndex(reflect.ValueOf(key.value), slot)
	return nil
}

// items returns the numbered nodes of a list or a map.
func (d queryDecoder) items(flat bool, between string, n *node, path string) ([]*node, *Error) {
	if n.valued && len(n.children) == 0 {
		if !flat && n.value == "" {
			return nil, nil // an empty list is sent as Name=
		}
		return []*node{n}, nil
	}
	if n.valued {
		return nil, malformedQuery("%s has members; it cannot have a value itself.", path)
	}
	if !flat {
		if len(n.children) != 1 || n.children[0].name != between {
			return nil, malformedQuery("Unknown parameter %s: expected %s.%s.1.", joined(path, n.children[0].leaf()),
				path, between)
		}
		n = n.children[0]
	}
	sorted, odd := n.numbered()
	if odd != nil && flat {
		return []*node{n}, nil
	}
	if odd != nil {
		return nil, malformedQuery("Unknown parameter %s: expected a number behind %s.", joined(path, odd.leaf()), path)
	}
	return sorted, nil
}

func (d queryDecoder) scalar(s *shape, n *node, v reflect.Value, path string) *Error {
	if len(n.children) > 0 {
		return malformedQuery("Unknown parameter %s: %s is a single value.", joined(path, n.children[0].leaf()), path)
	}
	var err error
	switch s.kind {
	case stringKind:
		if !validText(n.value) {
			return malformedQuery("%s is not valid UTF-8.", path)
		}
		v.SetString(n.value)
	case intKind:
		var x int64
		x, err = strconv.ParseInt(n.value, 10, s.typ.Bits())
		v.SetInt(x)
	case floatKind:
		var x float64
		x, err = strconv.ParseFloat(n.value, 64)
		v.SetFloat(x)
	case timeKind:
		var at time.Time
		at, err = parseTime(n.value)
		v.Set(reflect.ValueOf(at))
	case boolKind:
		v.SetBool(strings.EqualFold(n.value, "true"))
		if !strings.EqualFold(n.value, "true") && !strings.EqualFold(n.value, "false") {
			err = strconv.ErrSyntax
		}
	case blobKind:
		var b []byte
		b, err = base64.StdEncoding.DecodeString(n.value)
		v.SetBytes(b)
	}
	if err != nil {
		return malformedInput(s, n.value, path)
	}
	return nil
}

// leaf returns the dotted name of the first value under n, as the client wrote it.
func (n *node) leaf() string {
	if len(n.children) == 0 {
		return n.name
	}
	return n.name + "." + n.children[0].leaf()
}

// unknownParameter returns an error that lists the parameters of an action.
func unknownParameter(action, path string, s *shape, query bool) *Error {
	names := make([]string, 0, len(s.fields))
	for i := range s.fields {
		if query {
			names = append(names, s.fields[i].queryName)
		} else {
			names = append(names, s.fields[i].jsonName)
		}
	}
	slices.Sort(names)
	return &Error{
		Code:  coral + "UnknownParameterException",
		Query: "UnknownParameter",
		Message: fmt.Sprintf("Unknown parameter %s of %s: known here are %s.",
			path, action, strings.Join(names, ", ")),
	}
}

func malformedQuery(format string, args ...any) *Error {
	return &Error{
		Code:    coral + "MalformedQueryStringException",
		Query:   "MalformedQueryString",
		Message: fmt.Sprintf(format, args...),
	}
}

// malformedInput returns AWS's error for a scalar that cannot be parsed.
func malformedInput(s *shape, text, path string) *Error {
	wanted := map[kind]string{
		intKind: "an integer", floatKind: "a number", boolKind: "true or false",
		blobKind: "base64", timeKind: "a timestamp such as 2006-01-02T15:04:05Z",
	}[s.kind]
	return &Error{
		Code:    coral + "MalformedInput",
		Query:   "MalformedInput",
		Message: fmt.Sprintf("%s: %q is not %s.", path, text, wanted),
	}
}

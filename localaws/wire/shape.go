package wire

import (
	"fmt"
	"reflect"
	"strings"
)

// kind is what a shape is to a protocol.
type kind uint8

const (
	stringKind kind = iota
	intKind
	floatKind
	boolKind
	blobKind
	listKind
	mapKind
	structKind
)

// shape is a Go type as the protocols see it, worked out once an action.
type shape struct {
	typ     reflect.Type // without the pointer
	kind    kind
	pointer bool
	elem    *shape // of lists and maps
	fields  []field
	query   map[string]int // field by its name in query
}

// field is one member of a struct.
type field struct {
	index     int
	shape     *shape
	jsonName  string
	jsonKey   []byte // `"Name":`, ready to write
	queryName string
	form      form
}

// form is how the query protocol lays out a list or a map.
type form struct {
	flat             bool
	item, key, value string
	other            string // a second name that some client writes, "" for none
}

// plain is the form of a member that says nothing of its own.
var plain = form{item: "member", key: "key", value: "value"}

// shapes remembers the shapes of one action while they are worked out.
type shapes map[reflect.Type]*shape

func (b shapes) of(t reflect.Type) *shape {
	if s, ok := b[t]; ok {
		return s
	}
	s := &shape{typ: t}
	b[t] = s
	if t.Kind() == reflect.Pointer {
		*s = *b.of(t.Elem())
		s.pointer = true
		return s
	}
	switch t.Kind() {
	case reflect.String:
		s.kind = stringKind
	case reflect.Int, reflect.Int32, reflect.Int64:
		s.kind = intKind
	case reflect.Float64:
		s.kind = floatKind
	case reflect.Bool:
		s.kind = boolKind
	case reflect.Slice:
		b.slice(s)
	case reflect.Map:
		s.kind, s.elem = mapKind, b.of(t.Elem())
	case reflect.Struct:
		b.structure(s)
	default:
		panic(fmt.Sprintf("wire: %v has no form on the wire", t))
	}
	return s
}

func (b shapes) slice(s *shape) {
	if s.typ.Elem().Kind() == reflect.Uint8 {
		s.kind = blobKind
		return
	}
	s.kind, s.elem = listKind, b.of(s.typ.Elem())
}

func (b shapes) structure(s *shape) {
	s.kind = structKind
	s.query = map[string]int{}
	for i := range s.typ.NumField() {
		f := s.typ.Field(i)
		name := f.Tag.Get("json")
		if name == "-" {
			continue
		}
		if name == "" || !f.IsExported() {
			panic(fmt.Sprintf("wire: field %s of %v needs a json name", f.Name, s.typ))
		}
		q, layout := queryTag(name, f.Tag.Get("query"))
		s.query[q] = len(s.fields)
		if layout.other != "" {
			s.query[layout.other] = len(s.fields)
		}
		s.fields = append(s.fields, field{
			index: i, shape: b.of(f.Type), jsonName: name, jsonKey: []byte(`"` + name + `":`),
			queryName: q, form: layout,
		})
	}
}

// jsonField finds a field by its name in awsJson, nil if there is none. Inputs
// are small: to look through them costs less than a hash.
func (s *shape) jsonField(name []byte) *field {
	for i := range s.fields {
		if f := &s.fields[i]; f.jsonName == string(name) {
			return f
		}
	}
	return nil
}

// queryTag reads a query tag; see the package's page for its form.
func queryTag(name, tag string) (string, form) {
	f := plain
	if tag == "" {
		return name, f
	}
	parts := strings.Split(tag, ",")
	for _, p := range parts[1:] {
		option, value, _ := strings.Cut(p, "=")
		switch option {
		case "flat":
			f.flat = true
		case "item":
			f.item = value
		case "key":
			f.key = value
		case "value":
			f.value = value
		case "or":
			f.other = value
		default:
			panic(fmt.Sprintf("wire: query tag %q has no option %q", tag, option))
		}
	}
	return parts[0], f
}

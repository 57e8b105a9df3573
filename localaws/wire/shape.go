package wire

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// kind is the type of a shape in the protocols.
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
	timeKind // a timestamp
)

// shape describes a Go type for the protocols. It is computed once per action.
type shape struct {
	typ     reflect.Type // without the pointer
	kind    kind
	pointer bool
	elem    *shape // of lists and maps
	fields  []field
	query   map[string]int // index of the field by its name in query
}

// field is one member of a struct, or of a struct that it embeds.
type field struct {
	path      []int // of indexes, as reflect.VisibleFields has it
	shape     *shape
	jsonName  string
	jsonKey   []byte // `"Name":`, encoded in advance
	queryName string
	form      form
}

// form is the layout of a list or a map in the query protocol.
type form struct {
	flat             bool
	item, key, value string
	other            string // another name that some clients write; "": none
	json             string // the name in a query answer in JSON; "": the name in awsJson
}

// plain is the layout of a member without a tag.
var plain = form{item: "member", key: "key", value: "value"}

// shapes holds the shapes of one action while they are computed.
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
	if s.typ == reflect.TypeFor[time.Time]() {
		s.kind = timeKind
		return
	}
	s.kind = structKind
	s.query = map[string]int{}
	for _, f := range reflect.VisibleFields(s.typ) {
		name := f.Tag.Get("json")
		if name == "-" || f.Anonymous { // the members of an embedded struct follow it
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
			path: f.Index, shape: b.of(f.Type), jsonName: name, jsonKey: []byte(`"` + name + `":`),
			queryName: q, form: layout,
		})
	}
}

// in returns the field's value in a struct.
func (f *field) in(v reflect.Value) reflect.Value {
	if len(f.path) == 1 {
		return v.Field(f.path[0])
	}
	return v.FieldByIndex(f.path)
}

// jsonField returns the field with a name in awsJson, or nil. Inputs are small, so a linear search costs less than a
// hash.
func (s *shape) jsonField(name []byte) *field {
	for i := range s.fields {
		if f := &s.fields[i]; f.jsonName == string(name) {
			return f
		}
	}
	return nil
}

// queryTag parses a query tag, whose form the package's documentation describes.
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
		case "json":
			f.json = value
		default:
			panic(fmt.Sprintf("wire: query tag %q has no option %q", tag, option))
		}
	}
	return parts[0], f
}

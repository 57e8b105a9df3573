package rest

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// shape describes a struct.
type shape struct {
	fields  []field
	elems   map[string]int // fields in XML, by name
	headers map[string]int // fields in headers, by canonical name
}

// place is where a field is.
type place int

const (
	inXML place = iota
	inBucket
	inKey
	inQuery
	inHeader
	inMetadata
	inPayload
	inText
	inBody
	inStatus
	inChars
)

// field is one field of a struct.
type field struct {
	name  string // of the member
	wire  string // of the header, parameter, element or document
	item  string // of the elements of a list with an element of its own; "": the list has none
	head  string // the canonical name of the header
	place place
	index []int
	typ   reflect.Type
	inner *shape // of a struct, or of the structs of a list or pointer; nil: none
}

func newShape(t reflect.Type) *shape {
	s := &shape{elems: map[string]int{}, headers: map[string]int{}}
	for _, visible := range reflect.VisibleFields(t) {
		if visible.Anonymous {
			continue // its fields are visible, too
		}
		i, f := len(s.fields), newField(visible)
		switch f.place {
		case inXML:
			s.elems[f.wire] = i
		case inHeader:
			s.headers[f.wire] = i
		default:
		}
		s.fields = append(s.fields, f)
	}
	return s
}

func newField(t reflect.StructField) field {
	f := field{name: t.Name, index: t.Index, typ: t.Type}
	tag, name, _ := strings.Cut(t.Tag.Get("rest"), ",")
	f.wire, f.head = name, canonical(name)
	var ok bool
	f.place, ok = map[string]place{
		"": inXML, "bucket": inBucket, "key": inKey, "query": inQuery, "header": inHeader, "metadata": inMetadata,
		"payload": inPayload, "text": inText, "body": inBody, "status": inStatus,
	}[tag]
	if !ok {
		panic(fmt.Sprintf("rest: the field %s has the unknown tag %q", t.Name, tag))
	}
	if t.Tag.Get("xml") == ",chardata" {
		f.place = inChars
	}
	if f.place == inXML {
		f.wire, f.item, _ = strings.Cut(t.Tag.Get("xml"), ">")
		f.wire = cmp.Or(f.wire, t.Name)
		if name, kind, typed := strings.Cut(f.wire, "@"); typed {
			f.wire = name + ` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="` + kind + `"`
		}
	}
	elem := t.Type
	for elem.Kind() == reflect.Pointer || elem.Kind() == reflect.Slice {
		elem = elem.Elem()
	}
	if elem.Kind() == reflect.Struct && elem != reflect.TypeFor[time.Time]() && f.place != inBody {
		f.inner = newShape(elem)
	}
	return f
}

// header returns the canonical form of a header's name, as in http.Header.
func canonical(name string) string {
	b := []byte(strings.ToLower(name))
	up := true
	for i, c := range b {
		if up && c >= 'a' && c <= 'z' {
			b[i] = c - 'a' + 'A'
		}
		up = c == '-'
	}
	return string(b)
}

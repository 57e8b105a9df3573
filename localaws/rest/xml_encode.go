package rest

import (
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const xmlHead = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"

// Timestamp is the form of times in XML.
const Timestamp = "2006-01-02T15:04:05.000Z"

// appendDocument appends an XML document. One without content is a single tag, as S3 writes it.
func appendDocument(b []byte, root, namespace string, s *shape, v reflect.Value) []byte {
	b = append(append(append(b, xmlHead...), '<'), root...)
	if namespace != "" {
		b = append(append(append(b, ` xmlns="`...), namespace...), '"')
	}
	b = append(b, '>')
	empty := len(b)
	if b = s.appendFields(b, v); len(b) == empty {
		return append(b[:empty-1], '/', '>')
	}
	return appendEnd(b, root)
}

// appendFields appends the elements of a struct. Nil pointers and slices are left out, and so are lists without
// elements unless they have an element of their own.
func (s *shape) appendFields(b []byte, v reflect.Value) []byte {
	for i := range s.fields {
		f := &s.fields[i]
		if f.place == inChars {
			b = appendScalar(b, v.FieldByIndex(f.index))
		}
		if f.place != inXML {
			continue
		}
		x := v.FieldByIndex(f.index)
		if f.typ.Kind() != reflect.Slice {
			b = f.appendOne(b, f.wire, x)
			continue
		}
		if x.IsNil() {
			continue
		}
		name := f.wire
		if f.item != "" {
			b, name = appendStart(b, f.wire), f.item
		}
		for j := range x.Len() {
			b = f.appendOne(b, name, x.Index(j))
		}
		if f.item != "" {
			b = appendEnd(b, f.wire)
		}
	}
	return b
}

func (f *field) appendOne(b []byte, name string, v reflect.Value) []byte {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return b
		}
		v = v.Elem()
	}
	b = appendStart(b, name)
	if f.inner != nil {
		b = f.inner.appendFields(b, v)
	} else {
		b = appendScalar(b, v)
	}
	return appendEnd(b, name)
}

func appendScalar(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.String:
		return appendText(b, v.String())
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool())
	case reflect.Int, reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10)
	default:
		if at, ok := reflect.TypeAssert[time.Time](v); ok {
			return at.UTC().AppendFormat(b, Timestamp)
		}
		panic("rest: a field of type " + v.Type().String() + " has no form in XML")
	}
}

func appendStart(b []byte, name string) []byte {
	return append(append(append(b, '<'), name...), '>')
}

// appendEnd appends the end of an element, whose name may have attributes behind it.
func appendEnd(b []byte, name string) []byte {
	name, _, _ = strings.Cut(name, " ")
	return append(append(append(b, '<', '/'), name...), '>')
}

// appendText appends text with its special characters escaped. A byte that XML cannot express becomes U+FFFD.
func appendText(b []byte, text string) []byte {
	for _, c := range text {
		switch {
		case c == '&':
			b = append(b, "&amp;"...)
		case c == '<':
			b = append(b, "&lt;"...)
		case c == '>':
			b = append(b, "&gt;"...)
		case c == '"':
			b = append(b, "&quot;"...)
		case c == '\r' || c == '\n' || c == '\t':
			b = append(strconv.AppendInt(append(b, "&#"...), int64(c), 10), ';')
		case c < ' ' || c == 0xfffe || c == 0xffff:
			b = append(b, "\uFFFD"...)
		default:
			b = utf8.AppendRune(b, c)
		}
	}
	return b
}

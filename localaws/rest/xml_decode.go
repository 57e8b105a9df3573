package rest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"strings"
	"time"
)

const (
	// maxItems bounds a list: the parts of an upload.
	maxItems = 10_000
	// maxElements bounds a document: each of these parts with a number, an ETag and checksums.
	maxElements = 10 * maxItems
)

// xmlReader reads a document, at most maxElements elements.
type xmlReader struct {
	*xml.Decoder
	elements int
}

// decodeXML decodes a document with a root. An element that the struct does not have, or has only once, is malformed.
func decodeXML(text []byte, root string, s *shape, to reflect.Value) *Error {
	d := &xmlReader{Decoder: xml.NewDecoder(bytes.NewReader(text))}
	for {
		t, err := d.Token()
		if err != nil {
			return MalformedXML()
		}
		if start, ok := t.(xml.StartElement); ok {
			if start.Name.Local != root {
				return MalformedXML()
			}
			break
		}
	}
	if bad := decodeStruct(d, s, to); bad != nil {
		return bad
	}
	for {
		switch t, err := d.Token(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return MalformedXML()
		default:
			if text, ok := t.(xml.CharData); ok && len(bytes.TrimSpace(text)) == 0 {
				continue
			}
			if _, ok := t.(xml.Comment); !ok {
				return MalformedXML()
			}
		}
	}
}

// decodeStruct decodes the inside of an element, up to its end.
func decodeStruct(d *xmlReader, s *shape, to reflect.Value) *Error {
	seen := map[string]bool{}
	return eachElement(d, func(start xml.StartElement) *Error {
		i, ok := s.elems[start.Name.Local]
		if !ok {
			return MalformedXML()
		}
		f := &s.fields[i]
		v := to.FieldByIndex(f.index)
		list := f.typ.Kind() == reflect.Slice
		if seen[f.wire] && (!list || f.item != "") {
			return MalformedXML()
		}
		seen[f.wire] = true
		if !list || f.item == "" {
			return decodeField(d, f, v, list)
		}
		v.Set(reflect.MakeSlice(f.typ, 0, 1)) // an empty list differs from none
		return eachElement(d, func(start xml.StartElement) *Error {
			if start.Name.Local != f.item {
				return MalformedXML()
			}
			return decodeField(d, f, v, true)
		})
	})
}

// eachElement calls f for the start of every element up to the end of the surrounding one.
func eachElement(d *xmlReader, f func(xml.StartElement) *Error) *Error {
	for {
		t, err := d.Token()
		if err != nil {
			return MalformedXML()
		}
		switch t := t.(type) {
		case xml.EndElement:
			return nil
		case xml.StartElement:
			if d.elements++; d.elements > maxElements {
				return MalformedXML()
			}
			if bad := f(t); bad != nil {
				return bad
			}
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return MalformedXML()
			}
		case xml.Comment:
		default:
			return MalformedXML()
		}
	}
}

// decodeField decodes one element into a field, or appends it to the field.
func decodeField(d *xmlReader, f *field, v reflect.Value, list bool) *Error {
	t := f.typ
	if list {
		t = t.Elem()
	}
	one := reflect.New(t).Elem()
	target := one
	if t.Kind() == reflect.Pointer {
		one.Set(reflect.New(t.Elem()))
		target = one.Elem()
	}
	if f.inner != nil {
		if bad := decodeStruct(d, f.inner, target); bad != nil {
			return bad
		}
	} else if bad := decodeScalar(d, target); bad != nil {
		return bad
	}
	if list && v.Len() == maxItems {
		return MalformedXML()
	}
	if list {
		v.Set(reflect.Append(v, one))
	} else {
		v.Set(one)
	}
	return nil
}

func decodeScalar(d *xmlReader, to reflect.Value) *Error {
	var text strings.Builder
	for {
		t, err := d.Token()
		if err != nil {
			return MalformedXML()
		}
		switch t := t.(type) {
		case xml.CharData:
			text.Write(t)
		case xml.Comment:
		case xml.EndElement:
			return setScalar(to, text.String())
		default:
			return MalformedXML()
		}
	}
}

func setScalar(to reflect.Value, text string) *Error {
	if to.Type() == reflect.TypeFor[time.Time]() {
		at, err := time.Parse(time.RFC3339, strings.TrimSpace(text))
		if err != nil {
			at, err = time.Parse(time.DateOnly, strings.TrimSpace(text))
		}
		if err != nil {
			return MalformedXML()
		}
		to.Set(reflect.ValueOf(at))
		return nil
	}
	if !setText(to, text) {
		return MalformedXML()
	}
	return nil
}

package wire

import (
	"encoding/base64"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

func validText(s string) bool { return utf8.ValidString(s) }

// appendXMLAnswer appends the answer of an action in the query protocol.
func appendXMLAnswer(b []byte, service *Service, action Action, out any, requestID string) []byte {
	b = append(b, xmlHead...)
	b = append(b, '<')
	b = append(b, action.Name...)
	b = append(b, `Response xmlns="`...)
	b = append(b, service.XMLNS...)
	b = append(b, `">`...)
	if len(action.output.fields) > 0 || action.result {
		result := action.Name + "Result"
		open := len(b)
		b = appendOpen(b, result)
		empty := len(b)
		if b = xmlMembers(b, action.output, reflect.ValueOf(out).Elem()); len(b) == empty {
			b = appendEmpty(b[:open], result) // AWS writes it so, and some clients look for it
		} else {
			b = appendClose(b, result)
		}
	}
	b = append(b, `<ResponseMetadata>`...)
	b = appendXMLElement(b, "RequestId", requestID)
	b = append(b, `</ResponseMetadata>`...)
	return appendClose(b, action.Name+"Response")
}

const xmlHead = `<?xml version="1.0"?>`

func xmlMembers(b []byte, s *shape, v reflect.Value) []byte {
	for i := range s.fields {
		f := &s.fields[i]
		if member := f.in(v); !left(f.shape, member) {
			b = appendXML(b, f.queryName, f.shape, f.form, member)
		}
	}
	return b
}

// appendXML appends v as an element, or as several if it is flat.
func appendXML(b []byte, name string, s *shape, layout form, v reflect.Value) []byte {
	if s.pointer {
		v = v.Elem()
	}
	switch s.kind {
	case listKind:
		return appendXMLList(b, name, s, layout, v)
	case mapKind:
		return appendXMLMap(b, name, s, layout, v)
	case structKind:
		b = appendOpen(b, name)
		b = xmlMembers(b, s, v)
		return appendClose(b, name)
	default:
		return appendXMLElement(b, name, scalarText(s, v))
	}
}

func appendXMLList(b []byte, name string, s *shape, layout form, v reflect.Value) []byte {
	item := name
	if !layout.flat {
		b, item = appendOpen(b, name), layout.item
	}
	for i := range v.Len() {
		b = appendXML(b, item, s.elem, plain, v.Index(i))
	}
	if !layout.flat {
		b = appendClose(b, name)
	}
	return b
}

func appendXMLMap(b []byte, name string, s *shape, layout form, v reflect.Value) []byte {
	item := name
	if !layout.flat {
		b, item = appendOpen(b, name), "entry"
	}
	for _, k := range sortedKeys(v) {
		b = appendOpen(b, item)
		b = appendXMLElement(b, layout.key, k)
		b = appendXML(b, layout.value, s.elem, plain, v.MapIndex(reflect.ValueOf(k)))
		b = appendClose(b, item)
	}
	if !layout.flat {
		b = appendClose(b, name)
	}
	return b
}

func scalarText(s *shape, v reflect.Value) string {
	switch s.kind {
	case intKind:
		return strconv.FormatInt(v.Int(), 10)
	case floatKind:
		return floatText(v.Float())
	case timeKind:
		return v.Interface().(time.Time).UTC().Format("2006-01-02T15:04:05.999Z")
	case boolKind:
		return strconv.FormatBool(v.Bool())
	case blobKind:
		return base64.StdEncoding.EncodeToString(v.Bytes())
	default:
		return v.String()
	}
}

// floatText writes a number as AWS does, with a fraction, because clients without types show it as it is.
func floatText(x float64) string {
	switch {
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	}
	text := strconv.FormatFloat(x, 'g', -1, 64)
	if !strings.ContainsAny(text, ".eN") {
		text += ".0"
	}
	return text
}

func appendXMLElement(b []byte, name, text string) []byte {
	b = appendOpen(b, name)
	b = appendXMLText(b, text)
	return appendClose(b, name)
}

func appendOpen(b []byte, name string) []byte {
	return append(append(append(b, '<'), name...), '>')
}

func appendClose(b []byte, name string) []byte {
	return append(append(append(b, '<', '/'), name...), '>')
}

func appendEmpty(b []byte, name string) []byte {
	return append(append(append(b, '<'), name...), '/', '>')
}

// appendXMLText escapes text so that a parser returns it byte for byte; an unescaped carriage return would become a
// line feed.
func appendXMLText(b []byte, text string) []byte {
	from := 0
	for i := 0; i < len(text); i++ {
		entity := ""
		switch text[i] {
		case '&':
			entity = "&amp;"
		case '<':
			entity = "&lt;"
		case '>':
			entity = "&gt;"
		case '"':
			entity = "&quot;"
		case '\r':
			entity = "&#xD;"
		default:
			continue
		}
		b = append(append(b, text[from:i]...), entity...)
		from = i + 1
	}
	return append(b, text[from:]...)
}

// appendXMLError appends an error in the query protocol.
func appendXMLError(b []byte, service *Service, e *Error, requestID string) []byte {
	b = append(b, xmlHead...)
	b = append(b, `<ErrorResponse xmlns="`...)
	b = append(b, service.XMLNS...)
	b = append(b, `"><Error>`...)
	b = appendXMLElement(b, "Type", e.fault())
	b = appendXMLElement(b, "Code", e.QueryCode())
	if text := e.queryMessage(); text != "" {
		b = appendXMLElement(b, "Message", text)
	}
	if service.Detail {
		b = append(b, `<Detail/>`...)
	}
	b = appendClose(b, "Error")
	b = appendXMLElement(b, "RequestId", requestID)
	return append(b, `</ErrorResponse>`...)
}

package wire

import (
	"cmp"
	"net/http"
	"reflect"
	"strings"
)

// wantsJSON reports whether a query request asks for its answer in JSON.
func wantsJSON(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "xml")
}

// contentTypeParameter asks for JSON in clients such as boto 2, which do not send Accept.
const contentTypeParameter = "ContentType"

// appendQueryJSON appends the answer of an action in the query protocol, in JSON. It is built like the XML, but absent
// members are null, and some have another name.
func appendQueryJSON(b []byte, action Action, out any, requestID string) []byte {
	b = append(append(append(b, `{"`...), action.Name...), `Response":{`...)
	if len(action.output.fields) > 0 || action.result {
		b = append(append(append(b, '"'), action.Name...), `Result":`...)
		b = queryJSONStruct(b, action.output, reflect.ValueOf(out).Elem())
		b = append(b, ',')
	}
	b = append(b, `"ResponseMetadata":{"RequestId":`...)
	return append(appendJSONString(b, requestID), `}}}`...)
}

func queryJSONStruct(b []byte, s *shape, v reflect.Value) []byte {
	b = append(b, '{')
	for i := range s.fields {
		f := &s.fields[i]
		if i > 0 {
			b = append(b, ',')
		}
		name := f.form.json
		name = cmp.Or(name, f.jsonName)
		b = append(appendJSONString(b, name), ':')
		b = queryJSON(b, f.shape, f.form, f.in(v))
	}
	return append(b, '}')
}

// queryJSON appends a value. A flat map is a list of names and values, as in XML.
func queryJSON(b []byte, s *shape, layout form, v reflect.Value) []byte {
	if left(s, v) {
		return append(b, `null`...)
	}
	switch s.kind {
	case structKind:
		return queryJSONStruct(b, s, reflect.Indirect(v))
	case listKind:
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = queryJSON(b, s.elem, plain, v.Index(i))
		}
		return append(b, ']')
	case mapKind:
		return queryJSONMap(b, s, layout, v)
	default:
		return appendJSON(b, s, v)
	}
}

func queryJSONMap(b []byte, s *shape, layout form, v reflect.Value) []byte {
	open, shut := byte('{'), byte('}')
	if layout.flat {
		open, shut = '[', ']'
	}
	b = append(b, open)
	for i, k := range sortedKeys(v) {
		if i > 0 {
			b = append(b, ',')
		}
		if layout.flat {
			b = append(append(append(b, `{"`...), layout.key...), `":`...)
			b = append(append(append(appendJSONString(b, k), `,"`...), layout.value...), '"')
		} else {
			b = appendJSONString(b, k)
		}
		b = append(b, ':')
		b = queryJSON(b, s.elem, plain, v.MapIndex(reflect.ValueOf(k)))
		if layout.flat {
			b = append(b, '}')
		}
	}
	return append(b, shut)
}

// appendQueryJSONError appends an error in the query protocol, in JSON.
func appendQueryJSONError(b []byte, e *Error, requestID string) []byte {
	b = append(b, `{"Error":{"Code":`...)
	b = appendJSONString(b, e.QueryCode())
	b = append(b, `,"Message":`...)
	b = appendJSONString(b, e.queryMessage())
	b = append(b, `,"Type":`...)
	b = appendJSONString(b, e.fault())
	b = append(b, `},"RequestId":`...)
	return append(appendJSONString(b, requestID), '}')
}

package wire

import (
	"encoding/base64"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// appendJSON appends v, of shape s, to b.
func appendJSON(b []byte, s *shape, v reflect.Value) []byte {
	if s.pointer {
		v = v.Elem()
	}
	switch s.kind {
	case stringKind:
		return appendJSONString(b, v.String())
	case intKind:
		return strconv.AppendInt(b, v.Int(), 10)
	case floatKind:
		return appendJSONFloat(b, v.Float())
	case timeKind:
		return strconv.AppendFloat(b, secondsOf(v.Interface().(time.Time)), 'f', -1, 64)
	case boolKind:
		return strconv.AppendBool(b, v.Bool())
	case blobKind:
		b = append(b, '"')
		b = base64.StdEncoding.AppendEncode(b, v.Bytes())
		return append(b, '"')
	case listKind:
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, s.elem, v.Index(i))
		}
		return append(b, ']')
	case mapKind:
		return appendJSONMap(b, s, v)
	default:
		return appendJSONStruct(b, s, v)
	}
}

// appendJSONFloat appends a number; those that JSON cannot write become words.
func appendJSONFloat(b []byte, x float64) []byte {
	switch {
	case math.IsNaN(x):
		return append(b, `"NaN"`...)
	case math.IsInf(x, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(x, -1):
		return append(b, `"-Infinity"`...)
	}
	return append(b, floatText(x)...)
}

func appendJSONStruct(b []byte, s *shape, v reflect.Value) []byte {
	b = append(b, '{')
	empty := true
	for i := range s.fields {
		f := &s.fields[i]
		member := f.in(v)
		if left(f.shape, member) {
			continue
		}
		if !empty {
			b = append(b, ',')
		}
		empty = false
		b = append(b, f.jsonKey...)
		b = appendJSON(b, f.shape, member)
	}
	return append(b, '}')
}

func appendJSONMap(b []byte, s *shape, v reflect.Value) []byte {
	b = append(b, '{')
	for i, k := range sortedKeys(v) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSONString(b, k)
		b = append(b, ':')
		b = appendJSON(b, s.elem, v.MapIndex(reflect.ValueOf(k)))
	}
	return append(b, '}')
}

// left reports whether an answer omits a member.
func left(s *shape, v reflect.Value) bool {
	if s.pointer {
		return v.IsNil()
	}
	switch s.kind {
	case stringKind:
		return v.Len() == 0
	case listKind, mapKind, blobKind:
		return v.IsNil()
	default:
		return false
	}
}

// sortedKeys makes answers deterministic.
func sortedKeys(v reflect.Value) []string {
	keys := make([]string, 0, v.Len())
	for it := v.MapRange(); it.Next(); {
		keys = append(keys, it.Key().String())
	}
	slices.Sort(keys)
	return keys
}

func appendJSONString(b []byte, text string) []byte {
	b = append(b, '"')
	for text != "" {
		b = slices.Grow(b, len(text)+escapeRoom)
		n, read := escape(b[len(b):cap(b)], text)
		b, text = b[:len(b)+n], text[read:]
		if text != "" && !safe(text[0]) && text[0] < utf8.RuneSelf {
			b = appendJSONEscape(b, text[0])
			text = text[1:]
		}
	}
	return append(b, '"')
}

func appendJSONEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	const digits = "0123456789abcdef"
	return append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
}

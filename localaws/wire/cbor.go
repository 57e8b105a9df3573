package wire

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// cborName is the protocol's name in the header Smithy-Protocol.
const cborName = "rpc-v2-cbor"

// cborReader returns the decoder's settings. An input is bounded by its size and depth; duplicate keys and invalid text
// are errors.
func cborReader() (cbor.DecMode, error) {
	return cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, MaxNestedLevels: maxDepth, TimeTagToAny: cbor.TimeTagToTime,
		DefaultMapType: reflect.TypeFor[map[string]any](), IntDec: cbor.IntDecConvertNone,
	}.DecMode()
}

// cborWriter returns the encoder's settings: sorted keys make answers deterministic.
func cborWriter() (cbor.EncMode, error) {
	return cbor.EncOptions{
		Sort: cbor.SortBytewiseLexical, Time: cbor.TimeUnixMicro, TimeTag: cbor.EncTagRequired,
	}.EncMode()
}

const (
	// cborItem is what an item takes until it is moved to its struct: most are numbers.
	cborItem = 24
	// maxCBORItems bounds a document: a thousand metrics with 150 values, 150 counts and 30 dimensions each have less.
	maxCBORItems = 700_000
)

// cborItems counts the items of a document before they are decoded, by their heads: an item of one byte, an empty map,
// takes fifty bytes when it is decoded. In a document that is not CBOR the number has no meaning.
func cborItems(data []byte) int {
	n := 0
	for len(data) > 0 {
		kind, argument := data[0]>>5, uint64(data[0]&31)
		data = data[1:]
		n++
		if argument >= 24 && argument < 28 {
			width := 1 << (argument - 24)
			if len(data) < width {
				return n
			}
			argument = 0
			for _, b := range data[:width] {
				argument = argument<<8 | uint64(b)
			}
			data = data[width:]
		}
		switch {
		case kind == 2 || kind == 3: // bytes and texts
			if argument >= uint64(len(data)) {
				return n
			}
			data = data[argument:]
		case kind == 5 || kind == 4 && argument == 0: // maps, and lists without elements
			n++
		}
	}
	return n
}

// cborDecoder moves a decoded document into a struct.
type cborDecoder struct {
	action string
	path   []string // the path of the current member, for errors
}

// decodeCBOR decodes a request's body into the struct. An empty body is an empty map.
func decodeCBOR(data []byte, action Action, in any, l *load) *Error {
	if len(data) == 0 {
		return nil
	}
	items := cborItems(data)
	if items > maxCBORItems {
		return serialization("%s: the body has %d items of CBOR; at most %d are read.", action.Name, items,
			maxCBORItems)
	}
	if err := l.use(int64(items) * cborItem); err != nil {
		return err
	}
	mode, err := cborReader()
	if err != nil {
		return asError(err)
	}
	var document any
	if err := mode.Unmarshal(data, &document); err != nil {
		return serialization("%s: the body is not CBOR: %v", action.Name, err)
	}
	d := &cborDecoder{action: action.Name}
	return d.value(action.input, document, reflect.ValueOf(in).Elem())
}

// value moves x into v. If v is a pointer, value allocates what it points to. Null is absent.
func (d *cborDecoder) value(s *shape, x any, v reflect.Value) *Error {
	if x == nil {
		return nil
	}
	if s.pointer {
		v.Set(reflect.New(s.typ))
		v = v.Elem()
	}
	switch x := x.(type) {
	case map[string]any:
		switch s.kind {
		case structKind:
			return d.structure(s, x, v)
		case mapKind:
			return d.mapping(s, x, v)
		}
	case []any:
		if s.kind == listKind {
			return d.list(s, x, v)
		}
	default:
		if d.scalar(s, x, v) {
			return nil
		}
	}
	return d.mismatch(s, x)
}

// scalar reports whether x is a value of the shape, and sets it.
func (d *cborDecoder) scalar(s *shape, x any, v reflect.Value) bool {
	switch x := x.(type) {
	case string:
		if s.kind == stringKind {
			v.SetString(x)
		}
		return s.kind == stringKind
	case []byte:
		if s.kind == blobKind {
			v.SetBytes(x)
		}
		return s.kind == blobKind
	case bool:
		if s.kind == boolKind {
			v.SetBool(x)
		}
		return s.kind == boolKind
	case time.Time:
		if x.IsZero() { // the codec's form of a time that is not a number, or infinite
			return false
		}
		if s.kind == timeKind {
			v.Set(reflect.ValueOf(x.Round(time.Millisecond).UTC()))
		}
		return s.kind == timeKind
	case uint64:
		if s.kind == intKind && x > math.MaxInt64 {
			return false
		}
		return setNumber(s, v, int64(x), float64(x)) //nolint:gosec // the integer is used only if it fits
	case int64:
		return setNumber(s, v, x, float64(x))
	case float64:
		if s.kind == intKind && (x != math.Trunc(x) || math.Abs(x) >= 1<<53) {
			return false
		}
		return setNumber(s, v, int64(x), x)
	default:
		return false
	}
}

// setNumber sets a number in the form that the shape needs, if it fits.
func setNumber(s *shape, v reflect.Value, whole int64, x float64) bool {
	switch s.kind {
	case floatKind:
		v.SetFloat(x)
		return true
	case intKind:
		if v.OverflowInt(whole) {
			return false
		}
		v.SetInt(whole)
		return true
	default:
		return false
	}
}

func (d *cborDecoder) structure(s *shape, x map[string]any, v reflect.Value) *Error {
	for name, member := range x {
		d.path = append(d.path, name)
		f := s.jsonField([]byte(name))
		if f == nil {
			return unknownParameter(d.action, d.place(), s, false)
		}
		if err := d.value(f.shape, member, f.in(v)); err != nil {
			return err
		}
		d.path = d.path[:len(d.path)-1]
	}
	return nil
}

func (d *cborDecoder) mapping(s *shape, x map[string]any, v reflect.Value) *Error {
	v.Set(reflect.MakeMapWithSize(s.typ, len(x)))
	slot := reflect.New(s.typ.Elem()).Elem()
	for name, member := range x {
		if member == nil {
			continue // null counts as absent
		}
		d.path = append(d.path, name)
		slot.SetZero()
		if err := d.value(s.elem, member, slot); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(name), slot)
		d.path = d.path[:len(d.path)-1]
	}
	return nil
}

func (d *cborDecoder) list(s *shape, x []any, v reflect.Value) *Error {
	v.Set(reflect.MakeSlice(s.typ, len(x), len(x)))
	for i, element := range x {
		if err := d.value(s.elem, element, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (d *cborDecoder) mismatch(s *shape, x any) *Error {
	wanted := map[kind]string{
		stringKind: "a string", intKind: "an integer", floatKind: "a double", boolKind: "a boolean",
		blobKind: "a blob", listKind: "a list", mapKind: "a map", structKind: "a structure", timeKind: "a timestamp",
	}[s.kind]
	return serialization("%s: %s must be %s, not %T", d.action, d.place(), wanted, x)
}

func (d *cborDecoder) place() string {
	if len(d.path) == 0 {
		return "the input"
	}
	return strings.Join(d.path, ".")
}

// cborValue returns what the encoder writes for v, without the members that an answer omits.
func cborValue(s *shape, v reflect.Value) any {
	if s.pointer {
		v = v.Elem()
	}
	switch s.kind {
	case listKind:
		return cborList(s, v)
	case mapKind:
		m := make(map[string]any, v.Len())
		for it := v.MapRange(); it.Next(); {
			m[it.Key().String()] = cborValue(s.elem, it.Value())
		}
		return m
	case structKind:
		m := make(map[string]any, len(s.fields))
		for i := range s.fields {
			f := &s.fields[i]
			if member := f.in(v); !left(f.shape, member) {
				m[f.jsonName] = cborValue(f.shape, member)
			}
		}
		return m
	case timeKind:
		return v.Interface().(time.Time).Truncate(time.Millisecond)
	default:
		return v.Interface()
	}
}

// cborList passes lists of scalars on as they are: a page of metric data has 100,800 numbers.
func cborList(s *shape, v reflect.Value) any {
	if slices.Contains([]kind{floatKind, stringKind, timeKind, intKind}, s.elem.kind) && !s.elem.pointer {
		return v.Interface()
	}
	list := make([]any, v.Len())
	for i := range list {
		list[i] = cborValue(s.elem, v.Index(i))
	}
	return list
}

// appendCBOR appends a document.
func appendCBOR(b []byte, document any) ([]byte, error) {
	mode, err := cborWriter()
	if err != nil {
		return b, err
	}
	text, err := mode.Marshal(document)
	return append(b, text...), err
}

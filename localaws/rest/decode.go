package rest

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/godwitmq/godwit/localaws/wire"
)

// request is a request with its parts.
type request struct {
	*http.Request
	bucket, key string
	level       Level
	query       map[string][]string
}

func (r *request) parameter(name string) (string, bool) {
	v, ok := r.query[name]
	if !ok || len(v) == 0 {
		return "", ok
	}
	return v[0], true
}

// fits reports whether a route takes the request.
func (r *request) fits(route Route) bool {
	if route.Method != r.Method || route.Level != r.level {
		return false
	}
	for _, want := range route.Query {
		name, value, fixed := strings.Cut(want, "=")
		if have, ok := r.parameter(name); !ok || fixed && have != value {
			return false
		}
	}
	return route.Header == "" || r.Header.Get(route.Header) != ""
}

// metadataPrefix begins the headers of a client's own metadata.
const metadataPrefix = "X-Amz-Meta-"

// decode fills an input, apart from what is in the body.
func (s *shape) decode(r *request, in reflect.Value) *Error {
	for i := range s.fields {
		f := &s.fields[i]
		v := in.FieldByIndex(f.index)
		var text string
		var ok bool
		switch f.place {
		case inBucket:
			text, ok = r.bucket, true
		case inKey:
			text, ok = r.key, true
		case inQuery:
			if list, isList := reflect.TypeAssert[*[]string](v.Addr()); isList {
				*list = r.query[f.wire]
				continue
			}
			text, ok = r.parameter(f.wire)
			ok = ok && (text != "" || !isNumber(v)) // S3 does not look at an empty number
		case inHeader:
			values := r.Header[f.head]
			text, ok = strings.Join(values, ","), len(values) > 0
		case inMetadata:
			v.Set(reflect.ValueOf(metadata(r.Header)))
		default:
		}
		if !ok {
			continue
		}
		if !setText(v, text) {
			return badText(f, v, text)
		}
	}
	return nil
}

// isNumber reports whether a field is a number, or a pointer to one.
func isNumber(v reflect.Value) bool {
	kind := v.Kind()
	if kind == reflect.Pointer {
		kind = v.Type().Elem().Kind()
	}
	return kind == reflect.Int || kind == reflect.Int64
}

func badText(f *field, v reflect.Value, text string) *Error {
	if v.Kind() == reflect.Pointer && v.Type().Elem().Kind() == reflect.Int {
		return InvalidArgument("Provided "+f.wire+" not an integer or within integer range", f.wire, text)
	}
	return InvalidArgument("Invalid value for "+f.wire, f.wire, text)
}

func metadata(h http.Header) map[string]string {
	var all map[string]string
	for name, values := range h {
		if strings.HasPrefix(name, metadataPrefix) {
			if all == nil {
				all = map[string]string{}
			}
			all[strings.ToLower(name[len(metadataPrefix):])] = decodeWords(strings.Join(values, ","))
		}
	}
	return all
}

// setText sets a scalar, or a pointer to one, from its text.
func setText(v reflect.Value, text string) bool {
	if v.Kind() == reflect.Pointer {
		p := reflect.New(v.Type().Elem())
		if !setText(p.Elem(), text) {
			return false
		}
		v.Set(p)
		return true
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(strings.TrimSpace(text))
		v.SetBool(b)
		return err == nil
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		v.SetInt(n)
		return err == nil && (v.Kind() == reflect.Int64 || n == int64(int32(n)))
	default:
		return false
	}
	return true
}

// common are headers that every action may have, or that concern only the wire.
var common = map[string]bool{
	"X-Amz-Date": true, "X-Amz-Content-Sha256": true, "X-Amz-Security-Token": true, "X-Amz-User-Agent": true,
	"X-Amz-Te": true, "X-Amz-Expected-Bucket-Owner": true, "X-Amz-Sdk-Checksum-Algorithm": true,
	"X-Amz-Trailer": true, "X-Amz-Decoded-Content-Length": true, "X-Amz-Request-Payer": true,
	"X-Amz-Checksum-Crc32": true, "X-Amz-Checksum-Crc32c": true, "X-Amz-Checksum-Crc64nvme": true,
	"X-Amz-Checksum-Sha1": true, "X-Amz-Checksum-Sha256": true, "X-Amz-Optional-Object-Attributes": true,
	"X-Amz-Target": true, "X-Amz-Region-Set": true, "X-Amz-Mfa": true,
	"X-Amz-Checksum-Algorithm": true, // S3 does not look at it where it names no action's parameter
}

// unknownHeader returns the name of an x-amz-… header that the action does not have, the first of several; "": there is
// none.
func (a *Action) unknownHeader(h http.Header) string {
	unknown := ""
	for name := range h {
		if !strings.HasPrefix(name, "X-Amz-") || common[name] || strings.HasPrefix(name, metadataPrefix) {
			continue
		}
		known := name == canonical(a.Route.Header)
		for i := range a.input.fields {
			known = known || a.input.fields[i].place == inHeader && a.input.fields[i].head == name
		}
		if !known && (unknown == "" || name < unknown) {
			unknown = name
		}
	}
	return strings.ToLower(unknown)
}

// maxDocument bounds an XML document: a list of 10,000 parts with their checksums, with some reserve.
const maxDocument = 8 << 20

// decodeBody fills the part of an input that is in the body.
func (s *shape) decodeBody(body *Body, in reflect.Value) error {
	for i := range s.fields {
		f := &s.fields[i]
		if f.place != inPayload && f.place != inText {
			continue
		}
		text, err := body.document()
		if err != nil {
			return err
		}
		if f.place == inText {
			in.FieldByIndex(f.index).SetString(string(text))
			continue
		}
		if len(text) == 0 {
			continue
		}
		p := reflect.New(f.typ.Elem())
		if bad := decodeXML(text, f.wire, f.inner, p.Elem()); bad != nil {
			return bad
		}
		in.FieldByIndex(f.index).Set(p)
	}
	return nil
}

// tooLong is the answer to a document that is longer than maxDocument.
func tooLong() *Error {
	return &Error{Base: wire.Error{
		Code: "MaxMessageLengthExceeded", Message: "Your request was too big.", Status: http.StatusBadRequest,
	}}
}

package cloudevents

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math"
	"mime"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// AttributeError is the error of an event with an attribute that CloudEvents does not allow.
type AttributeError struct {
	Name   string // of the attribute, or data
	Reason string
}

func (e *AttributeError) Error() string {
	return fmt.Sprintf("the attribute %s of the CloudEvent %s", e.Name, e.Reason)
}

func wrong(name, format string, args ...any) error {
	return &AttributeError{Name: name, Reason: fmt.Sprintf(format, args...)}
}

// attribute is a name and a value.
type attribute struct {
	name  string
	value any
}

// extensions returns the extensions sorted by name, without those whose value is nil.
func (e *Event) extensions() (all []attribute) {
	for _, name := range slices.Sorted(maps.Keys(e.Extensions)) {
		if e.Extensions[name] != nil {
			all = append(all, attribute{name, e.Extensions[name]})
		}
	}
	return all
}

// Validate returns an [AttributeError] if the event is not one of CloudEvents 1.0. Senders call it.
func (e *Event) Validate() error {
	if err := e.validate(); err != nil {
		return err
	}
	if _, err := url.Parse(e.Source); err != nil {
		return wrong(attrSource, "is %q, which is no URI or reference to one: %v", e.Source, err)
	}
	if e.DataSchema != "" {
		if u, err := url.Parse(e.DataSchema); err != nil || !u.IsAbs() {
			return wrong(attrDataSchema, "is %q, and must be an absolute URI, with a scheme", e.DataSchema)
		}
	}
	if e.DataContentType != "" {
		if _, _, err := mime.ParseMediaType(e.DataContentType); err != nil {
			return wrong(attrDataContentType, "is %q, which is no media type: %v", e.DataContentType, err)
		}
	}
	if jsonType(e.DataContentType) {
		return e.checkJSON()
	}
	return nil
}

// validate checks what a reader needs, too: programs that are not strict about URIs are common.
func (e *Event) validate() error {
	for _, a := range []attribute{{attrID, e.ID}, {attrSource, e.Source}, {attrType, e.Type}} {
		if a.value == "" {
			return wrong(a.name, "is missing: every event must have it")
		}
	}
	for _, a := range e.attributes() {
		if err := a.check(); err != nil {
			return err
		}
	}
	for _, a := range e.extensions() {
		if err := checkExtensionName(a.name); err != nil {
			return err
		}
	}
	if e.Extensions[attrPartitionKey] == "" {
		return wrong(attrPartitionKey, "is empty: give it a value, or remove it")
	}
	return nil
}

// check checks a value.
func (a attribute) check() error {
	v, err := parseValue(a.value)
	if err != nil {
		return wrong(a.name, "%v", err)
	}
	if !utf8.ValidString(v.text) {
		return wrong(a.name, "is not UTF-8")
	}
	for _, r := range v.text {
		switch {
		case r < ' ', r >= 0x7F && r <= 0x9F:
			return wrong(a.name, "is %q, which has the control character %U: remove it", v.text, r)
		case r >= 0xFDD0 && r <= 0xFDEF, r&0xFFFE == 0xFFFE:
			return wrong(a.name, "is %q, which has %U, which is no character of Unicode: remove it", v.text, r)
		}
	}
	return nil
}

// checkExtensionName returns an error for a name that no extension may have.
func checkExtensionName(name string) error {
	switch name {
	case "":
		return wrong(`""`, "has no name: give it one of the characters a to z and 0 to 9")
	case attrSpecVersion, attrID, attrSource, attrType, attrSubject, attrTime, attrDataContentType, attrDataSchema:
		return wrong(name, "is no extension: set the field of the Event")
	case attrData:
		return wrong(name, "has a name that CloudEvents reserves: set Event.Data, or choose another name")
	}
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return wrong(name, "has a name with other characters than a to z and 0 to 9: CloudEvents allows no others")
	}
	return nil
}

// value is the value of an attribute, in the forms in which it is sent.
type value struct {
	text string
	bare bool // in JSON, it is written without quotes
}

// parseValue returns the forms of a value.
func parseValue(v any) (value, error) {
	switch v := v.(type) {
	case nil:
		return value{}, nil
	case string:
		return value{text: v}, nil
	case bool:
		return value{strconv.FormatBool(v), true}, nil
	case []byte:
		return value{text: base64.StdEncoding.EncodeToString(v)}, nil
	case time.Time:
		if y := v.Year(); y < 0 || y > 9999 {
			return value{}, fmt.Errorf("is a time in the year %d, and only 0 to 9999 are possible", y)
		}
		return value{text: v.Format(time.RFC3339Nano)}, nil
	case *url.URL:
		if v == nil {
			return value{}, errors.New("is a nil URL: remove it")
		}
		return value{text: v.String()}, nil
	}
	n := reflect.ValueOf(v)
	switch {
	case n.CanInt() && n.Int() >= math.MinInt32 && n.Int() <= math.MaxInt32:
		return value{strconv.FormatInt(n.Int(), 10), true}, nil
	case n.CanUint() && n.Uint() <= math.MaxInt32:
		return value{strconv.FormatUint(n.Uint(), 10), true}, nil
	case n.CanInt() || n.CanUint():
		return value{}, fmt.Errorf("is %v, and integers of CloudEvents have 32 bits: send it as a string", v)
	}
	return value{}, fmt.Errorf("has the type %T: use a string, a bool, an int32, []byte, a time.Time or a *url.URL", v)
}

// set sets an attribute of a received event.
func (e *Event) set(name string, v any) error {
	text, isText := v.(string)
	var to *string
	switch name {
	case attrSpecVersion:
		if text != specVersion {
			return wrong(name, "is %q, and only %s is supported", fmt.Sprint(v), specVersion)
		}
		return nil
	case attrID:
		to = &e.ID
	case attrSource:
		to = &e.Source
	case attrType:
		to = &e.Type
	case attrSubject:
		to = &e.Subject
	case attrDataContentType:
		to = &e.DataContentType
	case attrDataSchema:
		to = &e.DataSchema
	case attrTime:
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return wrong(name, "is %q, which is no time as in RFC 3339", fmt.Sprint(v))
		}
		e.Time = at
		return nil
	default:
		if err := checkExtensionName(name); err != nil {
			return err
		}
		if e.Extensions == nil {
			e.Extensions = map[string]any{}
		}
		e.Extensions[name] = v
		return nil
	}
	if !isText {
		return wrong(name, "is %v, and must be a string", v)
	}
	*to = text
	return nil
}

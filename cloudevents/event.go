package cloudevents

import (
	"fmt"
	"time"

	"github.com/godwitmq/godwit"
)

// specVersion is the version of CloudEvents that events have.
const specVersion = "1.0"

// The names of attributes that are no extensions.
const (
	attrSpecVersion     = "specversion"
	attrID              = "id"
	attrSource          = "source"
	attrType            = "type"
	attrSubject         = "subject"
	attrTime            = "time"
	attrDataContentType = "datacontenttype"
	attrDataSchema      = "dataschema"
	attrData            = "data"
	attrDataBase64      = "data_base64"
	attrPartitionKey    = "partitionkey"
)

// Event is a CloudEvent of version 1.0.
type Event struct {
	// ID, Source and Type are required. Source is a URI or a reference to one. No two events have the same Source and
	// ID, unless one is sent again.
	ID     string
	Source string
	Type   string

	Subject         string    // "": none
	Time            time.Time // zero: unknown
	DataContentType string    // the media type of Data; "": unknown or, of valid JSON, application/json
	DataSchema      string    // the absolute URI of the schema of Data; "": none

	// Extensions are further attributes. Their names have the characters a to z and 0 to 9. Values may be string, bool,
	// int32 and other integers of its range, []byte, time.Time and *url.URL. In received events they are string, bool
	// and int32 in the structured mode, and string in the binary mode; [Event.Extension] is the same for both.
	Extensions map[string]any

	Data []byte // nil: the event has none
}

// SetData encodes a value as the data of the event, and sets DataContentType.
func (e *Event) SetData(c godwit.Codec, v any) error {
	data, err := c.Encode(v)
	if err != nil {
		return fmt.Errorf("encode the data of a CloudEvent: %w", err)
	}
	e.Data, e.DataContentType = data, c.ContentType()
	return nil
}

// DataAs decodes the data of the event into v, a pointer.
func (e *Event) DataAs(c godwit.Codec, v any) error {
	if err := c.Decode(e.Data, v); err != nil {
		return fmt.Errorf("decode the data of CloudEvent %s, which has the content type %q: %w", e.ID, e.DataContentType,
			err)
	}
	return nil
}

// Extension returns the value of an extension as text, in the form that CloudEvents prescribes; "": there is none.
func (e *Event) Extension(name string) string {
	v, err := parseValue(e.Extensions[name])
	if err != nil {
		return ""
	}
	return v.text
}

// attributes returns the names and values of all attributes that the event has, the required ones first, and the
// extensions sorted by name. It does not check them.
func (e *Event) attributes() []attribute {
	all := []attribute{
		{attrSpecVersion, specVersion}, {attrID, e.ID}, {attrSource, e.Source}, {attrType, e.Type},
	}
	for _, a := range []attribute{
		{attrDataContentType, e.DataContentType}, {attrDataSchema, e.DataSchema}, {attrSubject, e.Subject},
	} {
		if a.value != "" {
			all = append(all, a)
		}
	}
	if !e.Time.IsZero() {
		all = append(all, attribute{attrTime, e.Time})
	}
	return append(all, e.extensions()...)
}

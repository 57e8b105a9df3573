package cloudevents

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/godwitmq/godwit"
)

// contentTypeHeader is an attribute with which other programs may send the content type on SQS and SNS.
const contentTypeHeader = "content-type"

// Handle makes a godwit.Handler of a function of events, in either mode. A message that is no CloudEvent, or not a
// valid one, is rejected, as one that cannot be decoded.
func Handle(f func(ctx context.Context, d godwit.Typed[Event]) error) godwit.Handler {
	if f == nil {
		return nil // Run returns an error
	}
	return func(ctx context.Context, d *godwit.Delivery) error {
		return godwit.Handle(reader{d}, f)(ctx, d)
	}
}

// reader is a godwit.Codec that reads the event of one delivery.
type reader struct{ d *godwit.Delivery }

// ContentType implements godwit.Codec.
func (reader) ContentType() string { return structuredType }

// Encode implements godwit.Codec. It is not called.
func (reader) Encode(any) ([]byte, error) { return nil, errors.ErrUnsupported }

// Decode implements godwit.Codec.
func (r reader) Decode(body []byte, v any) error {
	to, ok := v.(*Event)
	if !ok {
		return fmt.Errorf("an event is decoded into *Event, not %T", v)
	}
	e, err := read(r.d, body)
	*to = e
	return err
}

// Read returns the event of a delivery, in either mode, for iterators and batch handlers. The delivery must have its
// body in memory. The event shares its Data with the delivery, and must not change it.
func Read(d *godwit.Delivery) (Event, error) {
	if d.Undecodable != nil {
		return Event{}, d.Undecodable
	}
	return read(d, d.Body)
}

func read(d *godwit.Delivery, body []byte) (Event, error) {
	kind := d.ContentType
	if kind == "" {
		kind = d.Headers.Value(contentTypeHeader)
	}
	format, _, _ := strings.Cut(kind, ";")
	format = strings.ToLower(strings.TrimSpace(format))
	switch {
	case format == structuredType:
		return readStructured(body)
	case strings.HasPrefix(format, structuredPrefix):
		return Event{}, fmt.Errorf("the CloudEvent has the content type %s, and only %s is supported", kind, structuredType)
	case len(d.Headers.Values(prefix+attrSpecVersion)) > 0:
		return readBinary(d, kind, body)
	case (kind == "" || jsonType(kind)) && bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")):
		// Messages of SQS have no content type, so the body says what it is.
		e, err := readStructured(body)
		var bad *AttributeError
		if err == nil || errors.As(err, &bad) && bad.Name != attrSpecVersion {
			return e, err
		}
	}
	return Event{}, fmt.Errorf("the message is no CloudEvent of version %s: it has neither the content type %s, nor the "+
		"header %s, nor a body in CloudEvents' JSON format", specVersion, structuredType, prefix+attrSpecVersion)
}

func readStructured(body []byte) (e Event, err error) {
	err = e.UnmarshalJSON(body)
	return e, err
}

// readBinary reads the attributes from the headers. Of several with the same name, which only records of Kafka can
// have, the last one counts.
func readBinary(d *godwit.Delivery, contentType string, body []byte) (Event, error) {
	var e Event
	for _, h := range d.Headers {
		name, ok := strings.CutPrefix(h.Name, prefix)
		if !ok {
			continue
		}
		if err := e.set(name, h.Value); err != nil {
			return Event{}, err
		}
	}
	e.DataContentType = cmp.Or(e.DataContentType, contentType)
	e.Data = body
	return e, e.validate()
}

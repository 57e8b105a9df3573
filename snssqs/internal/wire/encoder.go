package wire

import (
	"context"
	"fmt"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/trust"
)

// Encoder makes messages of one channel ready to be sent.
type Encoder struct {
	To       driver.Channel
	Dest     string // the destination's name in errors about limits
	MaxBytes int    // of a message
	Form     Form
	Trusted  trust.Topics // topics whose JSON is opened, of forwarded messages
	Uploads  *Uploads     // of large bodies; nil: there is no store
}

// Prepare encodes a message. If its body is large, Prepare writes it to the store, after everything else was checked.
func (e *Encoder) Prepare(ctx context.Context, m *driver.Message) (driver.Prepared, error) {
	apart := e.Uploads.mine(m)
	w, err := e.encode(m, apart)
	if err == nil && !apart && e.Uploads != nil && w.bytes() > e.Uploads.Above { // with its attributes or its encoding
		apart = true
		w, err = e.encode(m, apart)
	}
	if err != nil {
		return driver.Prepared{}, err
	}
	room := 0
	if apart {
		room = pointerRoom
	}
	if size := w.bytes() + room; size > e.MaxBytes {
		return driver.Prepared{}, e.tooLarge(m, w, size)
	}
	if apart {
		if err := e.Uploads.put(ctx, w, m, e.To.Ordered); err != nil {
			return driver.Prepared{}, err
		}
		if size := w.bytes(); size > e.MaxBytes {
			return driver.Prepared{}, e.tooLarge(m, w, size)
		}
	}
	return driver.Prepared{Wire: w, OrderKey: m.OrderKey, Size: w.bytes()}, nil
}

func (e *Encoder) encode(m *driver.Message, apart bool) (*prepared, error) {
	w, err := encode(e.To, m, apart, e.Form)
	if err != nil {
		return nil, &driver.Error{Class: driver.Permanent, Err: err}
	}
	pointer := ""
	if apart {
		pointer = e.Uploads.Format.Attribute()
	}
	return w, w.checkCount(pointer)
}

// tooLarge is the error of a message that the service does not accept.
func (e *Encoder) tooLarge(m *driver.Message, w *prepared, size int) error {
	err := fmt.Errorf("the message has %d bytes with its attributes, and %s accepts %d", size, e.Dest, e.MaxBytes)
	if len(w.body) > len(m.Body) {
		err = fmt.Errorf("%w; its body of %d bytes has characters that SQS refuses, so it is sent as base64, which has "+
			"%d bytes", err, len(m.Body), len(w.body))
	}
	if e.Uploads == nil {
		err = fmt.Errorf("%w; with a store (snssqs.Options.Store, s3store.Open) larger bodies are sent through S3", err)
	}
	return &driver.Error{Class: driver.TooLarge, Err: err}
}

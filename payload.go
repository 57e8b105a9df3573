package godwit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/calls"
)

// payload is the body of a delivery that is in a store, apart from its message.
type payload struct {
	opener driver.Opener
	size   int64        // of the body, as its sender said
	filled bool         // Delivery.Body has it
	bad    error        // why it cannot be read, of a dead letter; nil: it can
	opened atomic.Bool  // by Delivery.Open
	tries  atomic.Int32 // receives, and reads that have failed because of the store
}

// Open begins to read the body. It is for bodies that are not in Delivery.Body: those of large messages that are larger
// than ConsumerOptions.MaxBody, or all of them with ConsumerOptions.Stream. It works for every other delivery, too, and
// may be called several times. The reader must be closed. An error of the store, returned by the handler, is no failed
// attempt: the delivery waits and is handled again.
func (d *Delivery) Open(ctx context.Context) (io.ReadCloser, error) {
	switch {
	case !d.unread():
		return io.NopCloser(bytes.NewReader(d.Body)), nil
	case d.apart.bad != nil:
		return nil, d.apart.bad
	}
	d.apart.opened.Store(true)
	d.c.health.calls.Begin(calls.Store, 1)
	began := time.Now()
	r, _, err := d.c.openBody(ctx, d)
	d.c.tellBodyRead(d, began, err)
	d.c.health.calls.End(calls.Store, d.c.stalled(ctx, err))
	if err != nil {
		return nil, err
	}
	r.log = &d.c.health.calls
	return r, nil
}

// large reports whether the body was sent in a store.
func (d *Delivery) large() bool { return d.apart != nil }

// unread reports whether the body is in the store and not in Delivery.Body.
func (d *Delivery) unread() bool { return d.apart != nil && !d.apart.filled }

// storeError is an error of the store of a body. It wraps the error of the backend, which has the class.
type storeError struct {
	err  error
	wait time.Duration // until the next attempt, after a passing error
}

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// passing reports whether a repetition may succeed.
func (e *storeError) passing() bool { return driver.ClassOf(e.err).Passing() }

// payloadFault is why a delivery's body can never be read; nil: the error is another one.
func payloadFault(err error) *driver.PayloadError {
	var fault *driver.PayloadError
	if errors.As(err, &fault) {
		return fault
	}
	return nil
}

// oversized is the reason to reject a delivery whose handler needs its body in memory.
type oversized struct{ size, limit int64 }

func (e *oversized) Error() string {
	return fmt.Sprintf("the body has %d bytes, and ConsumerOptions.MaxBody is %d: raise MaxBody, or read the body with "+
		"Delivery.Open in a handler of single deliveries", e.size, e.limit)
}

// errUnread is the reason to reject a delivery that its handler has not read.
func (c *Consumer) errUnread(d *Delivery) error { return &oversized{d.apart.size, c.o.MaxBody} }

// stalled is what an error says about the store, for Health. nil: nothing, or that it works.
func (c *Consumer) stalled(ctx context.Context, err error) error {
	if context.Cause(ctx) == nil {
		return calls.Stall(err)
	}
	return nil // the caller has ended the call
}

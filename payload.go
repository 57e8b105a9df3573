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
	"github.com/godwitmq/godwit/internal/bodies"
)

// payload is the body of a delivery that is in a store, apart from its message.
type payload struct {
	bodies.Body
	filled bool        // Delivery.Body has it
	bad    error       // why it cannot be read, of a dead letter; nil: it can
	opened atomic.Bool // by Delivery.Open
	after  *Delivery   // the delivery after its handler, without the body, which may be garbage then
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
	began := time.Now()
	r, _, err := d.h.payloads.store.Open(ctx, &d.apart.Body)
	d.h.payloads.told(d, began, err)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// large reports whether the body was sent in a store.
func (d *Delivery) large() bool { return d.apart != nil }

// unread reports whether the body is in the store and not in Delivery.Body.
func (d *Delivery) unread() bool { return d.apart != nil && !d.apart.filled }

// refuse rejects a delivery whose body can never be read or does not fit, whatever the policy says about errors. A
// second copy of a handled message, whose body was deleted with the first, is done.
func (d *Delivery) refuse(err error) {
	var large *oversized
	switch {
	case errors.Is(err, driver.ErrFinished):
		d.choice.CompareAndSwap(nil, &choice{verdict: Verdict{Action: ActionDone}})
	case bodies.FaultOf(err) != nil || errors.As(err, &large):
		d.choice.CompareAndSwap(nil, &choice{verdict: Verdict{Action: ActionReject}, reason: err})
	}
}

// oversized is the reason to reject a delivery whose handler needs its body in memory.
type oversized struct{ size, limit int64 }

func (e *oversized) Error() string {
	return fmt.Sprintf("the body has %d bytes, and ConsumerOptions.MaxBody is %d: raise MaxBody, or read the body with "+
		"Delivery.Open in a handler of single deliveries", e.size, e.limit)
}

// payloads reads the bodies of a consumer's deliveries from their store.
type payloads struct {
	store *bodies.Store
	o     *ConsumerOptions
	dead  bool // of dead letters, which cannot be rejected again
	fault faults
}

// fetches reports whether the body of a delivery is read before its handler begins.
func (p *payloads) fetches(d *Delivery) bool {
	return d.unread() && d.apart.bad == nil && !p.o.Stream && d.apart.Size <= p.o.MaxBody
}

// sizeOf is how many bytes the bodies of deliveries will take that are read before their handler.
func (p *payloads) sizeOf(ds ...*Delivery) (n int64) {
	for _, d := range ds {
		if p.fetches(d) {
			n += d.apart.Size
		}
	}
	return n
}

// fetch reads the body of a delivery in hand, unless the handler reads it. It counts against ConsumerOptions.MaxBytes.
// If it cannot be read, the error is a *bodies.Error. For a dead letter, the delivery notes it instead.
func (p *payloads) fetch(ctx context.Context, d *Delivery) error {
	if !p.fetches(d) {
		return nil
	}
	a := d.apart
	began := time.Now()
	body, err := p.store.Download(ctx, &a.Body, func(by int64) { d.item.Grow(d.gen, by) })
	p.told(d, began, err)
	switch {
	case err == nil:
		d.Body, a.filled = body, true
	case p.dead && bodies.FaultOf(err) != nil:
		d.Undecodable, a.bad, err = err, err, nil
	}
	return err
}

// fetchAll reads several bodies, a few at a time. The errors are by the index of the delivery.
func (p *payloads) fetchAll(ctx context.Context, ds []*Delivery) []error {
	errs := make([]error, len(ds))
	var g bodies.Group
	for i, d := range ds {
		if p.fetches(d) {
			g.Go(func() { errs[i] = p.fetch(ctx, d) })
		}
	}
	g.Wait()
	return errs
}

// told calls the hook for a read of the store.
func (p *payloads) told(d *Delivery, began time.Time, err error) {
	call2(p.fault, p.o.Hooks.BodyRead, d, BodyRead{Bytes: d.apart.Size, Took: time.Since(began), Err: err})
}

// unread is the reason to reject a delivery whose handler needs its body in memory, and does not have it; nil: none.
func (p *payloads) unread(d *Delivery) error {
	if !p.o.Stream && d.unread() && d.apart.bad == nil {
		return &oversized{d.apart.Size, p.o.MaxBody}
	}
	return nil
}

// forwardReader reads the body of a delivery that is in the store. It is opened when it is first read.
type forwardReader struct {
	d *Delivery
	r io.ReadCloser
}

// Read implements io.Reader.
func (f *forwardReader) Read(to []byte) (int, error) {
	if f.r == nil {
		r, err := f.d.Open(context.Background()) // the send's context ends the upload, which reads it
		if err != nil {
			return 0, err
		}
		f.r = r
	}
	n, err := f.r.Read(to)
	if err != nil {
		err = errors.Join(err, f.r.Close())
	}
	return n, err
}

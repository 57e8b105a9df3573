package godwit

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/calls"
	"github.com/godwitmq/godwit/internal/engine"
)

// fetchesAtOnce is how many bodies of one batch are downloaded at the same time.
const fetchesAtOnce = 4

// fetches reports whether the body of a delivery is read before its handler begins.
func (c *Consumer) fetches(d *Delivery) bool {
	return d.unread() && d.apart.bad == nil && !c.o.Stream && d.apart.size <= c.o.MaxBody
}

// fetch reads the body of a delivery in hand, unless the handler reads it. If it cannot be read, the error is a
// *storeError. That of a dead letter, which cannot be rejected again, is noted in the delivery instead.
func (c *Consumer) fetch(ctx context.Context, d *Delivery) error {
	if !c.fetches(d) {
		return nil
	}
	a := d.apart
	c.health.calls.Begin(calls.Store, 1)
	began := time.Now()
	body, err := c.download(ctx, d)
	c.tellBodyRead(d, began, err)
	c.health.calls.End(calls.Store, c.stalled(ctx, err))
	switch {
	case err == nil:
		d.Body, a.filled = body, true
	case c.channel.DeadLetter && payloadFault(err) != nil:
		d.Undecodable, a.bad = err, err
	default:
		return err
	}
	return nil
}

// tellBodyRead calls the hook for a read of the store.
func (c *Consumer) tellBodyRead(d *Delivery, began time.Time, err error) {
	if f := c.o.Hooks.BodyRead; f != nil {
		c.guard(func() { f(d, BodyRead{Bytes: d.apart.size, Took: time.Since(began), Err: err}) })
	}
}

// download reads a whole body into memory. It counts against ConsumerOptions.MaxBytes from the time when the store has
// said how large it really is.
func (c *Consumer) download(ctx context.Context, d *Delivery) (body []byte, err error) {
	r, size, err := c.openBody(ctx, d)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it has been read, or has failed
	if size < 0 {
		size = d.apart.size
	}
	d.item.Grow(d.gen, size)
	defer func() {
		if err != nil {
			d.item.Grow(d.gen, -size)
		}
	}()
	body = make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, err
	}
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.EOF) { // only the end says that the body is as announced
		return nil, err
	}
	return body, nil
}

// handleApart is handle for a delivery whose body is in a store.
func (c *Consumer) handleApart(ctx context.Context, h Handler, d *Delivery) error {
	n := c.sizeOf(d)
	err := c.bodies.enter(ctx, n)
	if err == nil {
		defer c.bodies.leave(n)
		err = c.fetch(ctx, d)
	}
	if err == nil {
		err = recovered(ctx, h, d)
		if err == nil && !c.o.Stream && d.apart.bad == nil && d.unread() && !d.apart.opened.Load() {
			err = c.errUnread(d)
		}
	}
	d.refuse(err)
	return err
}

// refuse rejects a delivery whose body can never be read or does not fit, whatever the policy says about errors. A
// second copy of a handled message, whose body was deleted with the first, is done.
func (d *Delivery) refuse(err error) {
	var large *oversized
	switch {
	case errors.Is(err, driver.ErrFinished):
		d.choice.CompareAndSwap(nil, &choice{verdict: Verdict{Action: ActionDone}})
	case payloadFault(err) != nil || errors.As(err, &large):
		d.choice.CompareAndSwap(nil, &choice{verdict: Verdict{Action: ActionReject}, reason: err})
	}
}

// sizeOf is how many bytes the bodies of deliveries will take that are read before their handler.
func (c *Consumer) sizeOf(ds ...*Delivery) (n int64) {
	for _, d := range ds {
		if c.fetches(d) {
			n += d.apart.size
		}
	}
	return n
}

// handleBatchApart calls the handler with those of a batch whose bodies could be read. It returns the errors of the
// others, too, by their index. A delivery behind one that failed is not handled, and has no error.
func (c *Consumer) handleBatchApart(ctx context.Context, h BatchHandler, ds []*Delivery) map[int]error {
	failed := map[int]error{}
	n := c.sizeOf(ds...)
	if err := c.bodies.enter(ctx, n); err != nil {
		for i := range ds {
			failed[i] = err
		}
		return failed
	}
	defer c.bodies.leave(n)
	errs := c.fetchAll(ctx, ds)
	ready := make([]*Delivery, 0, len(ds))
	at := make([]int, 0, len(ds)) // indexes of ready in ds
	var last *Delivery            // the last delivery that failed
	for i, d := range ds {
		err := errs[i]
		if err == nil && !c.o.Stream && d.unread() && d.apart.bad == nil {
			err = c.errUnread(d)
		}
		switch {
		case d.behind(last):
			last = d
		case err != nil:
			d.refuse(err)
			failed[i], last = err, d
		default:
			ready, at = append(ready, d), append(at, i)
		}
	}
	if len(ready) == 0 {
		return failed
	}
	for i, err := range entryErrors(callBatch(ctx, h, ready), len(ready)) {
		err = readable(err)
		ds[at[i]].refuse(err)
		failed[at[i]] = err
	}
	return failed
}

// fetchAll reads several bodies, a few at a time. The errors are by the index of the delivery.
func (c *Consumer) fetchAll(ctx context.Context, ds []*Delivery) []error {
	errs := make([]error, len(ds))
	var wg sync.WaitGroup
	tokens := make(chan struct{}, fetchesAtOnce)
	for i, d := range ds {
		if !c.fetches(d) {
			continue
		}
		tokens <- struct{}{}
		wg.Go(func() {
			errs[i] = c.fetch(ctx, d)
			<-tokens
		})
	}
	wg.Wait()
	return errs
}

// fetchPulled reads the bodies for the caller of an iterator. Deliveries whose bodies cannot be read are settled as for
// a handler, and are not passed on.
func (c *Consumer) fetchPulled(ctx context.Context, ds []*Delivery) []*Delivery {
	if !slices.ContainsFunc(ds, (*Delivery).unread) {
		return ds
	}
	ready := ds[:0]
	for i, err := range c.fetchAll(ctx, ds) {
		d := ds[i]
		if err == nil {
			ready = append(ready, d)
			continue
		}
		d.choice.Store(&c.sealed)
		_ = d.item.Settle(d.gen, c.unfetched(d, err)) // if its lease is lost, another consumer has it
	}
	clear(ds[len(ready):])
	return ready
}

// unfetched is the verdict on a delivery whose body could not be read or decoded for the caller of an iterator.
func (c *Consumer) unfetched(d *Delivery, err error) engine.Verdict {
	if wait, wanted := c.busy(err); wanted {
		return engine.Verdict{Action: engine.ActionHold, After: wait}
	}
	switch {
	case errors.Is(err, driver.ErrFinished):
		return engine.Verdict{}
	case payloadFault(err) != nil:
		return engine.Verdict{Action: engine.ActionReject, Reason: err}
	}
	d.item.Failures++
	v := c.judge(d.item, err)
	v.Reason = err
	return v
}

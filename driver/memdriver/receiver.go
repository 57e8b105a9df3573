package memdriver

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
)

const (
	// defaultLease is the same as SQS's.
	defaultLease = 30 * time.Second
	// retryMax is longer than any backoff. Memory has no limit, but an unlimited wait would overflow.
	retryMax = 365 * 24 * time.Hour
)

// receiver receives from one queue. It is a driver.Extender and a driver.AttemptLog.
type receiver struct {
	b      *Backend
	q      *queue
	o      driver.ReceiverOptions
	lim    driver.ReceiveLimits
	source driver.Source
	closed bool // guarded by the backend's lock
}

func newReceiver(b *Backend, q *queue, o driver.ReceiverOptions) *receiver {
	o.Filter, o.Lease = clone(o.Filter), cmp.Or(o.Lease, q.spec.Lease, defaultLease)
	lim := driver.ReceiveLimits{
		Batch: b.o.Batch, SettleBatch: b.o.Batch, Window: cmp.Or(o.Window, o.Concurrency+b.o.Batch),
		RetryMax: retryMax, MaxReceives: q.spec.MaxReceives, Lease: o.Lease,
	}
	return &receiver{b: b, q: q, o: o, lim: lim, source: driver.Source{Name: q.spec.Channel.String()}}
}

func (r *receiver) Limits() driver.ReceiveLimits { return r.lim }

// Receive takes due messages, or waits until one is due.
func (r *receiver) Receive(ctx context.Context, ask driver.Ask, into []driver.Delivery) ([]driver.Delivery, error) {
	var refused []string
	defer func() { r.tell(refused) }()
	before, end := len(into), time.Now().Add(ask.Wait(r.o.Wait))
	for ctx.Err() == nil {
		now := time.Now()
		ds, ids, p, err := r.look(now, end, ask.Max, into)
		into, refused = ds, append(refused, ids...)
		if err != nil || len(into) > before || !end.After(now) {
			return into, err
		}
		p.wait(ctx)
	}
	return into, nil
}

// look takes due messages. If there is none, it returns how long to wait, at most until end.
func (r *receiver) look(now, end time.Time, most int, into []driver.Delivery) (
	ds []driver.Delivery, refused []string, p pause, err error,
) {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	err = r.open()
	switch {
	case err == nil && r.q.gone:
		err = missing(r.q.spec.Channel)
	case err == nil:
		err = r.q.refuses()
	}
	if err != nil {
		return into, nil, p, err
	}
	ds, refused = r.q.take(now, now.Add(r.o.Lease), min(most, r.lim.Batch), r.o.Filter, into)
	for i := len(into); i < len(ds); i++ {
		ds[i].Source = &r.source
	}
	if len(ds) == len(into) {
		p = r.q.pause(end)
	}
	return ds, refused, p, nil
}

// tell reports the messages that the filter discarded.
func (r *receiver) tell(refused []string) {
	if len(refused) > 0 && r.o.Events.Discarded != nil {
		r.o.Events.Discarded(driver.Discarded{Reason: driver.DiscardFiltered, Count: len(refused), IDs: refused})
	}
}

// Settle applies the settlements under one lock.
func (r *receiver) Settle(_ context.Context, batch []driver.Settlement) error {
	now := time.Now()
	return r.each(len(batch), func(i int) error { return r.q.settle(&batch[i], now) })
}

// Extend makes the leases last for the duration by, counted from now.
func (r *receiver) Extend(_ context.Context, hs []driver.Handle, by time.Duration) (time.Time, error) {
	now := time.Now()
	ends := now.Add(by)
	return ends, r.each(len(hs), func(i int) error { return r.q.extend(hs[i], now, ends) })
}

// Started records the number of attempts for the next delivery of the message.
func (r *receiver) Started(h driver.Handle, attempt int32) {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	if m := h.Ref.(*message); h.Seq == uint64(m.received) {
		m.attempt = attempt
	}
}

// Close ends a Receive that is running. Messages that were not settled are delivered again when their leases end.
func (r *receiver) Close(context.Context) error {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	r.closed = true
	r.q.wake()
	return nil
}

// each calls f for each of n entries under the lock, and returns the errors per entry.
func (r *receiver) each(n int, f func(i int) error) error {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	if err := r.open(); err != nil {
		return err
	}
	errs := map[int]error{}
	for i := range n {
		if err := f(i); err != nil {
			errs[i] = err
		}
	}
	if len(errs) > 0 {
		return &driver.BatchError{Errs: errs}
	}
	return nil
}

// open returns an error if the receiver or its backend is closed. The caller holds the backend's lock.
func (r *receiver) open() error {
	if !r.closed && !r.b.closed {
		return nil
	}
	return fmt.Errorf("memdriver: the receiver of %s is %w", r.q.spec.Channel, driver.ErrClosed)
}

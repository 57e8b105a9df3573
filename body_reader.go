package godwit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/internal/calls"
)

const (
	// fetchStall is how long a read may make no progress. A store that hangs must not use up the processing timeout,
	// which rejects the delivery, so a short timeout shortens it to its fetchPart.
	fetchStall = 10 * time.Second
	fetchPart  = 3
)

// fetchAgain is how long a delivery waits whose body could not be read because of its store.
var fetchAgain = backoff.Curve{First: 2 * time.Second, Max: time.Minute}

var errStalled = errors.New("the store makes no progress")

// openBody begins to read a body that is in the store.
func (c *Consumer) openBody(ctx context.Context, d *Delivery) (*bodyReader, int64, error) {
	r := &bodyReader{c: c, d: d, parent: ctx, stall: min(fetchStall, c.o.ProcessingTimeout/fetchPart)}
	ctx, r.cancel = context.WithCancelCause(ctx)
	r.dog = time.AfterFunc(r.stall, func() { r.cancel(errStalled) })
	src, size, err := d.apart.opener.Open(ctx)
	r.dog.Stop()
	if err != nil {
		err = r.explained(ctx, err)
		r.cancel(nil)
		return nil, 0, c.storeFailed(r.parent, d, err)
	}
	r.src, r.ctx = src, ctx
	return r, size, nil
}

// bodyReader reads a body, and cancels a read that makes no progress.
type bodyReader struct {
	c      *Consumer
	d      *Delivery
	src    io.ReadCloser
	parent context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	dog    *time.Timer
	stall  time.Duration
	log    *calls.Log // gets the errors of reading; nil: the caller notes them
}

// Read implements io.Reader.
func (r *bodyReader) Read(to []byte) (int, error) {
	r.dog.Reset(r.stall)
	n, err := r.src.Read(to)
	r.dog.Stop()
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	err = r.explained(r.ctx, err)
	if r.log != nil {
		r.log.Begin(calls.Store, 1)
		r.log.End(calls.Store, r.c.stalled(r.parent, err))
	}
	return n, r.c.storeFailed(r.parent, r.d, err)
}

// explained is an error of the store, or that of the watchdog which has caused it.
func (r *bodyReader) explained(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errStalled) {
		return &driver.Error{Class: driver.Transient, Err: fmt.Errorf("%w for %v: %w", errStalled, r.stall, err)}
	}
	return err
}

// Close implements io.Closer.
func (r *bodyReader) Close() error {
	r.dog.Stop()
	r.cancel(nil)
	return r.src.Close()
}

// storeFailed makes the error of a failed read.
func (c *Consumer) storeFailed(ctx context.Context, d *Delivery, err error) error {
	e := &storeError{err: err}
	if e.passing() && ctx.Err() == nil {
		e.wait = fetchAgain.Jittered(int(d.apart.tries.Add(1)))
		c.log.storeFailed(err)
	}
	return e
}

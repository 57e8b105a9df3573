package bodies

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/calls"
)

const (
	// readStall is how long a read may make no progress. A store that hangs must not use up the processing timeout,
	// which rejects the message, so a short timeout shortens it to its readPart.
	readStall = 10 * time.Second
	readPart  = 3
	// handlerPart is the part of the processing timeout that the bodies leave to the handler: a store that is slow, and
	// does make progress, must not use the timeout up either.
	handlerPart = 2
	// roomPart is the part of the processing timeout that a handler may wait for room, since it needs the rest itself.
	roomPart = 10
)

var (
	errStalled = errors.New("the store makes no progress")
	errSlow    = errors.New("the store is too slow for ConsumerOptions.ProcessingTimeout")
)

// Store reads the bodies of one consumer.
type Store struct {
	Room Room

	stall  time.Duration   // how long a read may make no progress
	all    time.Duration   // how long the bodies of one call of a handler may take together
	calls  *calls.Log      // results of calls of the store
	failed func(err error) // gets passing errors of reads
}

// NewStore returns a store for handlers with a processing timeout, whose bodies may have limit bytes at once.
func NewStore(limit int64, timeout time.Duration, log *calls.Log, failed func(err error)) *Store {
	return &Store{
		Room:  Room{limit: limit, wait: min(timeout/roomPart, readStall)},
		stall: min(readStall, timeout/readPart), all: timeout / handlerPart,
		calls: log, failed: failed,
	}
}

// Before bounds ctx for the downloads that come before a handler. Without a bound, its processing timeout would reject
// the messages although their handler has not begun.
func (s *Store) Before(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.all, errSlow)
}

// Open begins to read a body, and returns its size as the store says; negative: the store does not say. The error is an
// *Error.
func (s *Store) Open(ctx context.Context, b *Body) (r *Reader, size int64, err error) {
	s.calls.Begin(calls.Store, 1)
	r, size, err = s.open(ctx, b)
	s.calls.End(calls.Store, Stall(ctx, err))
	return r, size, err
}

func (s *Store) open(ctx context.Context, b *Body) (*Reader, int64, error) {
	r := &Reader{store: s, body: b, parent: ctx}
	ctx, r.cancel = context.WithCancelCause(ctx)
	r.dog = time.AfterFunc(s.stall, func() { r.cancel(errStalled) })
	src, size, err := b.Opener.Open(ctx)
	r.dog.Stop()
	if err != nil {
		err = r.explained(ctx, err)
		r.cancel(nil)
		return nil, 0, s.readFailed(r.parent, b, err)
	}
	r.src, r.ctx = src, ctx
	return r, size, nil
}

// Download reads a whole body into memory. grow is called with its size as soon as the store has said how large it
// really is, and with the negative size if the body cannot be read after that. The error is an *Error.
func (s *Store) Download(ctx context.Context, b *Body, grow func(by int64)) (body []byte, err error) {
	s.calls.Begin(calls.Store, 1)
	defer func() { s.calls.End(calls.Store, Stall(ctx, err)) }()
	r, size, err := s.open(ctx, b)
	if err != nil {
		return nil, err
	}
	r.quiet = true
	defer func() { _ = r.Close() }() // it has been read, or has failed
	if size < 0 {
		size = b.Size
	}
	grow(size)
	defer func() {
		if err != nil {
			grow(-size)
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

// readFailed makes the error of a failed read.
func (s *Store) readFailed(ctx context.Context, b *Body, err error) error {
	e := &Error{Err: err}
	if e.Passing() && !ended(ctx) {
		e.Wait = tryAgain.Jittered(int(b.Tries.Add(1)))
		s.failed(err)
	}
	return e
}

// Stall is what the error of a call says about the store, for the log of calls. nil: nothing, or that it works.
func Stall(ctx context.Context, err error) error {
	if !ended(ctx) {
		return calls.Stall(err)
	}
	return nil
}

// ended reports whether the caller has ended a call, and not the store's slowness.
func ended(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), errSlow)
}

// Reader reads a body, and cancels a read that makes no progress.
type Reader struct {
	store  *Store
	body   *Body
	src    io.ReadCloser
	parent context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	dog    *time.Timer
	quiet  bool // the log of calls does not get the errors of reading, because the caller notes them
}

// Read implements io.Reader.
func (r *Reader) Read(to []byte) (int, error) {
	r.dog.Reset(r.store.stall)
	n, err := r.src.Read(to)
	r.dog.Stop()
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	err = r.explained(r.ctx, err)
	if !r.quiet {
		r.store.calls.Begin(calls.Store, 1)
		r.store.calls.End(calls.Store, Stall(r.parent, err))
	}
	return n, r.store.readFailed(r.parent, r.body, err)
}

// explained is an error of the store, or that of the bound on its time which has caused it.
func (r *Reader) explained(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errStalled):
		err = fmt.Errorf("%w for %v: %w", errStalled, r.store.stall, err)
	case errors.Is(cause, errSlow):
		err = fmt.Errorf("%w: not read after %v: %w", errSlow, r.store.all, err)
	default:
		return err
	}
	return &driver.Error{Class: driver.Transient, Err: err}
}

// Close implements io.Closer.
func (r *Reader) Close() error {
	r.dog.Stop()
	r.cancel(nil)
	return r.src.Close()
}

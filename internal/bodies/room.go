package bodies

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Room bounds the bytes of bodies that handlers have, so that many handlers with large bodies do not exceed the limit
// together. One handler may exceed it.
type Room struct {
	limit int64
	wait  time.Duration // how long a handler waits for room; then its message waits, without an attempt

	mu    sync.Mutex
	used  int64
	freed chan struct{} // closed when something is freed; nil: no handler waits
}

var errNoRoom = errors.New("the bodies of running handlers use up ConsumerOptions.MaxBytes")

// Enter takes room for n bytes. Its error is an *Error.
func (r *Room) Enter(ctx context.Context, n int64) error {
	if n == 0 || r.take(n) {
		return nil
	}
	late := time.NewTimer(r.wait)
	defer late.Stop()
	for {
		freed := r.next()
		if r.take(n) {
			return nil
		}
		select {
		case <-freed:
		case <-late.C:
			return &Error{Err: &driver.Error{Class: driver.Transient, Err: errNoRoom}, Wait: tryAgain.First}
		case <-ctx.Done():
			return &Error{Err: &driver.Error{Class: driver.Transient, Err: context.Cause(ctx)}}
		}
	}
}

func (r *Room) take(n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.used > 0 && r.used+n > r.limit {
		return false
	}
	r.used += n
	return true
}

// next returns a channel that is closed when something is freed.
func (r *Room) next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.freed == nil {
		r.freed = make(chan struct{})
	}
	return r.freed
}

// Leave returns n bytes.
func (r *Room) Leave(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.used -= n; r.freed != nil {
		close(r.freed)
		r.freed = nil
	}
}

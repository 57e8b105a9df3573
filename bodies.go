package godwit

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// roomPart is the part of the processing timeout that a handler may wait for room, since it needs the rest itself.
const roomPart = 10

// bodies bounds the bytes of bodies from a store that handlers have, so that many handlers with large bodies do not
// exceed ConsumerOptions.MaxBytes together. One handler may exceed it.
type bodies struct {
	limit int64
	wait  time.Duration // how long a handler waits for room; then its delivery waits, without an attempt

	mu    sync.Mutex
	used  int64
	freed chan struct{} // closed when something is freed; nil: no handler waits
}

var errNoRoom = errors.New("the bodies of running handlers use up ConsumerOptions.MaxBytes")

// enter takes room for n bytes. Its error is a *storeError.
func (b *bodies) enter(ctx context.Context, n int64) error {
	if n == 0 || b.take(n) {
		return nil
	}
	late := time.NewTimer(b.wait)
	defer late.Stop()
	for {
		freed := b.next()
		if b.take(n) {
			return nil
		}
		select {
		case <-freed:
		case <-late.C:
			return &storeError{err: &driver.Error{Class: driver.Transient, Err: errNoRoom}, wait: fetchAgain.First}
		case <-ctx.Done():
			return &storeError{err: &driver.Error{Class: driver.Transient, Err: context.Cause(ctx)}}
		}
	}
}

func (b *bodies) take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used > 0 && b.used+n > b.limit {
		return false
	}
	b.used += n
	return true
}

// next returns a channel that is closed when something is freed.
func (b *bodies) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.freed == nil {
		b.freed = make(chan struct{})
	}
	return b.freed
}

// leave returns n bytes.
func (b *bodies) leave(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used -= n; b.freed != nil {
		close(b.freed)
		b.freed = nil
	}
}

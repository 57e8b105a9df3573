package kafka

import (
	"context"
	"sync"
	"time"
)

// wakeup ends the wait of a poll when there is something to do here. Its methods may be called from several goroutines,
// with the ledger's lock held or without.
type wakeup struct {
	mu    sync.Mutex
	woken bool
	end   context.CancelFunc // ends the wait; nil: no poll waits
	over  chan struct{}      // closed when what the poll under way brought is admitted; nil: none is under way
}

// wake ends the wait under way, or else the next one before it begins.
func (w *wakeup) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.woken = true
	if w.end != nil {
		w.end()
	}
}

// begin is called before a poll. The poll ends with the context that it returns; nil: it must not wait.
func (w *wakeup) begin(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = make(chan struct{})
	woken := w.woken
	if w.woken = false; wait <= 0 || woken {
		return nil, func() {}
	}
	ctx, w.end = context.WithTimeout(ctx, wait)
	return ctx, w.end
}

// done is called when what a poll brought is admitted.
func (w *wakeup) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = nil
	close(w.over)
	w.over = nil
}

// await ends the wait under way, and returns when what that poll brought is admitted.
func (w *wakeup) await() {
	w.wake()
	w.mu.Lock()
	over := w.over
	w.mu.Unlock()
	if over != nil {
		<-over
	}
}

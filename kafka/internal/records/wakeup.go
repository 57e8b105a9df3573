package records

import (
	"context"
	"sync"
	"time"
)

// Wakeup ends the wait of a poll when the ledger has work for it. Several goroutines may call its methods, with or
// without the ledger's lock.
type Wakeup struct {
	mu    sync.Mutex
	woken bool
	end   context.CancelFunc // ends the wait of a poll; nil: no poll waits
	over  chan struct{}      // closed when the records of the poll in flight are admitted; nil: no poll is in flight
}

// Wake ends the wait of the poll in flight, or else of the next one.
func (w *Wakeup) Wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.woken = true
	if w.end != nil {
		w.end()
	}
}

// Begin is called before a poll, which ends with the returned context; nil: the poll must not wait.
func (w *Wakeup) Begin(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
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

// Done is called when the records of a poll are admitted.
func (w *Wakeup) Done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = nil
	close(w.over)
	w.over = nil
}

// await ends the wait of the poll in flight, and returns when its records are admitted.
func (w *Wakeup) await() {
	w.Wake()
	w.mu.Lock()
	over := w.over
	w.mu.Unlock()
	if over != nil {
		<-over
	}
}

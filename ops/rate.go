package ops

import (
	"context"
	"sync"
	"time"

	"github.com/godwitmq/godwit/internal/backoff"
)

// rate spaces messages in time.
type rate struct {
	perSecond float64 // 0: no limit

	mu   sync.Mutex
	next time.Time // when the next message may be looked at
}

// take waits until messages may be looked at, and returns how many, at most most.
func (r *rate) take(ctx context.Context, most int) (int, error) {
	if r.perSecond == 0 {
		return most, ctx.Err()
	}
	n := max(1, min(most, int(r.perSecond)))
	r.mu.Lock()
	now := time.Now()
	if r.next.Before(now) {
		r.next = now
	}
	wait := r.next.Sub(now)
	r.next = r.next.Add(r.last(n))
	r.mu.Unlock()
	return n, backoff.Sleep(ctx, wait)
}

// giveBack returns what was taken and not used.
func (r *rate) giveBack(n int) {
	if r.perSecond == 0 || n <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = r.next.Add(-r.last(n))
}

// last returns how long n messages last.
func (r *rate) last(n int) time.Duration {
	return time.Duration(float64(n) / r.perSecond * float64(time.Second))
}

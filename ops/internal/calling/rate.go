package calling

import (
	"context"
	"sync"
	"time"

	"github.com/godwitmq/godwit/internal/backoff"
)

// Rate spaces messages in time. The zero Rate has no limit.
type Rate struct {
	PerSecond float64 // 0: no limit

	mu   sync.Mutex
	next time.Time // when the next message may be looked at
}

// Take waits until messages may be looked at, and returns how many, at most most.
func (r *Rate) Take(ctx context.Context, most int) (int, error) {
	if r.PerSecond == 0 {
		return most, ctx.Err()
	}
	n := max(1, min(most, int(r.PerSecond)))
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

// GiveBack returns what was taken and not used.
func (r *Rate) GiveBack(n int) {
	if r.PerSecond == 0 || n <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next = r.next.Add(-r.last(n))
}

// last returns how long n messages last.
func (r *Rate) last(n int) time.Duration {
	return time.Duration(float64(n) / r.PerSecond * float64(time.Second))
}

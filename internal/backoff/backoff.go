package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Curve doubles from First to Max.
type Curve struct{ First, Max time.Duration }

// Wait is the longest wait before try n+1, when n tries have failed. n below 1 counts as 1.
func (c Curve) Wait(n int) time.Duration {
	d := c.First
	for ; n > 1 && d > 0 && d < c.Max; n-- {
		if d > c.Max/2 {
			return c.Max // doubling it might pass the largest number there is
		}
		d *= 2
	}
	return min(d, c.Max)
}

// Jittered draws evenly between zero and Wait(n) (full jitter), but not below a tenth of it: a wait of nothing is no
// wait at all.
func (c Curve) Jittered(n int) time.Duration {
	d := c.Wait(n)
	if d <= 0 {
		return 0
	}
	return max(d/10, rand.N(d))
}

// Sleep waits for d, or until ctx ends, and then returns its error; that of one that had ended before, however short d is.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

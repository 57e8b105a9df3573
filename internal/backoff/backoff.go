package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Curve is a wait that doubles from First to Max.
type Curve struct{ First, Max time.Duration }

// Wait returns the longest wait after n failed tries. n below 1 counts as 1.
func (c Curve) Wait(n int) time.Duration {
	d := c.First
	for ; n > 1 && d > 0 && d < c.Max; n-- {
		if d > c.Max/2 {
			return c.Max // doubling it might overflow
		}
		d *= 2
	}
	return min(d, c.Max)
}

// Jittered returns a random wait, uniform between zero and Wait(n) (full jitter), but at least a tenth of Wait(n),
// because a wait of zero would not spread the tries.
func (c Curve) Jittered(n int) time.Duration {
	d := c.Wait(n)
	if d <= 0 {
		return 0
	}
	return max(d/10, rand.N(d))
}

// Sleep waits for d or until ctx ends, and then returns its error; it also returns the error if ctx had ended before.
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

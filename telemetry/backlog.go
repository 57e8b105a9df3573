package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/godwitmq/godwit"
)

const (
	// backlogEvery is how often the size of a backlog is requested, and backlogWithin bounds the request.
	backlogEvery  = 15 * time.Second
	backlogWithin = 5 * time.Second
)

// backlog is the size of a channel's backlog, as it was found last. A collection of metrics must not wait for the
// service, so it gets the last size and begins to request the next one.
type backlog struct {
	mu     sync.Mutex
	known  bool // it was found, and the latest request has not failed
	demand godwit.Demand
	asked  time.Time
	cancel context.CancelFunc // ends the request in flight; nil: there is none
	closed bool
	wait   sync.WaitGroup
}

// of returns the size of a consumer's backlog, if it is known.
func (b *backlog) of(c *godwit.Consumer) (d godwit.Demand, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); !b.closed && b.cancel == nil && now.Sub(b.asked) >= backlogEvery {
		var ctx context.Context
		ctx, b.cancel = context.WithTimeout(context.Background(), backlogWithin)
		b.asked = now
		b.wait.Go(func() { b.ask(ctx, c) })
	}
	return b.demand, b.known
}

func (b *backlog) ask(ctx context.Context, c *godwit.Consumer) {
	d, err := c.Demand(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cancel()
	b.cancel = nil
	b.demand, b.known = d, err == nil
}

// close ends the request in flight.
func (b *backlog) close() {
	b.mu.Lock()
	b.closed = true
	if b.cancel != nil {
		b.cancel()
	}
	b.mu.Unlock()
	b.wait.Wait()
}

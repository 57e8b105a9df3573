package godwit

import (
	"context"
	"fmt"
)

// Run handles messages until ctx ends, or until something says that the consumer cannot go on. It returns when
// everything it held has been finished or given back, within ShutdownTimeout, with a report of what it did. The error
// is nil after the end of ctx; else it says why the consumer stopped. While the service is away Run waits for it, at its
// start as later, and [Consumer.Health] says so. A consumer runs once.
func (c *Consumer) Run(ctx context.Context, h Handler) (Report, error) {
	return c.runAlone(ctx, c.With(h))
}

func (c *Consumer) runAlone(ctx context.Context, a Assignment) (Report, error) {
	o := FleetOptions{Concurrency: c.concurrency(), MaxBytes: c.o.MaxBytes, alone: true}
	reports, err := runFleet(ctx, &o, []Assignment{a})
	if len(reports) == 0 {
		return Report{}, err
	}
	return reports[0], err
}

// claim lets a consumer live once.
func (c *Consumer) claim() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if st, _ := c.state.now(); c.claimed || st != StateInitialized {
		return &Error{Op: "run", Channel: c.name, Err: fmt.Errorf("%w: a consumer lives once, and this one is %v", ErrClosed, st)}
	}
	c.claimed = true
	return nil
}

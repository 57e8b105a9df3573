package godwit

import (
	"context"
	"fmt"
)

// Run handles messages until ctx ends, or until the consumer cannot continue. It returns when all deliveries are
// settled or released, within ShutdownTimeout, with a report. After the end of ctx the error is nil; otherwise it says
// why the consumer stopped. If the service does not answer, at the start or later, Run waits for it, and
// [Consumer.Health] reports it. A consumer runs once.
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

// claim allows a consumer to run once.
func (c *Consumer) claim() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if st, _ := c.state.now(); c.claimed || st != StateInitialized {
		return &Error{
			Op: "run", Channel: c.name,
			Err: fmt.Errorf("%w: a consumer runs once, and this one is %v: create another one", ErrClosed, st),
		}
	}
	c.claimed = true
	return nil
}

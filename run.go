package godwit

import (
	"context"
	"fmt"

	"github.com/godwitmq/godwit/driver"
)

// Run handles messages until ctx ends, or until something says that the consumer cannot go on. It returns when
// everything it held has been finished or given back, within ShutdownTimeout, with a report of what it did. The error
// is nil after the end of ctx; else it says why the consumer stopped. A consumer runs once.
func (c *Consumer) Run(ctx context.Context, h Handler) (Report, error) {
	o := FleetOptions{Concurrency: c.concurrency(), MaxBytes: c.o.MaxBytes, alone: true}
	reports, err := runFleet(ctx, &o, []Assignment{c.With(h)})
	if len(reports) == 0 {
		return Report{}, err
	}
	return reports[0], err
}

// claim lets a consumer live once.
func (c *Consumer) claim() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if st, _ := c.state.now(); c.claimed || st != Initialized {
		return &Error{Op: "run", Channel: c.name, Err: fmt.Errorf("%w: a consumer lives once, and this one is %v", ErrClosed, st)}
	}
	c.claimed = true
	return nil
}

// revoked is called by the backend before it lets go of sources: nothing more of them is started, and it returns when
// what was started is settled.
func (s *session) revoked(ctx context.Context, keys []*driver.Source) {
	for _, src := range s.sources.forget(keys) {
		src.kill()
		select {
		case <-src.quiet:
		case <-ctx.Done():
		}
	}
}

// lostSources is called by the backend when sources are someone else's already.
func (s *session) lostSources(keys []*driver.Source, err error) {
	gone := s.sources.forget(keys)
	for _, src := range gone {
		src.kill()
	}
	for _, d := range s.keeper.remaining() {
		for _, src := range gone {
			if d.src == src {
				s.leaseLost(d)
			}
		}
	}
	s.c.log.Warn("partitions were lost", "error", err)
}

package godwit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
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
	if st, _ := c.state.now(); c.claimed || st != Initialized {
		return &Error{Op: "run", Channel: c.name, Err: fmt.Errorf("%w: a consumer lives once, and this one is %v", ErrClosed, st)}
	}
	c.claimed = true
	return nil
}

// revokedHandlers is the part of a revocation's time that handlers have to finish in; then they are cancelled.
const revokedHandlers = 0.8

// revoked is called by the backend before it lets go of sources: nothing more of them is started, and it returns when
// what was started is settled.
func (s *session) revoked(ctx context.Context, keys []*driver.Source) {
	gone := s.retire(keys)
	if end, limited := ctx.Deadline(); limited {
		patience := time.Duration(revokedHandlers * float64(time.Until(end)))
		defer time.AfterFunc(patience, func() { s.interrupt(gone, ErrRevoked) }).Stop()
	}
	for _, src := range gone {
		select {
		case <-src.quiet:
		case <-ctx.Done():
			return
		}
	}
}

// retire lets nothing more of sources start, and frees what is held of them.
func (s *session) retire(keys []*driver.Source) []*source {
	gone := s.sources.forget(keys)
	for _, src := range gone {
		src.kill()
		s.dropHeld(src)
	}
	return gone
}

// interrupt cancels the running handlers of sources.
func (s *session) interrupt(of []*source, cause error) {
	for _, d := range s.keeper.remaining() {
		if slices.Contains(of, d.src) {
			s.keeper.interrupt(d, cause)
		}
	}
}

// lostSources is called by the backend when sources are someone else's already.
func (s *session) lostSources(keys []*driver.Source, err error) {
	gone := s.retire(keys)
	for _, d := range s.keeper.remaining() {
		if slices.Contains(gone, d.src) {
			s.leaseLost(d)
		}
	}
	s.c.log.Warn("partitions were lost", "error", err)
}

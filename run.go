package godwit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Run handles messages until ctx ends, or until something says that the consumer cannot go on. It returns when
// everything it held has been finished or given back, within ShutdownTimeout, with a report of what it did. The error
// is nil after the end of ctx; else it says why the consumer stopped. A consumer runs once.
func (c *Consumer) Run(ctx context.Context, h Handler) (Report, error) {
	if h == nil {
		return Report{}, invalid("handler", "nil", "Run needs a handler; to settle yourself, range over Deliveries")
	}
	if err := c.claim(); err != nil {
		return Report{}, err
	}
	begun := time.Now()
	b := newBus()
	p := &pool{bus: b}
	s, err := c.begin(ctx, b, &budget{limit: c.o.MaxBytes}, p, h)
	if err != nil {
		c.state.to(Exiting)
		c.state.to(Exited)
		return Report{}, err
	}
	p.start(c.o.Concurrency)
	polls := s.poll()
	<-s.polls.Done()
	stopped := s.shutdown(polls)
	b.close()
	p.wg.Wait()
	s.halt(nil)

	r := s.count.report()
	r.Took = time.Since(begun)
	s.observe(func() {
		if f := c.o.Hooks.Shutdown; f != nil {
			f(r)
		}
	})
	c.state.to(Exited)
	return r, errors.Join(s.fatal(), stopped)
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

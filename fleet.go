package godwit

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/godwitmq/godwit/internal/engine"
)

// defaultFleetConcurrency is the pool's size for each consumer, unless one is given.
const defaultFleetConcurrency = 10

// FleetOptions say how consumers share one pool of workers. The zero value is good for most.
type FleetOptions struct {
	// Concurrency is how many handlers run at once, of all consumers together; 0: 10 for each consumer. Set it to what
	// the process can do; the Concurrency of each consumer is that consumer's share at most.
	Concurrency int
	// MaxBytes bounds the bodies that all consumers together hold; 0: 64 MiB. Lower it when memory is short and
	// messages are large.
	MaxBytes int64
	// Middleware runs around every consumer's own; the first is outermost. Set it for what the handlers of all
	// consumers need.
	Middleware []Middleware
	// StopTogether stops all consumers when one of them cannot continue; by default the others continue. Set it when a
	// process with a part of its consumers is of no use, or when it is restarted as a whole.
	StopTogether bool

	alone bool // a fleet of one, made by Run
}

// Assignment is a consumer with its handler, as a fleet runs it. It is a value: its methods return changed copies.
type Assignment struct {
	consumer *Consumer
	handler  Handler   // of single deliveries,
	batching *batching // or of batches
	weight   int
	priority int
}

// With assigns a handler to the consumer, for [RunAll].
func (c *Consumer) With(h Handler) Assignment { return Assignment{consumer: c, handler: h, weight: 1} }

// Weight is how many deliveries of the channel are started in one turn, while others wait for theirs; 1 unless set.
func (a Assignment) Weight(n int) Assignment {
	a.weight = n
	return a
}

// Priority is strict: while a channel of a higher one has something to do and a handler to spare, lower ones wait. 0
// unless set.
func (a Assignment) Priority(n int) Assignment {
	a.priority = n
	return a
}

// RunAll runs consumers over one pool of workers until ctx ends. Each has a fetcher and places of its own, and workers
// take from them in turn, so that a flooded channel does not starve a quiet one; a consumer's Concurrency is its cap,
// the fleet's is the pool. It returns when all of them have ended, with the errors of those that could not go on. A
// consumer whose service is away waits for it, and the others begin without it; one that cannot begin ends them all.
func RunAll(ctx context.Context, o *FleetOptions, as ...Assignment) error {
	var opts FleetOptions
	if o != nil {
		opts = *o
	}
	setDefault(&opts.Concurrency, min(defaultFleetConcurrency*len(as), maxConcurrency))
	setDefault(&opts.MaxBytes, defaultMaxBytes)
	if err := errors.Join(
		eachSet("FleetOptions.Middleware", opts.Middleware),
		within("FleetOptions.Concurrency", opts.Concurrency, 1, maxConcurrency),
		within("FleetOptions.MaxBytes", opts.MaxBytes, 1, 1<<40),
	); err != nil {
		return err
	}
	_, err := runFleet(ctx, &opts, as)
	return err
}

// runFleet is RunAll with options that are complete; it reports in the order of the assignments.
func runFleet(ctx context.Context, o *FleetOptions, as []Assignment) ([]Report, error) {
	if err := checkFleet(o, as); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	f := engine.NewFleet(o.Concurrency, o.MaxBytes, o.alone)
	reports, errs := make([]Report, len(as)), make([]error, len(as))
	var all sync.WaitGroup
	for i, a := range as {
		all.Go(func() { // each begins by itself: one whose service is away does not hold the others up
			s, err := a.begin(ctx, o, f)
			switch {
			case errors.Is(err, engine.ErrStopped):
				return
			case err != nil:
				errs[i] = err
				stop(err)
				return
			case o.alone:
				f.Resize(a.consumer.concurrency()) // which may have been changed since
			}
			reports[i], errs[i] = a.consumer.live(s, func(err error) {
				if o.StopTogether {
					stop(err)
				}
			})
		})
	}
	all.Wait()
	f.Close()
	return reports, errors.Join(errs...)
}

// checkFleet refuses what cannot run, and then claims every consumer, so that it runs only here.
func checkFleet(o *FleetOptions, as []Assignment) error {
	if len(as) == 0 {
		return invalid("assignments", "empty", "a fleet needs a consumer: RunAll(ctx, nil, consumer.With(handler))")
	}
	for i, a := range as {
		switch {
		case a.consumer == nil:
			return invalid("assignment", i, "it has no consumer: make it with Consumer.With")
		case a.batching != nil && a.batching.handler != nil:
			if err := a.batching.check(a.consumer.name); err != nil {
				return err
			}
			if n := len(o.Middleware) + len(a.consumer.o.Middleware); n > 0 {
				return invalid("Middleware of "+a.consumer.name, n, "it wraps handlers of single deliveries; for batches there is BatchOptions.Middleware")
			}
		case a.handler == nil:
			return invalid("handler of "+a.consumer.name, "nil", "to settle yourself, range over Deliveries")
		}
		if a.weight < 1 {
			return invalid("Assignment.Weight of "+a.consumer.name, a.weight, "it must be at least 1")
		}
		if slices.ContainsFunc(as[:i], func(b Assignment) bool { return b.consumer == a.consumer }) {
			return invalid("assignment", i, a.consumer.name+" is there twice, as one consumer")
		}
	}
	for _, a := range as {
		if err := a.consumer.claim(); err != nil {
			return err
		}
	}
	return nil
}

func (a Assignment) begin(ctx context.Context, o *FleetOptions, f *engine.Fleet) (*engine.Session, error) {
	c, h := a.consumer, a.handler
	if h != nil {
		h = wrap(h, slices.Concat(o.Middleware, c.o.Middleware))
	}
	cfg := c.config(h, a.batching)
	cfg.Weight, cfg.Priority = a.weight, a.priority
	return c.begin(ctx, f, cfg)
}

// live runs a session that has begun, until it is over. Why it cannot go on is told as soon as that is known.
func (c *Consumer) live(s *engine.Session, failed func(err error)) (Report, error) {
	s.Poll()
	<-s.Done()
	if err := s.Fatal(); err != nil {
		failed(err)
	}
	r, err := c.end(s)
	if f := c.o.Hooks.Shutdown; f != nil {
		c.guard(func() { f(r) })
	}
	c.state.to(StateExited)
	return r, err
}

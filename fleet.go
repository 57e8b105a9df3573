package godwit

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/godwitmq/godwit/internal/engine"
)

// defaultFleetConcurrency is the default of FleetOptions.Concurrency for each consumer.
const defaultFleetConcurrency = 10

// FleetOptions configure consumers that share a pool of workers. The zero value is good for most fleets.
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

	alone bool // a fleet with one consumer, made by Run
}

// Assignment is a consumer with its handler, for a fleet. It is a value: its methods return changed copies.
type Assignment struct {
	consumer *Consumer
	handler  Handler   // for single deliveries,
	batching *batching // or for batches
	weight   int
	priority int

	transform *transformation // whose messages are in transactions; nil: of none
}

// Weight is how many deliveries of the consumer start in one turn, while deliveries of other consumers wait; the
// default is 1.
func (a Assignment) Weight(n int) Assignment {
	a.weight = n
	return a
}

// Priority makes other consumers wait. While a consumer with a higher priority has deliveries that can start, those of
// lower priorities do not start. The default is 0.
func (a Assignment) Priority(n int) Assignment {
	a.priority = n
	return a
}

// RunAll runs consumers with one pool of workers until ctx ends. Each consumer polls by itself and has its own places.
// The workers take deliveries from the consumers in turn, so that a flooded channel does not delay a quiet one. A
// consumer's Concurrency is its limit, and the fleet's is the size of the pool. RunAll returns when all consumers have
// ended, with the errors of those that could not continue. If a consumer's service does not answer, the consumer waits
// for it, and the others begin meanwhile. If a consumer cannot begin for another reason, all end.
func RunAll(ctx context.Context, o *FleetOptions, as ...Assignment) error {
	opts := *cmp.Or(o, &FleetOptions{})
	if len(as) == 0 { // else its default would be reported as wrong
		return checkFleet(&opts, as)
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

// runFleet is RunAll with complete options. The reports are in the order of the assignments.
func runFleet(ctx context.Context, o *FleetOptions, as []Assignment) ([]Report, error) {
	if err := errors.Join(checkContext(ctx), checkFleet(o, as)); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	f := engine.NewFleet(o.Concurrency, o.MaxBytes, o.alone)
	reports, errs := make([]Report, len(as)), make([]error, len(as))
	var all sync.WaitGroup
	for i, a := range as {
		all.Go(func() { // each consumer begins by itself, so that none waits for another one's service
			s, err := a.begin(ctx, o, f)
			switch {
			case errors.Is(err, engine.ErrStopped):
				return
			case err != nil:
				errs[i] = err
				stop(err)
				return
			case o.alone:
				f.Resize(a.consumer.life.handlers()) // it may have been changed since
			}
			reports[i], errs[i] = a.consumer.life.pass(s, func(err error) {
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

// checkFleet checks the options and assignments, and then claims every consumer, so that it runs only once.
func checkFleet(o *FleetOptions, as []Assignment) error {
	if len(as) == 0 {
		return invalid("assignments", "empty",
			"a fleet needs at least one consumer: RunAll(ctx, nil, consumer.With(handler))")
	}
	for i, a := range as {
		switch {
		case a.consumer == nil:
			return invalid("assignment", i, "it has no consumer: create it with Consumer.With")
		case a.batching != nil && a.batching.handler != nil:
			if err := a.batching.check(a.consumer.name); err != nil {
				return err
			}
			if n := len(o.Middleware) + len(a.consumer.o.Middleware); n > 0 {
				return invalid("Middleware of "+a.consumer.name, n,
					"it is for handlers of single deliveries: use BatchOptions.Middleware for batches")
			}
		case a.handler == nil:
			return invalid("handler of "+a.consumer.name, "nil",
				"a consumer needs a handler: to settle deliveries yourself, range over Deliveries")
		}
		if a.weight < 1 {
			return invalid("Assignment.Weight of "+a.consumer.name, a.weight, "it must be at least 1")
		}
		if slices.ContainsFunc(as[:i], func(b Assignment) bool { return b.consumer == a.consumer }) {
			return invalid("assignment", i, a.consumer.name+" is assigned twice: create a second consumer")
		}
	}
	for _, a := range as {
		if err := a.consumer.life.claim(); err != nil {
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
	if a.transform != nil {
		h = a.transform.around(h)
	}
	cfg := c.handling.config(c.backend, h, a.batching)
	cfg.Weight, cfg.Priority = a.weight, a.priority
	if a.transform != nil {
		cfg.Open = a.transform.open
	}
	return c.life.begin(ctx, f, cfg)
}

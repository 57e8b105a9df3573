package godwit

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/godwitmq/godwit/internal/engine"
)

// puller is a session with an iterator instead of a handler. The caller settles its deliveries.
type puller struct {
	h        *handling
	s        *engine.Session
	failures failures
	left     sync.Once
	closing  sync.Once
	reported sync.Once
	closed   chan struct{} // closed by Close
	reminded chan struct{} // closed when the reminder of Close is over
	ended    chan struct{} // closed when all deliveries are released and all settlements are sent
	err      error         // of the session's end; read it after ended is closed
}

// failures are settle errors that the caller has not seen yet.
type failures struct {
	mu   sync.Mutex
	errs []error
}

// maxFailures bounds the errors; if all settlements fail, the first errors are enough.
const maxFailures = 100

func (f *failures) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.errs) < maxFailures {
		f.errs = append(f.errs, err)
	}
}

func (f *failures) some() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.errs) > 0
}

func (f *failures) take() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	errs := f.errs
	f.errs = nil
	return errors.Join(errs...)
}

// Deliveries iterates over the messages until ctx ends. The caller settles each delivery with one of its methods. A
// delivery that is neither settled nor kept ([Delivery.Keep]) when the loop continues is released. If a settlement
// fails, a later step of the loop has its error, with a nil delivery. When the loop ends in any way, deliveries that
// were received and not passed to it are released at once; [Consumer.Close] waits for that. Leases are renewed while
// the loop works. There is no processing timeout.
func (c *Consumer) Deliveries(ctx context.Context) iter.Seq2[*Delivery, error] {
	return func(yield func(*Delivery, error) bool) {
		for ds, err := range c.batches(ctx, 1) {
			var d *Delivery
			if len(ds) > 0 {
				d = ds[0]
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// Batches is [Consumer.Deliveries] with all deliveries that are available, at most as many as one receive returns. A
// batch has at most one delivery of each lane.
func (c *Consumer) Batches(ctx context.Context) iter.Seq2[[]*Delivery, error] {
	return c.batches(ctx, 0)
}

func (c *Consumer) batches(ctx context.Context, most int) iter.Seq2[[]*Delivery, error] {
	return func(yield func([]*Delivery, error) bool) {
		p, err := c.pull(ctx)
		if err != nil {
			if !errors.Is(err, engine.ErrStopped) {
				yield(nil, err)
			}
			return
		}
		if most == 0 {
			most = p.s.MostAtOnce()
		}
		defer p.leave()
		defer p.s.WakeWhenDone()()
		for {
			ds := p.h.fetched(ctx, p.next(most))
			if err := p.failures.take(); err != nil && !yield(nil, err) {
				p.release(ds)
				return
			}
			if len(ds) == 0 {
				if !p.over() {
					continue
				}
				if err := p.s.Fatal(); err != nil {
					yield(nil, err)
				}
				return
			}
			if !p.hand(ds, yield) {
				return
			}
		}
	}
}

// pull starts a session without workers.
func (c *Consumer) pull(ctx context.Context) (*puller, error) {
	if err := checkContext(ctx); err != nil {
		return nil, err
	}
	if err := c.life.claim(); err != nil {
		return nil, err
	}
	p := &puller{h: &c.handling, ended: make(chan struct{}), closed: make(chan struct{}), reminded: make(chan struct{})}
	cfg := c.handling.config(c.backend, nil, nil)
	s, err := c.life.begin(ctx, engine.NewFleet(0, c.o.MaxBytes, true), cfg)
	if err != nil {
		return nil, err
	}
	p.s = s
	c.life.change(func(l *lifetime) { l.puller = p })
	s.Poll()
	return p, nil
}

// failed adds a settle error for the caller.
func (p *puller) failed(err error) {
	p.failures.add(err)
	p.s.Wake()
}

// over reports whether the session has stopped polling.
func (p *puller) over() bool {
	select {
	case <-p.s.Done():
		return true
	default:
		return false
	}
}

// next returns deliveries that can start, at most so many. It waits for the first one, for an error, or for the end.
func (p *puller) next(most int) []*Delivery {
	its := p.s.Next(most, p.failures.some)
	ds := make([]*Delivery, len(its))
	for i, it := range its {
		ds[i] = delivery(it.Owner)
	}
	return ds
}

// hand calls the loop's body with deliveries. It releases those that the body leaves unsettled, also if the body
// panics.
func (p *puller) hand(ds []*Delivery, yield func([]*Delivery, error) bool) bool {
	defer func() {
		for _, d := range ds {
			if !d.kept.Load() && d.choice.CompareAndSwap(nil, &p.h.sealed) && d.item.TakeBack(d.gen) {
				call1(p.h.life.fault, p.h.o.Hooks.Unsettled, d)
			}
		}
	}()
	return yield(ds, nil)
}

func (p *puller) release(ds []*Delivery) {
	for _, d := range ds {
		_ = d.Release() // it is already settled, or lost
	}
}

// leave ends the iteration: deliveries that the loop has not seen are released at once, and the shutdown continues in
// the background.
func (p *puller) leave() {
	p.left.Do(func() {
		p.s.Stop(ErrClosed)
		go func() {
			_, p.err = p.h.life.end(p.s)
			p.h.life.state.to(StateExited)
			close(p.ended)
			p.remind()
			close(p.reminded)
		}()
	})
}

// remind calls a hook if the consumer is not closed: the process may then end before all deliveries are released.
func (p *puller) remind() {
	t := time.NewTimer(p.h.o.ShutdownTimeout)
	defer t.Stop()
	select {
	case <-p.closed:
	case <-t.C:
		call0(p.h.life.fault, p.h.o.Hooks.Unclosed)
	}
}

// Close ends an iteration. It waits until the open poll has ended and its deliveries are released, until kept
// deliveries are settled, and until all settlements are sent, within ShutdownTimeout and ctx. It returns the report,
// and the settle errors that the loop has not seen. Close also closes a consumer that has not run, or that waits for
// its service to begin.
func (c *Consumer) Close(ctx context.Context) (Report, error) {
	if err := checkContext(ctx); err != nil {
		return Report{}, err
	}
	var p *puller
	var giveUp func(error)
	c.life.change(func(l *lifetime) { p, giveUp = l.puller, l.giveUp })
	if p == nil {
		if giveUp != nil {
			giveUp(ErrClosed)
		}
		c.life.exit()
		return Report{}, nil
	}
	p.closing.Do(func() { close(p.closed) })
	p.leave()
	select {
	case <-p.ended:
	case <-ctx.Done():
		return Report{}, &Error{Op: "close", Channel: c.name, Err: context.Cause(ctx)}
	}
	<-p.reminded
	r := Report(p.s.Counts())
	p.reported.Do(func() { call1(c.life.fault, c.o.Hooks.Shutdown, r) })
	return r, errors.Join(p.failures.take(), p.err)
}

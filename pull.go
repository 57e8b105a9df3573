package godwit

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/godwitmq/godwit/internal/engine"
)

// puller is a session whose deliveries an iterator hands out. Its caller settles them.
type puller struct {
	c        *Consumer
	s        *engine.Session
	failures failures
	left     sync.Once
	closing  sync.Once
	reported sync.Once
	closed   chan struct{} // closed by Close
	reminded chan struct{} // closed when nobody need be reminded of Close any more
	ended    chan struct{} // closed when everything is given back and flushed
	err      error         // of the end; read after ended
}

// failures are the settle errors that the caller has not seen yet.
type failures struct {
	mu   sync.Mutex
	errs []error
}

// maxFailures bounds them: of a service that takes nothing any more, the first are enough.
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

// Deliveries iterates over what comes, until ctx ends; the caller settles each delivery by one of its methods. A delivery
// that is neither settled nor kept ([Delivery.Keep]) when the loop goes on is given back. A settle that the service
// does not take is the error of a later step, with a nil delivery. However the loop is left, what was prefetched is given back at
// once; [Consumer.Close] then waits for that. Leases are kept while the loop works; there is no processing timeout.
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

// Batches is [Consumer.Deliveries] with what is there at once, at most as many as a receive returns. Of one lane there
// is only one in a batch.
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
			ds := p.next(most)
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
	if err := c.claim(); err != nil {
		return nil, err
	}
	p := &puller{c: c, ended: make(chan struct{}), closed: make(chan struct{}), reminded: make(chan struct{})}
	s, err := c.begin(ctx, engine.NewFleet(0, c.o.MaxBytes, true), c.config(nil, nil))
	if err != nil {
		return nil, err
	}
	p.s = s
	c.mu.Lock()
	c.puller = p
	c.mu.Unlock()
	s.Poll()
	return p, nil
}

// failed takes in a settle error that the caller is to see.
func (p *puller) failed(err error) {
	p.failures.add(err)
	p.s.Wake()
}

// over says whether the session polls no more.
func (p *puller) over() bool {
	select {
	case <-p.s.Done():
		return true
	default:
		return false
	}
}

// next takes what is runnable, at most so many; it waits for the first, for a failure, or for the end.
func (p *puller) next(most int) []*Delivery {
	its := p.s.Next(most, p.failures.some)
	ds := make([]*Delivery, len(its))
	for i, it := range its {
		ds[i] = delivery(it.Owner)
	}
	return ds
}

// hand gives deliveries to the loop's body, and takes back what it leaves unsettled, also when it panics.
func (p *puller) hand(ds []*Delivery, yield func([]*Delivery, error) bool) bool {
	defer func() {
		for _, d := range ds {
			if !d.kept.Load() && d.choice.CompareAndSwap(nil, &p.c.sealed) && d.item.TakeBack(d.gen) {
				p.unsettled(d)
			}
		}
	}()
	return yield(ds, nil)
}

// unsettled tells that the loop's body has left a delivery unsettled.
func (p *puller) unsettled(d *Delivery) {
	if f := p.c.o.Hooks.Unsettled; f != nil {
		p.c.guard(func() { f(d) })
	}
}

func (p *puller) release(ds []*Delivery) {
	for _, d := range ds {
		_ = d.Release() // settled already, or lost
	}
}

// leave ends the iteration: prefetched deliveries go back at once, and the rest of a shutdown follows by itself.
func (p *puller) leave() {
	p.left.Do(func() {
		p.s.Stop(ErrClosed)
		go func() {
			_, p.err = p.c.end(p.s)
			p.c.state.to(StateExited)
			close(p.ended)
			p.remind()
			close(p.reminded)
		}()
	})
}

// remind tells a hook when nobody closes the consumer: the process may then end before everything is given back.
func (p *puller) remind() {
	t := time.NewTimer(p.c.o.ShutdownTimeout)
	defer t.Stop()
	select {
	case <-p.closed:
	case <-t.C:
		if f := p.c.o.Hooks.Unclosed; f != nil {
			p.c.guard(f)
		}
	}
}

// Close ends an iteration that is still on, waits until the open poll has ended and what it brought is given back, until
// kept deliveries are settled, and until every verdict is with the service, within ShutdownTimeout and ctx. It returns
// what the consumer did and the settle errors not seen yet. A consumer that never ran, or that waits for its service to
// begin, is closed as well.
func (c *Consumer) Close(ctx context.Context) (Report, error) {
	c.mu.Lock()
	p, giveUp := c.puller, c.giveUp
	c.mu.Unlock()
	if p == nil {
		if giveUp != nil {
			giveUp(ErrClosed)
		}
		if c.state.to(StateExiting) {
			c.state.to(StateExited)
		}
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
	r := reportOf(p.s)
	p.reported.Do(func() {
		if f := c.o.Hooks.Shutdown; f != nil {
			c.guard(func() { f(r) })
		}
	})
	return r, errors.Join(p.failures.take(), p.err)
}

package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/godwitmq/godwit"
)

// PoolOptions are the options of a Pool; all but Log are required.
type PoolOptions struct {
	Command Command
	Workers int
	Channel string
	Timeout time.Duration // the consumer's ProcessingTimeout
	// Ordered is that of the consumer: a message whose time is over then keeps its lane until its process has ended, so
	// that the next one of its key does not run beside it.
	Ordered bool
	Backoff godwit.Backoff // after an answer of retry without a delay
	Output  *Lines         // what workers write to their standard error
	Log     *slog.Logger   // nil: slog.Default()
	// Resize is told how many messages Handle takes at once when that changes. At first it takes as many as there are
	// workers; more wait for workers that permit it, while answers come fast. nil: it does not change.
	Resize func(handlers int)
}

// Pool handles messages with processes that live as long as it does. A worker handles one message at a time.
type Pool struct {
	o       PoolOptions
	turns   *turns
	window  *window
	workers []*member
	leaving sync.WaitGroup // of processes and their readers
}

// NewPool starts the workers. It fails if one of them does not say that it speaks the protocol.
func NewPool(ctx context.Context, o PoolOptions) (*Pool, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	p := &Pool{o: o, turns: newTurns(o.Workers)}
	p.window = &window{most: 1, size: 1, begin: beginWithin, change: func(n int) {
		p.turns.widen(n)
		o.Resize(n * o.Workers)
	}}
	errs := make([]error, o.Workers)
	var started sync.WaitGroup
	for i := range o.Workers {
		m := &member{o: &p.o, window: p.window, leaving: &p.leaving, number: i + 1}
		p.workers = append(p.workers, m)
		started.Go(func() { errs[i] = m.start(ctx) })
	}
	started.Wait()
	for _, err := range errs {
		if err != nil { // all of them run the same command: one error is enough
			return nil, errors.Join(err, p.Close())
		}
	}
	if o.Resize != nil && !slices.ContainsFunc(p.workers, func(m *member) bool { return !m.l.ahead }) {
		p.window.most = mostAhead
	}
	return p, nil
}

// Handle gives a message to a worker, and does what it answers.
func (p *Pool) Handle(ctx context.Context, d *godwit.Delivery) error {
	body, err := wholeBody(ctx, d)
	if err != nil {
		return err
	}
	for alone := false; ; alone = true {
		s, err := p.turns.take(ctx, keyOf(d), alone)
		if err != nil {
			return err
		}
		a, gone, err := p.workers[s.worker].ask(ctx, d, body, s.first)
		p.turns.give(s)
		if gone != nil && p.o.Ordered {
			<-gone
		}
		switch {
		case err == nil:
			return a.settle(d, p.o.Backoff)
		case !errors.Is(err, errNotBegun):
			return err
		case ctx.Err() != nil: // its time was over before a worker had it
			return d.Release()
		}
	}
}

// Close ends the workers, when no Handle runs any more: their standard input ends, and what is left after five seconds
// is killed.
func (p *Pool) Close() error {
	var ended sync.WaitGroup
	for _, m := range p.workers {
		ended.Go(m.stop)
	}
	ended.Wait()
	p.leaving.Wait()
	return nil
}

// bodyBytes is the largest body that is held in memory.
const bodyBytes = 16 << 20

func wholeBody(ctx context.Context, d *godwit.Delivery) ([]byte, error) {
	if d.Body != nil {
		return d.Body, nil
	}
	r, err := d.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	body, err := io.ReadAll(io.LimitReader(r, bodyBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the body: %w", err)
	case len(body) > bodyBytes:
		return nil, godwit.Permanent(fmt.Errorf("the body has more than %d MiB: use --exec, whose process reads it piece "+
			"by piece", bodyBytes>>20))
	}
	return body, nil
}

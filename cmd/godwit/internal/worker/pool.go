package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
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
}

// Pool handles messages with processes that live as long as it does. A worker has one message at a time.
type Pool struct {
	o       PoolOptions
	turns   *turns
	workers []*member
	leaving sync.WaitGroup // processes that are being ended while another one has their place
}

// NewPool starts the workers. It fails if one of them does not say that it speaks the protocol.
func NewPool(ctx context.Context, o PoolOptions) (*Pool, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	p := &Pool{o: o, turns: newTurns(o.Workers)}
	errs := make([]error, o.Workers)
	var started sync.WaitGroup
	for i := range o.Workers {
		m := &member{o: &p.o, leaving: &p.leaving, number: i + 1}
		p.workers = append(p.workers, m)
		started.Go(func() { errs[i] = m.start(ctx) })
	}
	started.Wait()
	for _, err := range errs {
		if err != nil { // all of them run the same command: one error is enough
			return nil, errors.Join(err, p.Close())
		}
	}
	return p, nil
}

// Handle gives a message to a worker, and does what it answers.
func (p *Pool) Handle(ctx context.Context, d *godwit.Delivery) error {
	body, err := wholeBody(ctx, d)
	if err != nil {
		return err
	}
	n, err := p.turns.take(ctx, keyOf(d))
	if err != nil {
		return err
	}
	a, gone, err := p.workers[n].ask(ctx, d, body)
	p.turns.give(n)
	if gone != nil && p.o.Ordered {
		<-gone
	}
	if err != nil {
		return err
	}
	return a.settle(d, p.o.Backoff)
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

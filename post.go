package godwit

import (
	"context"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/calls"
)

// landed sets the outcome of a message that was sent without a batch, unless it was given up before.
func (p *Producer) landed(out *outgoing, err error) {
	if p.pending.Take(out) {
		out.answered(p.outcome(out, err))
	}
}

// unanswered gives up messages that a backend which batches by itself has not answered in time. It may still send them.
func (p *Producer) unanswered(outs []*outgoing) {
	for _, out := range outs {
		out.answered(p.outcome(out, ErrUnanswered))
	}
}

// post passes messages to a backend that batches by itself. A message whose channel was deleted is sent once more after
// the channel was created again.
func (p *Producer) post(ctx context.Context, outs []*outgoing) {
	if wait, ok := p.circuit.Allow(time.Now()); !ok {
		for _, out := range outs {
			p.landed(out, &driver.Error{Class: driver.Transient, Err: ErrCircuitOpen, After: wait})
		}
		return
	}
	wire := make([]driver.Prepared, len(outs))
	for i, out := range outs {
		wire[i] = out.Prepared
	}
	began := time.Now()
	p.calls.Begin(calls.Send, len(wire))
	p.poster.Post(ctx, wire, func(i int, err error) {
		p.calls.End(calls.Send, calls.Stall(err))
		if p.o.Hooks.Sent != nil {
			p.sent(wire[i:i+1], tracesOf(outs[i:i+1]), began, err)
		}
		if driver.ClassOf(err) == driver.NotFound {
			go func() { p.landed(outs[i], p.send(ctx, outs[i:i+1])) }()
			return
		}
		p.answered(err, err == nil || !driver.ClassOf(err).Passing())
		p.landed(outs[i], err)
	})
}

// postContexts are the contexts of messages that are handed to a backend which batches by itself. The messages of one
// second share a context, because one for each message would cost as much as the rest of its send.
type postContexts struct {
	life context.Context // ends when the producer is closed
	end  context.CancelFunc

	mu   sync.Mutex
	ctx  context.Context
	over time.Time // when ctx ends
}

func newPostContexts() *postContexts {
	life, end := context.WithCancel(context.Background())
	return &postContexts{life: life, end: end}
}

// until returns a context that ends at a time, or up to a second later.
func (c *postContexts) until(t, now time.Time) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil || t.After(c.over) || c.over.Sub(t) > time.Second {
		c.over = t.Add(time.Second)
		ctx, cancel := context.WithTimeout(c.life, c.over.Sub(now))
		context.AfterFunc(ctx, cancel)
		c.ctx = ctx
	}
	return c.ctx
}

package godwit

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// SendFunc sends one message. A [SendMiddleware] may change the message before it calls the next.
type SendFunc func(ctx context.Context, m *Message) error

// SendMiddleware wraps what a producer does with each message, before it is brought into wire form. Of several, the
// first is outermost. It runs in the sender's goroutine.
type SendMiddleware func(SendFunc) SendFunc

// Send sends one message and returns when the service has accepted it. Concurrent senders share requests. When ctx ends
// first, the error says whether the message may have been accepted all the same.
func (p *Producer) Send(ctx context.Context, m Message) error {
	return p.through(func(ctx context.Context, m *Message) error {
		out, err := p.queue(ctx, m)
		if err != nil {
			return err
		}
		return out.wait(ctx, p)
	})(ctx, &m)
}

// SendBatch sends messages, in order, and returns when the service has answered for all of them: nil, or a *SendBatchError
// that names those it has not accepted, by their index. On an ordered channel, what follows a failed message of its key
// is sent after its failure is final.
func (p *Producer) SendBatch(ctx context.Context, ms []Message) error {
	errs := map[int]error{}
	outs := make([]*outgoing, len(ms))
	for i := range ms {
		m := ms[i]
		if err := p.through(func(ctx context.Context, m *Message) (err error) {
			outs[i], err = p.prepare(ctx, m)
			return err
		})(ctx, &m); err != nil {
			errs[i], outs[i] = err, nil
		}
	}
	if err := p.submit(present(outs)...); err != nil {
		return err
	}
	for i, out := range outs {
		if out == nil {
			continue
		}
		if err := out.wait(ctx, p); err != nil {
			errs[i] = err
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return &SendBatchError{Errs: errs}
}

// SendAsync queues one message and returns at once with a result to wait for; a fault of the message itself is returned
// here. At most ProducerOptions.Buffer results are open at once: then it waits for one of them, or for ctx.
func (p *Producer) SendAsync(ctx context.Context, m Message) (*Result, error) {
	select {
	case p.buffer <- struct{}{}:
	default:
		select {
		case p.buffer <- struct{}{}:
		case <-ctx.Done():
			return nil, p.error("send", errors.Join(ErrBufferFull, context.Cause(ctx)))
		}
	}
	r := &Result{done: make(chan struct{})}
	err := p.through(func(ctx context.Context, m *Message) error {
		out, err := p.prepare(ctx, m)
		if err != nil {
			return err
		}
		r.tell = sync.OnceFunc(func() { out.tell(r.err) })
		out.done = func(err error) {
			r.err = err
			close(r.done)
			<-p.buffer
		}
		return p.submit(out)
	})(ctx, &m)
	if err != nil {
		<-p.buffer
		return nil, err
	}
	return r, nil
}

// Result is the outcome of SendAsync, once there is one.
type Result struct {
	done chan struct{}
	err  error
	tell func() // fills in the receipt
}

// Done is closed when the outcome is known.
func (r *Result) Done() <-chan struct{} { return r.done }

// Wait returns the outcome: nil when the service has accepted the message, whose Receipt is filled in then. If ctx
// ends first it returns its cause, and the message goes on.
func (r *Result) Wait(ctx context.Context) error {
	select {
	case <-r.done:
		r.tell()
		return r.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// through runs a message through the middleware to last.
func (p *Producer) through(last SendFunc) SendFunc {
	for i := len(p.o.Middleware) - 1; i >= 0; i-- {
		last = p.o.Middleware[i](last)
	}
	return last
}

func (p *Producer) queue(ctx context.Context, m *Message) (*outgoing, error) {
	out, err := p.prepare(ctx, m)
	if err != nil {
		return nil, err
	}
	return out, p.submit(out)
}

// prepare brings a message into wire form, in its sender's goroutine.
func (p *Producer) prepare(ctx context.Context, m *Message) (*outgoing, error) {
	if m.DedupID != "" && !p.spec.Channel.Ordered {
		return nil, p.error("send", invalid("Message.DedupID", strconv.Quote(m.DedupID),
			"only ordered channels de-duplicate: make the channel ordered, or leave it out and let handlers be idempotent (Idempotent)"))
	}
	wire := m.driver(p.spec.Channel.Ordered)
	prepared, err := p.sender.Prepare(ctx, &wire)
	if err != nil {
		return nil, p.error("send", err)
	}
	if m.Receipt != nil {
		prepared.Receipt = new(driver.Receipt) // not the sender's own, who may be gone when the answer comes
	}
	out := &outgoing{Prepared: prepared, receipt: m.Receipt,
		until: time.Now().Add(p.o.RetryFor), answer: make(chan error, 1)}
	out.done = func(err error) { out.answer <- err }
	return out, nil
}

// outgoing is a message on its way.
type outgoing struct {
	driver.Prepared
	receipt *Receipt    // nil: nobody asks
	until   time.Time   // when it is no longer worth repeating
	tries   int         // calls it was in
	last    error       // of the last of them that failed
	done    func(error) // gets the outcome, once
	answer  chan error  // where done puts it, unless someone else wants it
	phase   atomic.Uint32
}

const (
	outQueued uint32 = iota
	outLeft
	outWithdrawn
)

// leave says that the message goes to the service; from then on it cannot be withdrawn.
func (m *outgoing) leave() bool {
	return m.phase.CompareAndSwap(outQueued, outLeft) || m.phase.Load() == outLeft
}

func (m *outgoing) withdraw() bool { return m.phase.CompareAndSwap(outQueued, outWithdrawn) }

// tell fills in the receipt of a message that was accepted.
func (m *outgoing) tell(err error) {
	if err == nil && m.receipt != nil {
		*m.receipt = Receipt{MessageID: m.Prepared.Receipt.ID, Duplicate: m.Prepared.Receipt.Duplicate}
	}
}

// wait waits for the outcome, or for ctx, and then says whether the message may have been accepted.
func (m *outgoing) wait(ctx context.Context, p *Producer) error {
	select {
	case err := <-m.answer:
		m.tell(err)
		return err
	case <-ctx.Done():
	}
	if m.withdraw() {
		return p.error("send", context.Cause(ctx))
	}
	select { // it left, so an answer that is there already says more than the context
	case err := <-m.answer:
		m.tell(err)
		return err
	default:
		return p.error("send", errors.Join(ErrUnanswered, context.Cause(ctx)))
	}
}

// present drops the nils.
func present(outs []*outgoing) []*outgoing {
	var there []*outgoing
	for _, out := range outs {
		if out != nil {
			there = append(there, out)
		}
	}
	return there
}

package godwit

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/bodies"
	"github.com/godwitmq/godwit/internal/calls"
	"github.com/godwitmq/godwit/internal/pending"
)

// SendFunc sends one message. A [SendMiddleware] may change the message before it calls the next SendFunc.
type SendFunc func(ctx context.Context, m *Message) error

// SendMiddleware wraps the send of each message, before the message is encoded. The first of several is the outermost.
// It runs in the sender's goroutine.
type SendMiddleware func(SendFunc) SendFunc

// Send sends one message and returns when the service has accepted it. Concurrent senders share requests. If ctx ends
// first, the error says whether the message may have been accepted.
func (p *Producer) Send(ctx context.Context, m Message) error {
	if err := checkContext(ctx); err != nil {
		return err
	}
	if len(p.o.Middleware) == 0 {
		return p.sendOne(ctx, &m)
	}
	return p.sendThrough(ctx, m)
}

// sendThrough is Send with middleware. It is a separate method, because its message is allocated on the heap.
func (p *Producer) sendThrough(ctx context.Context, m Message) error {
	return p.through(p.sendOne)(ctx, &m)
}

func (p *Producer) sendOne(ctx context.Context, m *Message) error {
	var one struct { // one allocation
		caller
		outgoing
	}
	one.caller.expect(1)
	if err := p.prepare(ctx, m, &one.outgoing, &one.caller); err != nil {
		return err
	}
	if err := p.outbox.add(&one.outgoing); err != nil {
		return err
	}
	one.caller.wait(ctx)
	return one.outgoing.outcome(ctx, p)
}

// SendBatch sends messages, in order, and returns when the service has answered for all of them. It returns nil, or a
// *SendBatchError with the messages that were not accepted, by their index. On an ordered channel, messages after a
// failed one of their key are sent when its failure is final.
func (p *Producer) SendBatch(ctx context.Context, ms []Message) error {
	if err := checkContext(ctx); err != nil {
		return err
	}
	errs := map[int]error{}
	all := make([]outgoing, len(ms))
	outs := make([]*outgoing, 0, len(ms))
	var c caller
	for i := range ms {
		if c.uploads == nil && p.uploaded(&ms[i]) {
			c.uploads = &uploads{errs: map[*outgoing]error{}}
		}
		if err := p.prepareThrough(ctx, ms[i], &all[i], &c); err != nil {
			errs[i] = err
		}
	}
	unsent := c.uploads.wait()
	for i := range all {
		if err := unsent[&all[i]]; err != nil {
			errs[i] = err
			all[i].report(err)
		}
		if errs[i] == nil {
			outs = append(outs, &all[i])
		}
	}
	c.expect(len(outs))
	if err := p.outbox.add(outs...); err != nil {
		for _, out := range outs {
			out.report(err)
		}
		return err
	}
	c.wait(ctx)
	for i := range all {
		if errs[i] != nil {
			continue
		}
		if err := all[i].outcome(ctx, p); err != nil {
			errs[i] = err
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return &SendBatchError{Errs: errs}
}

// prepareThrough calls the middleware for one message and encodes it.
func (p *Producer) prepareThrough(ctx context.Context, m Message, out *outgoing, c *caller) error {
	if len(p.o.Middleware) == 0 {
		return p.prepare(ctx, &m, out, c)
	}
	own := m
	return p.through(func(ctx context.Context, m *Message) error { return p.prepare(ctx, m, out, c) })(ctx, &own)
}

// SendAsync queues one message and returns at once with a result to wait for. If the message itself is invalid, it
// returns an error. If ProducerOptions.Buffer results are open, it waits for one of them, or for ctx.
func (p *Producer) SendAsync(ctx context.Context, m Message) (*Result, error) {
	if err := checkContext(ctx); err != nil {
		return nil, err
	}
	select {
	case p.buffer <- struct{}{}:
	default:
		select {
		case p.buffer <- struct{}{}:
		case <-ctx.Done():
			return nil, p.error("send", errors.Join(ErrBufferFull, context.Cause(ctx)))
		}
	}
	r := &Result{caller: caller{buffer: p.buffer}}
	r.caller.expect(1)
	err := p.prepareThrough(ctx, m, &r.out, &r.caller)
	if err == nil {
		if err = p.outbox.add(&r.out); err != nil {
			r.out.report(err)
		}
	}
	if err != nil {
		<-p.buffer
		return nil, err
	}
	return r, nil
}

// Result is the future outcome of SendAsync.
type Result struct {
	caller caller
	out    outgoing
	told   sync.Once // fills in the receipt
}

// Done returns a channel that is closed when the outcome is known.
func (r *Result) Done() <-chan struct{} { return r.caller.done }

// Wait returns the outcome: nil when the service has accepted the message, whose Receipt is then filled in. If ctx ends
// first, Wait returns its cause, and the message is still being sent.
func (r *Result) Wait(ctx context.Context) error {
	if err := checkContext(ctx); err != nil {
		return err
	}
	select {
	case <-r.caller.done:
		r.told.Do(r.out.tell)
		return r.out.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// through wraps last with the middleware.
func (p *Producer) through(last SendFunc) SendFunc {
	for i := len(p.o.Middleware) - 1; i >= 0; i-- {
		last = p.o.Middleware[i](last)
	}
	return last
}

// prepare encodes a message, in the goroutine of its sender. Large ones of a SendBatch are encoded in others, because
// that takes long.
func (p *Producer) prepare(ctx context.Context, m *Message, out *outgoing, c *caller) error {
	if c != nil && c.uploads != nil && p.uploaded(m) { // c is nil for a message of Transform
		c.uploads.begin(ctx, p, m, out, c)
		return nil
	}
	return p.encode(ctx, m, out, c)
}

func (p *Producer) encode(ctx context.Context, m *Message, out *outgoing, c *caller) error {
	if m.Answered != nil {
		told := m.Answered
		out.told = func(r Receipt, err error) {
			defer p.hooks.fault.guard()
			told(r, err)
		}
	}
	if m.DedupID != "" && !p.spec.Channel.Ordered && !m.tick {
		return p.error("send", invalid("Message.DedupID", strconv.Quote(m.DedupID),
			"only ordered channels remove duplicates: make the channel ordered, or remove the DedupID and use idempotent handlers (Idempotent)"))
	}
	delay := m.Delay
	if !m.At.IsZero() {
		if m.Delay != 0 {
			return p.error("send", invalid("Message.At", m.At, "the message has a Delay, too: remove one of both"))
		}
		delay = time.Until(m.At)
	}
	switch {
	case !m.Cancellable:
	case p.cancel == nil:
		return p.error("send", invalid("Message.Cancellable", true, cannotCancel))
	case m.Delay <= 0 && m.At.IsZero():
		return p.error("send", invalid("Message.Cancellable", true,
			"only a message that waits can be cancelled: set Delay or At"))
	case m.Receipt == nil && m.Answered == nil:
		return p.error("send", invalid("Message.Cancellable", true, "set Receipt, too: Producer.Cancel needs its ID"))
	}
	if m.Expires != 0 && (m.Expires < time.Second || m.Expires <= delay) {
		return p.error("send", invalid("Message.Expires", m.Expires,
			"it must be at least 1s, and more than the delay: otherwise no handler could start in time"))
	}
	wire, _ := p.spare.Get().(*driver.Message) // backends do not keep it
	if wire == nil {
		wire = new(driver.Message)
	}
	*wire = m.driver(p.spec.Channel.Ordered)
	prepared, err := driver.Prepared{}, m.read(wire, p.apart)
	if err == nil {
		stored := p.uploaded(m)
		if stored {
			p.calls.Begin(calls.Store, 1)
		}
		prepared, err = p.prepareTraced(ctx, m, wire)
		if stored {
			p.calls.End(calls.Store, bodies.Stall(ctx, err))
		}
	}
	*wire = driver.Message{}
	p.spare.Put(wire)
	if err != nil {
		return p.error("send", err)
	}
	if m.Receipt != nil || m.Answered != nil || m.DedupID != "" { // the last to count duplicates
		prepared.Receipt = new(driver.Receipt) // a copy, because the sender may have returned when the answer comes
	}
	out.Prepared, out.receipt, out.caller = prepared, m.Receipt, c
	out.until, out.by = time.Now().Add(p.o.RetryFor), m.by
	if !m.by.IsZero() && m.by.Before(out.until) {
		out.until = m.by
	}
	out.trace = m.Trace
	return nil
}

// caller is one call of Send, SendBatch or SendAsync that waits for the outcomes of its messages.
type caller struct {
	open    atomic.Int32  // messages without an outcome
	done    chan struct{} // closed when all have an outcome; nil: there are no messages
	buffer  chan struct{} // the element of an open result of SendAsync; nil for others
	uploads *uploads      // of SendBatch; nil: no message is large
}

// expect sets how many messages the caller waits for. It is called before they are submitted.
func (c *caller) expect(n int) {
	if n > 0 {
		c.open.Store(int32(n))
		c.done = make(chan struct{})
	}
}

// answered records the outcome of one message. The last one wakes the caller.
func (c *caller) answered() {
	if c.open.Add(-1) > 0 {
		return
	}
	close(c.done)
	if c.buffer != nil {
		<-c.buffer
	}
}

// wait waits for all outcomes, or for ctx.
func (c *caller) wait(ctx context.Context) {
	if c.done == nil {
		return
	}
	select {
	case <-c.done:
	case <-ctx.Done():
	}
}

// outgoing is a message that is being sent.
type outgoing struct {
	driver.Prepared
	receipt *Receipt  // nil: the sender needs none
	until   time.Time // when it is no longer repeated
	by      time.Time // Message.by
	tries   int       // number of its calls
	last    error     // error of the last failed call
	caller  *caller
	trace   Headers
	told    func(r Receipt, err error) // Message.Answered; nil: nobody needs it
	err     error                      // the outcome; read it only when there is one
	phase   atomic.Uint32
	pending *pending.Entry[*outgoing] // nil: the core batches
}

const (
	outQueued uint32 = iota
	outLeft
	outWithdrawn
	outAnswered
)

// leave is called when the message is sent to the service; it cannot be withdrawn any more. False: it was withdrawn, or
// its time is over, which ends the wait of its caller as well.
func (m *outgoing) leave() bool {
	if !m.by.IsZero() && !time.Now().Before(m.by) {
		return false
	}
	return m.phase.CompareAndSwap(outQueued, outLeft) || m.phase.Load() == outLeft
}

// answered sets the outcome of the message, once.
func (m *outgoing) answered(err error) {
	m.err = err
	m.report(err)
	m.phase.Store(outAnswered)
	m.caller.answered()
}

// report calls Message.Answered.
func (m *outgoing) report(err error) {
	if m.told == nil {
		return
	}
	var r Receipt
	if err == nil {
		from := m.Prepared.Receipt
		r = Receipt{MessageID: from.ID, Duplicate: from.Duplicate, ID: from.CancelID}
	}
	m.told(r, err)
}

// tell fills in the receipt of an accepted message.
func (m *outgoing) tell() {
	if m.err == nil && m.receipt != nil {
		from := m.Prepared.Receipt
		*m.receipt = Receipt{MessageID: from.ID, Duplicate: from.Duplicate, ID: from.CancelID}
	}
}

// outcome is the error that the sender gets after its wait. If ctx ended first, the error says whether the message may
// have been accepted.
func (m *outgoing) outcome(ctx context.Context, p *Producer) error {
	if m.phase.CompareAndSwap(outQueued, outWithdrawn) {
		err := p.error("send", context.Cause(ctx))
		m.report(err)
		return err
	}
	if m.phase.Load() != outAnswered {
		return p.error("send", errors.Join(ErrUnanswered, context.Cause(ctx)))
	}
	m.tell()
	return m.err
}

// uploads are the large bodies of one SendBatch that are being written to the store.
type uploads struct {
	group bodies.Group

	mu   sync.Mutex
	errs map[*outgoing]error
}

// uploaded reports whether the body of a message goes to a store, so that its preparation takes long.
func (p *Producer) uploaded(m *Message) bool {
	size := int64(len(m.Body))
	if m.Reader != nil {
		size = m.Size
	}
	return p.apart > 0 && size > p.apart
}

// begin prepares a message in a goroutine, when one of the earlier ones is ready.
func (u *uploads) begin(ctx context.Context, p *Producer, m *Message, out *outgoing, c *caller) {
	own := *m // middleware may change the message when the SendFunc has returned
	u.group.Go(func() {
		if err := p.encode(ctx, &own, out, c); err != nil {
			u.mu.Lock()
			u.errs[out] = err
			u.mu.Unlock()
		}
	})
}

// wait waits for all messages, and returns the errors of those that could not be prepared.
func (u *uploads) wait() map[*outgoing]error {
	if u == nil {
		return nil
	}
	u.group.Wait()
	return u.errs
}

// prepareTraced prepares a message with its trace or, if that does not fit, without it.
func (p *Producer) prepareTraced(ctx context.Context, m *Message, wire *driver.Message) (driver.Prepared, error) {
	if len(m.Trace) == 0 {
		return p.sender.Prepare(ctx, wire)
	}
	body := onceRead{Reader: wire.Reader}
	if wire.Reader != nil {
		wire.Reader = &body
	}
	wire.Header = m.traced()
	prepared, err := p.sender.Prepare(ctx, wire)
	class := driver.ClassOf(err)
	if err == nil || body.read || class != driver.TooLarge && class != driver.Permanent {
		return prepared, err
	}
	wire.Header = m.Headers
	prepared, plain := p.sender.Prepare(ctx, wire)
	if plain == nil {
		call1(p.hooks.fault, p.o.Hooks.Untraced, err)
	}
	return prepared, plain
}

// onceRead is a reader that knows whether it was read.
type onceRead struct {
	io.Reader
	read bool
}

// Read implements io.Reader.
func (r *onceRead) Read(to []byte) (int, error) {
	r.read = true
	return r.Reader.Read(to)
}

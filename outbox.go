package godwit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/internal/batch"
	"github.com/godwitmq/godwit/internal/calls"
	"github.com/godwitmq/godwit/internal/circuit"
	"github.com/godwitmq/godwit/internal/pending"
)

const (
	// sendLinger is how long a batch waits at most for senders in a loop that were just answered.
	sendLinger = time.Millisecond
	// sendLongest is how long a message waits for others at most, if others are likely to follow and calls take long.
	sendLongest = 10 * time.Millisecond
	// sendsAtOnce bounds the batches in flight: at 20 ms a call, 50,000 messages a second. A backend keeps at least as
	// many idle connections.
	sendsAtOnce = 100
	// lastProbe is how much longer than its time a message waits for the result of another one's probe, or for a call
	// that begins at the end of its time.
	lastProbe = time.Second
	// callAtLeast is how long a message's first call may take even if RetryFor is shorter. RetryFor bounds repetitions,
	// and a slow service may still accept the message.
	callAtLeast = 5 * time.Second
	// deadAfter is the number of failed calls in a row after which the circuit breaker opens.
	deadAfter = 10
)

// sendAgain is the delay between repetitions after temporary errors, and probe the delay between calls while the
// circuit breaker is open.
var (
	sendAgain = backoff.Curve{First: 100 * time.Millisecond, Max: 5 * time.Second}
	probe     = backoff.Curve{First: 500 * time.Millisecond, Max: 5 * time.Second}
)

// outbox has the encoded messages of a producer until the service has answered for them. It sends them in batches,
// unless the backend makes those itself, repeats what has failed for a while, stops sending while calls fail one after
// another, and has the channel created again if it was deleted.
type outbox struct {
	name     string // the channel's name
	retryFor time.Duration
	sender   driver.Sender
	poster   driver.Poster                   // nil: the sender cannot post, or the core batches
	create   func(ctx context.Context) error // creates the channel again; nil: that is not allowed, or not possible
	hooks    *sendHooks
	log      *slog.Logger
	calls    *calls.Log
	circuit  *circuit.Breaker
	creating chan struct{} // holds the right to create the channel again

	batches *batch.Batcher[*outgoing] // nil: the backend batches
	pending *pending.List[*outgoing]  // what was handed to a backend that batches by itself; nil: the core batches
	posts   *postContexts             // nil: the core batches

	count      sendCounters
	duplicates sampler                         // of the log
	closing    atomic.Pointer[context.Context] // of close; nil: it was not called
	unsent     atomic.Int64                    // messages that were given up because that context ended
}

// start makes the parts that depend on the sender.
func (o *outbox) start(opts *ProducerOptions, ordered bool) {
	o.circuit, o.creating = circuit.New(deadAfter, probe), make(chan struct{}, 1)
	lim := o.sender.Limits()
	if lim.Batch == 0 {
		o.poster, _ = o.sender.(driver.Poster)
		o.pending = pending.New(func(m *outgoing) *pending.Entry[*outgoing] { return m.pending }, o.unanswered)
		o.posts = newPostContexts()
		return
	}
	b := batch.Options[*outgoing]{
		Limit: lim.Batch, Bytes: lim.Bytes,
		Size:   func(m *outgoing) int { return m.Size },
		AtOnce: sendsAtOnce, Linger: sendLinger, Longest: sendLongest, Adapt: true,
		Patience: func() time.Duration { return opts.Linger },
		Take:     (*outgoing).leave,
		Send:     o.send, Again: o.again,
		Done:   func(m *outgoing, err error) { m.answered(o.outcome(m, err)) },
		Landed: o.accepted,
	}
	if ordered {
		b.Key, b.Together = func(m *outgoing) string { return m.OrderKey }, opts.KeysShareRequests
	}
	o.batches = batch.New(b)
}

// add queues or sends messages, in order.
func (o *outbox) add(outs ...*outgoing) error {
	if o.batches != nil {
		if !o.batches.Add(outs...) {
			return o.error("send", ErrClosed)
		}
		return nil
	}
	if len(outs) == 0 {
		return nil
	}
	entries := make([]pending.Entry[*outgoing], len(outs)) // no part of each, because most backends do not need them
	for i, out := range outs {
		out.pending = &entries[i]
	}
	now := time.Now()
	until := o.callEnds(outs, now)
	if !o.pending.Add(until, outs...) {
		return o.error("send", ErrClosed)
	}
	for _, out := range outs {
		out.leave()
	}
	ctx := o.posts.until(until, now)
	if o.poster != nil {
		o.post(ctx, outs)
		return nil
	}
	for _, out := range outs {
		go func() { o.landed(out, o.send(ctx, []*outgoing{out})) }()
	}
	return nil
}

// send makes one call. If the channel was deleted, send has it created again and repeats the call once, while the
// batch's order keys are still busy.
func (o *outbox) send(ctx context.Context, ms []*outgoing) error {
	now := time.Now()
	over := func(m *outgoing) bool { return !now.Before(m.until) } // it will not be sent again
	if wait, ok := o.circuit.Allow(now); !ok && !(slices.ContainsFunc(ms, over) && o.circuit.AllowLast(now)) {
		return &driver.Error{Class: driver.Transient, Err: ErrCircuitOpen, After: wait}
	}
	wire := make([]driver.Prepared, len(ms))
	for i, m := range ms {
		wire[i] = m.Prepared
	}
	ctx, cancel := context.WithDeadline(ctx, o.callEnds(ms, now))
	defer cancel()
	err := o.call(ctx, ms, wire)
	if driver.ClassOf(err) == driver.NotFound {
		if err = o.createAgain(ctx, err); err == nil {
			err = o.call(ctx, ms, wire)
		}
	}
	var entries *driver.BatchError
	o.works(errors.As(err, &entries) || !driver.ClassOf(err).Passing(), err)
	return err
}

// works tells the circuit breaker whether a request shows that the service works.
func (o *outbox) works(ok bool, err error) {
	switch o.circuit.Result(ok, time.Now()) {
	case circuit.Closed:
		call2(o.hooks.fault, o.hooks.Circuit, false, nil)
	case circuit.Same:
	default:
		call2(o.hooks.fault, o.hooks.Circuit, true, err)
	}
}

// call makes one call and records its result for Health.
func (o *outbox) call(ctx context.Context, ms []*outgoing, wire []driver.Prepared) error {
	began := time.Now()
	o.calls.Begin(calls.Send, 1)
	err := o.sender.Send(ctx, wire)
	o.calls.End(calls.Send, calls.StallOf(err, len(wire)))
	o.hooks.sent(ms, began, err)
	return err
}

// callEnds is the deadline of a call: the latest end of its messages' time.
func (o *outbox) callEnds(ms []*outgoing, now time.Time) time.Time {
	end := now.Add(lastProbe)
	for _, m := range ms {
		if until := m.until.Add(max(0, callAtLeast-o.retryFor)); until.After(end) {
			end = until
		}
	}
	return end
}

// createAgain creates the channel again after a send found it missing, one at a time.
func (o *outbox) createAgain(ctx context.Context, found error) error {
	if o.create == nil {
		return found
	}
	select {
	case o.creating <- struct{}{}:
	case <-ctx.Done():
		return found
	}
	defer func() { <-o.creating }()
	o.calls.Begin(calls.Provision, 1)
	err := o.create(ctx)
	o.calls.End(calls.Provision, err)
	call1(o.hooks.fault, o.hooks.Provisioned, err)
	return err
}

// again returns how long a message that was not accepted waits before it is sent again.
func (o *outbox) again(m *outgoing, err error, try int) time.Duration {
	if !errors.Is(err, ErrCircuitOpen) {
		m.tries, m.last = m.tries+1, err
	}
	if !driver.ClassOf(err).Passing() {
		return -1
	}
	wait := sendAgain.Jittered(try)
	var e *driver.Error
	if errors.As(err, &e) {
		wait = max(wait, e.After)
	}
	left := time.Until(m.until)
	if left <= 0 && errors.Is(err, ErrCircuitOpen) {
		left, wait = left+lastProbe, lastProbe/4 // another message may have just sent a probe
	}
	if left <= 0 {
		return -1
	}
	o.count.retried.Add(1)
	wait = min(wait, left) // the last try is made at the end of the time
	call2(o.hooks.fault, o.hooks.Retried, wait, err)
	return wait
}

// accepted answers the senders of messages that were accepted with one call.
func (o *outbox) accepted(ms []*outgoing) {
	o.count.accepted.Add(int64(len(ms)))
	for _, m := range ms {
		o.unique(m)
		m.answered(nil)
	}
}

// unique counts an accepted message that the service does not deliver, because it takes it for a duplicate.
func (o *outbox) unique(m *outgoing) {
	if r := m.Prepared.Receipt; r == nil || !r.Duplicate {
		return
	}
	o.count.duplicates.Add(1)
	if leftOut, ok := o.duplicates.take(time.Now(), discardEvery); ok {
		o.log.Warn("a message was accepted and is not delivered: one with the same DedupID was sent within five minutes",
			"id", m.Prepared.Receipt.ID, "left_out", leftOut)
	}
}

// outcome returns the error for a message's sender.
func (o *outbox) outcome(m *outgoing, err error) error {
	if err == nil {
		o.count.accepted.Add(1)
		o.unique(m)
		return nil
	}
	o.count.failed.Add(1)
	if closing := o.closing.Load(); closing != nil && (*closing).Err() != nil {
		o.unsent.Add(1)
	}
	var entries *driver.BatchError
	if errors.As(err, &entries) && len(entries.Errs) == 1 && o.batches == nil {
		err = entries.Errs[0]
	}
	if errors.Is(err, ErrCircuitOpen) && m.last != nil {
		err = fmt.Errorf("%w (%w)", m.last, ErrCircuitOpen)
	}
	if m.tries > 1 {
		err = &retriedError{tries: m.tries, took: o.retryFor - time.Until(m.until), err: err}
	}
	return o.error("send", err)
}

// landed sets the outcome of a message that was sent without a batch, unless it was given up before.
func (o *outbox) landed(out *outgoing, err error) {
	if o.pending.Take(out) {
		out.answered(o.outcome(out, err))
	}
}

// unanswered gives up messages that a backend which batches by itself has not answered in time. It may still send them.
func (o *outbox) unanswered(outs []*outgoing) {
	for _, out := range outs {
		out.answered(o.outcome(out, ErrUnanswered))
	}
}

// post passes messages to a backend that batches by itself. A message whose channel was deleted is sent once more after
// the channel was created again.
func (o *outbox) post(ctx context.Context, outs []*outgoing) {
	if wait, ok := o.circuit.Allow(time.Now()); !ok {
		for _, out := range outs {
			o.landed(out, &driver.Error{Class: driver.Transient, Err: ErrCircuitOpen, After: wait})
		}
		return
	}
	wire := make([]driver.Prepared, len(outs))
	for i, out := range outs {
		wire[i] = out.Prepared
	}
	began := time.Now()
	o.calls.Begin(calls.Send, len(wire))
	o.poster.Post(ctx, wire, func(i int, err error) {
		o.calls.End(calls.Send, calls.Stall(err))
		o.hooks.sent(outs[i:i+1], began, err)
		if driver.ClassOf(err) == driver.NotFound {
			go func() { o.landed(outs[i], o.send(ctx, outs[i:i+1])) }()
			return
		}
		o.works(err == nil || !driver.ClassOf(err).Passing(), err)
		o.landed(outs[i], err)
	})
}

// close sends what is queued, and waits for the answers until ctx ends. The error is an UnsentError for what was given
// up.
func (o *outbox) close(ctx context.Context) error {
	o.closing.Store(&ctx)
	if o.batches != nil {
		o.batches.Close(ctx)
	} else {
		o.unanswered(o.pending.Close(ctx))
		o.posts.end()
	}
	if n := o.unsent.Load(); n > 0 {
		return &UnsentError{Messages: n, Cause: context.Cause(ctx)}
	}
	return nil
}

func (o *outbox) error(op string, err error) error { return wrapError(op, o.name, "", err) }

// sendCounters are the counters of a ProducerReport.
type sendCounters struct{ accepted, failed, retried, duplicates atomic.Int64 }

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

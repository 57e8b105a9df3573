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

// Producer sends to one channel.
type Producer struct {
	name    string // the channel's name
	o       ProducerOptions
	spec    driver.ChannelSpec
	backend Backend
	sender  driver.Sender
	poster  driver.Poster             // nil: the sender is none, or the core batches
	batches *batch.Batcher[*outgoing] // nil: the backend batches
	circuit *circuit.Breaker
	buffer  chan struct{} // one element for each open Result
	mending chan struct{} // holds the right to provision again
	apart   int64         // larger bodies go to a store; 0: there is none

	count      sendCounters
	calls      calls.Log
	faults     healthLog // panics of hooks
	log        *slog.Logger
	duplicates sampler   // of the log
	spare      sync.Pool // of *driver.Message

	mu     sync.Mutex
	closed bool
	posts  *postContexts // nil: the core batches

	// pending are messages that were handed to a backend which batches by itself. nil: the core batches.
	pending *pending.List[*outgoing]
	closing atomic.Pointer[context.Context] // of Close; nil: it was not called
	unsent  atomic.Int64                    // messages that were given up because that context ended
}

// NewProducer checks the options, creates what is missing of the channel, and returns a producer that is ready to send.
func NewProducer(ctx context.Context, backend Backend, channel string, o *ProducerOptions) (*Producer, error) {
	p := &Producer{name: channel, backend: backend}
	if o != nil {
		p.o = *o
	}
	if err := errors.Join(checkContext(ctx), checkBackend(backend)); err != nil {
		return nil, err
	}
	ch, err := p.o.channel(channel)
	if err != nil {
		return nil, err
	}
	if ch.DeadLetter {
		if ch, err = deadLetters(ctx, backend, channel, "ProducerOptions.Ordered", ch); err != nil {
			return nil, err
		}
	}
	p.spec = p.o.spec(ch)
	if f := p.o.Hooks.Created; f != nil {
		p.hook(func() { f(p) })
	}
	if err := provision(ctx, backend, channel, p.spec); err != nil {
		return nil, err
	}
	if p.sender, err = backend.Sender(ctx, ch); err != nil {
		return nil, p.error("send", err)
	}
	if err := p.o.fit(p.sender.Limits()); err != nil {
		return nil, errors.Join(err, p.sender.Close(ctx))
	}
	p.start()
	return p, nil
}

func (p *Producer) start() {
	p.log = guardedLogger(p.o.Logger).With("channel", p.name)
	p.circuit = circuit.New(deadAfter, probe)
	p.buffer = make(chan struct{}, p.o.Buffer)
	p.mending = make(chan struct{}, 1)
	lim := p.sender.Limits()
	p.apart = lim.Apart
	if lim.Batch == 0 {
		p.poster, _ = p.sender.(driver.Poster)
		p.pending = pending.New(func(m *outgoing) *pending.Entry[*outgoing] { return m.pending }, p.unanswered)
		p.posts = newPostContexts()
		return
	}
	o := batch.Options[*outgoing]{
		Limit: lim.Batch, Bytes: lim.Bytes,
		Size:   func(m *outgoing) int { return m.Size },
		AtOnce: sendsAtOnce, Linger: sendLinger, Longest: sendLongest, Adapt: true,
		Patience: func() time.Duration { return p.o.Linger },
		Take:     func(m *outgoing) bool { return m.leave() },
		Send:     p.send, Again: p.again,
		Done:   func(m *outgoing, err error) { m.answered(p.outcome(m, err)) },
		Landed: p.accepted,
	}
	if p.spec.Channel.Ordered {
		o.Key, o.Together = func(m *outgoing) string { return m.OrderKey }, p.o.KeysShareRequests
	}
	p.batches = batch.New(o)
}

// accepted answers the senders of messages that were accepted with one call.
func (p *Producer) accepted(ms []*outgoing) {
	p.count.accepted.Add(int64(len(ms)))
	for _, m := range ms {
		p.unique(m)
		m.answered(nil)
	}
}

// unique counts an accepted message that the service does not deliver, because it takes it for a duplicate.
func (p *Producer) unique(m *outgoing) {
	if r := m.Prepared.Receipt; r == nil || !r.Duplicate {
		return
	}
	p.count.duplicates.Add(1)
	if leftOut, ok := p.duplicates.take(time.Now(), discardEvery); ok {
		p.log.Warn("a message was accepted and is not delivered: one with the same DedupID was sent within five minutes",
			"id", m.Prepared.Receipt.ID, "left_out", leftOut)
	}
}

// Report returns what the producer has done so far. It may be called at any time.
func (p *Producer) Report() ProducerReport {
	return ProducerReport{
		Accepted: p.count.accepted.Load(), Failed: p.count.failed.Load(),
		Retried: p.count.retried.Load(), Duplicates: p.count.duplicates.Load(),
	}
}

// ProducerReport is what a producer has done.
type ProducerReport struct {
	Accepted int64 // messages that the service has accepted
	Failed   int64 // messages whose sender got an error of the service
	Retried  int64 // sends after the first one of a message
	// Duplicates are accepted messages that the service does not deliver; see [Receipt].Duplicate.
	Duplicates int64
}

// sendCounters are the counters of a ProducerReport.
type sendCounters struct{ accepted, failed, retried, duplicates atomic.Int64 }

// Health returns the producer's current state.
func (p *Producer) Health() ProducerHealth {
	now := time.Now()
	h := ProducerHealth{LastSend: p.calls.Answered(calls.Send), Unhealthy: p.calls.Complaints(now, 0)}
	if err := p.faults.recent(now); err != nil {
		h.Unhealthy = append(h.Unhealthy, fmt.Sprintf("an internal panic: %v", err))
	}
	return h
}

// ProducerHealth is the state of a producer.
type ProducerHealth struct {
	LastSend time.Time // the last send that the service has answered; zero: none
	// Unhealthy has the reasons why messages are not accepted, since when, and the error. It is empty if they are
	// accepted, or if no message was sent for a while.
	Unhealthy []string
}

// Channel returns the name with which the producer was made.
func (p *Producer) Channel() string { return p.name }

// Ordered reports whether the channel keeps the messages of one order key in order. It is for what prepares messages
// for any producer, because a Message.DedupID is possible on ordered channels only.
func (p *Producer) Ordered() bool { return p.spec.Channel.Ordered }

// Address returns where the channel is, for traces and metrics. It is zero if the backend does not say.
func (p *Producer) Address() driver.Address { return addressOf(p.backend, p.spec.Channel) }

// addressOf asks a backend.
func addressOf(b Backend, ch driver.Channel) driver.Address {
	if a, ok := b.(driver.Addresser); ok {
		return a.Address(ch)
	}
	return driver.Address{}
}

// Close sends the queued messages, waits for the answers until ctx ends, and closes the producer. Callers that still
// wait then get an error, and so does Close: an [UnsentError] with their number. A second Close does nothing.
func (p *Producer) Close(ctx context.Context) error {
	if err := checkContext(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	was := p.closed
	p.closed = true
	p.mu.Unlock()
	if was {
		return nil
	}
	p.closing.Store(&ctx)
	if p.batches != nil {
		p.batches.Close(ctx)
	} else {
		p.unanswered(p.pending.Close(ctx))
		p.posts.end()
	}
	if f := p.o.Hooks.Closed; f != nil {
		p.hook(f)
	}
	var unsent error
	if n := p.unsent.Load(); n > 0 {
		unsent = &UnsentError{Messages: n, Cause: context.Cause(ctx)}
	}
	if err := errors.Join(unsent, p.sender.Close(ctx)); err != nil {
		return p.error("close", err)
	}
	return nil
}

func (p *Producer) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// submit queues or sends messages, in order.
func (p *Producer) submit(outs ...*outgoing) error {
	if p.batches != nil {
		if !p.batches.Add(outs...) {
			return p.error("send", ErrClosed)
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
	until := p.callEnds(outs, now)
	if !p.pending.Add(until, outs...) {
		return p.error("send", ErrClosed)
	}
	for _, out := range outs {
		out.leave()
	}
	ctx := p.posts.until(until, now)
	if p.poster != nil {
		p.post(ctx, outs)
		return nil
	}
	for _, out := range outs {
		go func() { p.landed(out, p.send(ctx, []*outgoing{out})) }()
	}
	return nil
}

// send makes one call. If the channel was deleted, send has it created again and repeats the call once, while the
// batch's order keys are still busy.
func (p *Producer) send(ctx context.Context, ms []*outgoing) error {
	now := time.Now()
	if wait, ok := p.circuit.Allow(now); !ok && !(last(ms, now) && p.circuit.AllowLast(now)) {
		return &driver.Error{Class: driver.Transient, Err: ErrCircuitOpen, After: wait}
	}
	wire := make([]driver.Prepared, len(ms))
	for i, m := range ms {
		wire[i] = m.Prepared
	}
	ctx, cancel := context.WithDeadline(ctx, p.callEnds(ms, now))
	defer cancel()
	err := p.call(ctx, ms, wire)
	if driver.ClassOf(err) == driver.NotFound {
		if err = p.mend(ctx, err); err == nil {
			err = p.call(ctx, ms, wire)
		}
	}
	var entries *driver.BatchError
	p.answered(err, errors.As(err, &entries) || !driver.ClassOf(err).Passing())
	return err
}

// call makes one call and records its result for Health.
func (p *Producer) call(ctx context.Context, ms []*outgoing, wire []driver.Prepared) error {
	began := time.Now()
	p.calls.Begin(calls.Send, 1)
	err := p.sender.Send(ctx, wire)
	p.calls.End(calls.Send, calls.StallOf(err, len(wire)))
	if p.o.Hooks.Sent != nil {
		p.sent(wire, tracesOf(ms), began, err)
	}
	return err
}

// callEnds is the deadline of a call: the latest end of its messages' time.
func (p *Producer) callEnds(ms []*outgoing, now time.Time) time.Time {
	end := now.Add(lastProbe)
	for _, m := range ms {
		if until := m.until.Add(max(0, callAtLeast-p.o.RetryFor)); until.After(end) {
			end = until
		}
	}
	return end
}

// last reports whether the time of a message is over, so that it will not be sent again.
func last(ms []*outgoing, now time.Time) bool {
	return slices.ContainsFunc(ms, func(m *outgoing) bool { return !now.Before(m.until) })
}

// mend creates the channel again after a send found it missing, one at a time.
func (p *Producer) mend(ctx context.Context, found error) error {
	if _, can := p.backend.(driver.Provisioner); !can || p.o.Provision != ProvisionAuto {
		return found
	}
	select {
	case p.mending <- struct{}{}:
	case <-ctx.Done():
		return found
	}
	defer func() { <-p.mending }()
	spec := p.spec
	spec.Again = true
	p.calls.Begin(calls.Provision, 1)
	err := provision(ctx, p.backend, p.name, spec)
	p.calls.End(calls.Provision, err)
	if f := p.o.Hooks.Provisioned; f != nil {
		p.hook(func() { f(err) })
	}
	return err
}

// again returns how long a message that was not accepted waits before it is sent again.
func (p *Producer) again(m *outgoing, err error, try int) time.Duration {
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
	p.count.retried.Add(1)
	if f := p.o.Hooks.Retried; f != nil {
		p.hook(func() { f(min(wait, left), err) })
	}
	return min(wait, left) // the last try is made at the end of the time
}

// outcome returns the error for a message's sender.
func (p *Producer) outcome(m *outgoing, err error) error {
	if err == nil {
		p.count.accepted.Add(1)
		p.unique(m)
		return nil
	}
	p.count.failed.Add(1)
	if closing := p.closing.Load(); closing != nil && (*closing).Err() != nil {
		p.unsent.Add(1)
	}
	var entries *driver.BatchError
	if errors.As(err, &entries) && len(entries.Errs) == 1 && p.batches == nil {
		err = entries.Errs[0]
	}
	if errors.Is(err, ErrCircuitOpen) && m.last != nil {
		err = fmt.Errorf("%w (%w)", m.last, ErrCircuitOpen)
	}
	if m.tries > 1 {
		err = &retriedError{tries: m.tries, took: p.o.RetryFor - time.Until(m.until), err: err}
	}
	return p.error("send", err)
}

func (p *Producer) error(op string, err error) error { return wrapError(op, p.name, "", err) }

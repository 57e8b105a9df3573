package godwit

import (
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Hooks are functions that a consumer calls when something happens. A nil function is ignored. Hooks are called from
// the goroutine in which it happens, several at the same time, and should return soon. A panic of a hook counts as an
// internal fault of the consumer, not of the handler. Hooks change nothing; use [Middleware] for changes.
type Hooks struct {
	// Created is called once, when the consumer is being made: it is Initializing, and its channel is not provisioned
	// yet. Set it to watch [Consumer.Health] from the beginning.
	Created func(c *Consumer)
	// State is called for each change of the consumer's state: one call after another, in order.
	State func(from, to State)

	// Received is called when a message has been received, before it waits for a handler.
	Received func(d *Delivery)
	// Started is called when a handler starts.
	Started func(d *Delivery)
	// Ended is called when a handler has ended, with the verdict, its error if any, and how long it ran.
	Ended func(d *Delivery, v Verdict, err error, took time.Duration)
	// Retried is called when a delivery will be retried, with the wait and the error of the handler.
	Retried func(d *Delivery, after time.Duration, err error)
	// Rejected is called when a delivery goes to the dead letters, with the reason.
	Rejected func(d *Delivery, err error)
	// DeadLetter is called after Rejected, with all that the dead letter will say.
	DeadLetter func(d *Delivery, death Death)
	// TimedOut is called when a handler has exceeded its processing timeout.
	TimedOut func(d *Delivery)
	// Abandoned is called when a handler ignores the end of its context; stack is where it is.
	Abandoned func(d *Delivery, stack []byte)
	// LeaseLost is called when the lease of a delivery has ended before it was settled: it belongs to another consumer.
	LeaseLost func(d *Delivery)
	// Released is called when a delivery is released, so that it can be received again.
	Released func(d *Delivery)
	// Discarded is called when messages were finished without a handler; once for those of one poll and reason.
	Discarded func(d Discarded)
	// Expired is called when a message has expired, so that no handler starts, or not again: it is discarded or, with
	// ConsumerOptions.DeadLetterExpired, rejected.
	Expired func(d *Delivery)
	// Unopened is called with the number of messages of a poll that came in the envelope of another service, such as
	// SNS's own JSON, from a sender that the channel does not trust. Their handler gets them as they came.
	Unopened func(n int)
	// Unsettled is called when a loop has continued without settling or keeping this delivery, which is then released.
	Unsettled func(d *Delivery)

	// Unclosed is called when a loop has ended, and Close was not called within ShutdownTimeout.
	Unclosed func()

	// Polled is called when a poll was answered, or ended by a stop or a pause, after Received was called for its
	// deliveries.
	Polled func(p Poll)
	// Settled is called when the service has answered a request with settlements.
	Settled func(s Settling)
	// Renewed is called when the service has answered a request to renew leases.
	Renewed func(r Renewal)
	// BodyRead is called when the body of a large message was read from the store before its handler, or when its
	// handler has begun to read it with [Delivery.Open].
	BodyRead func(d *Delivery, r BodyRead)

	// Breaker is called when receiving stops because handlers fail one after another (err is the first error), and when
	// it continues.
	Breaker func(open bool, err error)

	// Resized is called when the delay tolerance needs another number of handlers at once.
	Resized func(from, to int)

	// ReceiveFailed is called when a poll has failed, or an attempt to begin. The consumer tries again.
	ReceiveFailed func(err error)
	// SettleFailed is called when the service has refused a verdict for good: the message will be delivered again.
	SettleFailed func(d *Delivery, err error)
	// Shutdown is called once, when the consumer has ended.
	Shutdown func(r Report)
}

// Join returns hooks that call those of h and then those of others, in order.
func (h Hooks) Join(others ...Hooks) Hooks {
	for _, o := range others {
		h = Hooks{
			Created:       both1(h.Created, o.Created),
			State:         both2(h.State, o.State),
			Received:      both1(h.Received, o.Received),
			Started:       both1(h.Started, o.Started),
			Ended:         both4(h.Ended, o.Ended),
			Retried:       both3(h.Retried, o.Retried),
			Rejected:      both2(h.Rejected, o.Rejected),
			DeadLetter:    both2(h.DeadLetter, o.DeadLetter),
			TimedOut:      both1(h.TimedOut, o.TimedOut),
			Abandoned:     both2(h.Abandoned, o.Abandoned),
			LeaseLost:     both1(h.LeaseLost, o.LeaseLost),
			Released:      both1(h.Released, o.Released),
			Discarded:     both1(h.Discarded, o.Discarded),
			Expired:       both1(h.Expired, o.Expired),
			Unopened:      both1(h.Unopened, o.Unopened),
			Unsettled:     both1(h.Unsettled, o.Unsettled),
			Unclosed:      both0(h.Unclosed, o.Unclosed),
			Polled:        both1(h.Polled, o.Polled),
			Settled:       both1(h.Settled, o.Settled),
			Renewed:       both1(h.Renewed, o.Renewed),
			BodyRead:      both2(h.BodyRead, o.BodyRead),
			Breaker:       both2(h.Breaker, o.Breaker),
			Resized:       both2(h.Resized, o.Resized),
			ReceiveFailed: both1(h.ReceiveFailed, o.ReceiveFailed),
			SettleFailed:  both2(h.SettleFailed, o.SettleFailed),
			Shutdown:      both1(h.Shutdown, o.Shutdown),
		}
	}
	return h
}

// faults gets the panics of functions that the user has set.
type faults func(error)

// guard must be deferred.
func (report faults) guard() {
	if p := recover(); p != nil { //nolint:revive // its callers defer it
		report(newPanicError(p))
	}
}

// call0, call1 and the others call a hook, if it is set.
func call0(report faults, f func()) {
	if f != nil {
		defer report.guard()
		f()
	}
}

func call1[A any](report faults, f func(A), a A) {
	if f != nil {
		defer report.guard()
		f(a)
	}
}

func call2[A, B any](report faults, f func(A, B), a A, b B) {
	if f != nil {
		defer report.guard()
		f(a, b)
	}
}

func call3[A, B, C any](report faults, f func(A, B, C), a A, b B, c C) {
	if f != nil {
		defer report.guard()
		f(a, b, c)
	}
}

func both0(f, g func()) func() {
	if f == nil || g == nil {
		return either(f, g, f == nil)
	}
	return func() { f(); g() }
}

func both1[A any](f, g func(A)) func(A) {
	if f == nil || g == nil {
		return either(f, g, f == nil)
	}
	return func(a A) { f(a); g(a) }
}

func both2[A, B any](f, g func(A, B)) func(A, B) {
	if f == nil || g == nil {
		return either(f, g, f == nil)
	}
	return func(a A, b B) { f(a, b); g(a, b) }
}

func both3[A, B, C any](f, g func(A, B, C)) func(A, B, C) {
	if f == nil || g == nil {
		return either(f, g, f == nil)
	}
	return func(a A, b B, c C) { f(a, b, c); g(a, b, c) }
}

func both4[A, B, C, D any](f, g func(A, B, C, D)) func(A, B, C, D) {
	if f == nil || g == nil {
		return either(f, g, f == nil)
	}
	return func(a A, b B, c C, d D) { f(a, b, c, d); g(a, b, c, d) }
}

// either returns the second function if the first is nil, and the first otherwise.
func either[F any](f, g F, first bool) F {
	if first {
		return g
	}
	return f
}

// Poll is an answered poll of a consumer, for [Hooks].
type Poll struct {
	Asked int   // messages that were requested
	Bytes int64 // of the bodies that it returned, without those in a store
	Began time.Time
	Took  time.Duration
	Err   error
	// Deliveries are those that it returned. Their handlers may have started, and bodies may be being read from the
	// store: a hook must not read Body, Attempt or Undecodable.
	Deliveries []*Delivery
}

// Settling is a request with settlements that the service has answered, for [Hooks]. On Kafka, handled messages are not
// among them: a commit reports them.
type Settling struct {
	Done, Retried, Rejected, Released int // that the service has accepted
	Failed                            int // others, which may be sent again
	Began                             time.Time
	Took                              time.Duration
	Err                               error
	Deliveries                        []*Delivery
}

// Size is how many settlements the request had.
func (s *Settling) Size() int { return s.Done + s.Retried + s.Rejected + s.Released + s.Failed }

// Renewal is a request to renew leases that the service has answered, for [Hooks].
type Renewal struct {
	Leases int
	Failed int // of them
	Began  time.Time
	Took   time.Duration
	Err    error
}

// BodyRead is a read of a body that is in a store, for [Hooks].
type BodyRead struct {
	Bytes int64 // as the sender of the message said
	Took  time.Duration
	Err   error
}

// Sending is a request of a producer that the service has answered, for [ProducerHooks]. A backend that makes batches
// by itself, as that of Kafka, has one for each message.
type Sending struct {
	Messages int
	Failed   int   // of them; a failed one may be sent again
	Bytes    int64 // of the messages, as the service counts them
	Began    time.Time
	Took     time.Duration
	Err      error
	Traces   []Headers // the Trace of each message
}

func deliveries(owners []any) []*Delivery {
	ds := make([]*Delivery, len(owners))
	for i, o := range owners {
		ds[i] = delivery(o)
	}
	return ds
}

// Discarded are messages that were finished without a handler.
type Discarded struct {
	Reason DiscardReason
	Count  int
	IDs    []string // the service's ids; nil if they are unknown
	// Expected means that this is how the service works, and nothing is wrong. On Kafka, for example, only the consumer
	// can apply its filter.
	Expected bool
}

// DiscardReason says why messages were discarded, as a driver.DiscardReason.
type DiscardReason uint8

const (
	DiscardFiltered DiscardReason = iota // the consumer's filter does not select them
	DiscardFinished                      // they had been handled before
)

// String is the reason's name.
func (r DiscardReason) String() string { return driver.DiscardReason(r).String() }

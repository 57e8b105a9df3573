package godwit

import "time"

// Hooks are functions that a consumer calls when something happens. A nil function is ignored. Hooks are called from
// the goroutine in which it happens, several at the same time, and should return soon. A panic of a hook counts as an
// internal fault of the consumer, not of the handler. Hooks change nothing; use [Middleware] for changes.
type Hooks struct {
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
	// Unsettled is called when a loop has continued without settling or keeping this delivery, which is then released.
	Unsettled func(d *Delivery)

	// Unclosed is called when a loop has ended, and Close was not called within ShutdownTimeout.
	Unclosed func()

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

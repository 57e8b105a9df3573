package godwit

import "time"

// Hooks are functions that a consumer calls when something happens. A nil function is ignored. Hooks are called from
// the goroutine in which it happens, several at the same time, and should return soon. A panic of a hook counts as an
// internal fault of the consumer, not of the handler. Hooks change nothing; use [Middleware] for changes.
type Hooks struct {
	State func(from, to State) // called one after another, in order

	Received func(d *Delivery)
	Started  func(d *Delivery)
	// Ended is called for the end of each handler, with the verdict, the handler's error and its duration.
	Ended    func(d *Delivery, v Verdict, err error, took time.Duration)
	Retried  func(d *Delivery, after time.Duration, err error)
	Rejected func(d *Delivery, err error)
	TimedOut func(d *Delivery)
	// Abandoned is called when a handler ignores the end of its context, with its stack.
	Abandoned func(d *Delivery, stack []byte)
	LeaseLost func(d *Delivery)
	GivenBack func(d *Delivery)
	// Discarded is called for messages that were finished without a handler, once for each poll and reason.
	Discarded func(d Discarded)
	// Unsettled is called when the loop over an iterator continues without having settled or kept this delivery; the
	// delivery is released.
	Unsettled func(d *Delivery)

	// Unclosed is called when the loop over an iterator has ended, and Close was not called within ShutdownTimeout.
	Unclosed func()

	// Breaker is called when receiving stops because handlers fail one after another (err is the first error), and when
	// it continues.
	Breaker func(open bool, err error)

	// Resized is called when the number of handlers changes because of the delay tolerance.
	Resized func(from, to int)

	ReceiveFailed func(err error)
	// SettleFailed is called when the service refuses a settlement; the message will be delivered again.
	SettleFailed func(d *Delivery, err error)
	Shutdown     func(r Report)
}

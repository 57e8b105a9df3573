package godwit

import "time"

// Hooks observe a consumer. A nil func is ignored. They are called from the goroutine in which the thing happened, many
// at once, and should return soon; a panic in one is counted as an internal fault of the consumer, not of the handler.
// They change nothing: that is what [Middleware] is for.
type Hooks struct {
	State func(from, to State) // called one after another, in order

	Received func(d *Delivery)
	Started  func(d *Delivery)
	// Ended tells every handler's end: its verdict, its error if any, and how long it ran.
	Ended    func(d *Delivery, v Verdict, err error, took time.Duration)
	Retried  func(d *Delivery, after time.Duration, err error)
	Rejected func(d *Delivery, err error)
	TimedOut func(d *Delivery)
	// Abandoned: the handler ignores its cancelled context; stack is where it is.
	Abandoned func(d *Delivery, stack []byte)
	LeaseLost func(d *Delivery)
	GivenBack func(d *Delivery)
	// Discarded: messages were finished without a handler having seen them; one call for those of one poll and reason.
	Discarded func(d Discarded)
	// Unsettled: an iterating caller went on without settling or keeping this delivery, so it was given back.
	Unsettled func(d *Delivery)

	// Unclosed: an iteration has ended and nobody called Close since, for as long as a shutdown may take.
	Unclosed func()

	// Breaker: receiving has stopped, because handlers fail one after another (err is the first error), or goes on.
	Breaker func(open bool, err error)

	// Resized: the delay tolerance asked for another number of handlers at once.
	Resized func(from, to int)

	ReceiveFailed func(err error)
	// SettleFailed: the service did not take a verdict for good; the message will come again.
	SettleFailed func(d *Delivery, err error)
	Shutdown     func(r Report)
}

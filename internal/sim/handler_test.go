package sim

import (
	"context"
	"errors"
	"time"

	"github.com/godwitmq/godwit"
)

var (
	errBusiness    = errors.New("the handler failed")
	errInterrupted = errors.New("interrupted")
	errFatal       = errors.New("the handler cannot continue")
	errDropMe      = errors.New("drop this message")
	errDown        = errors.New("a dependency is down")
)

// behavior is what a handler does with one start of a message. The seed, the message and the number of the start decide
// it.
type behavior struct {
	kind   string // of the tally; "": the handler succeeds
	time   time.Duration
	wait   time.Duration // of a retry
	stream *stream
}

func (p *plan) behavior(s start, now time.Duration) behavior {
	m, nth, inc := s.m, s.nth, &s.of.inc
	r := p.about("deed", m.label, nth)
	d := behavior{stream: r, time: r.between(0, p.longest)}
	if p.kind != worldFaults {
		d.withoutFaults(p, m, nth, inc, now)
		return d
	}
	if r.chance(0.1) {
		d.kind, d.time = seenSlowHandler, r.between(time.Second, 8*time.Second)
	}
	if p.down.holds(now) {
		d.kind = seenDown
		return d
	}
	if nth > 8 || !r.chance(p.misbehaving) {
		return d
	}
	switch n := r.IntN(100); {
	case n < 25:
		d.kind = seenFailure
	case n < 40:
		d.kind = seenPanic
	case n < 46:
		d.kind = seenPermanent
	case n < 56:
		d.kind, d.wait = seenRetrySoon, r.between(0, 20*time.Second)
	case n < 59:
		d.kind, d.wait = seenRetryLate, heldBelow+r.between(0, time.Minute)
	case n < 67:
		d.kind = seenOverrun
	case n < 72:
		d.kind, d.time = seenIgnored, inc.options.ProcessingTimeout+r.between(2*time.Second, 40*time.Second)
	case n < 74:
		d.kind = seenFatal
	case n < 80:
		d.kind = seenDrop
	case n < 92:
		d.kind, d.wait = seenSelf, r.between(0, 20*time.Second)
	default:
		d.kind = seenRelease
	}
	return d
}

// withoutFaults changes the behavior for a world without faults.
func (d *behavior) withoutFaults(p *plan, m *message, nth int, inc *processPlan, now time.Duration) {
	switch p.kind {
	case worldCalm:
		d.time = d.stream.between(2*time.Second, 4*time.Second)
	case worldOutage:
		if p.down.holds(now) {
			d.kind = seenDown
			if d.stream.chance(0.02) {
				d.kind = seenOverrun
			}
		}
	case worldKept:
		if inc.pull != pullNot && now < time.Hour && d.stream.chance(0.5) {
			d.kind, d.time = seenKept, d.stream.between(11*time.Hour, 13*time.Hour)
		}
	case worldWaiting:
		if nth == 1 && p.about("key waits", m.key).chance(waitingKeys) {
			d.kind, d.wait = seenRetrySoon, d.stream.between(30*time.Second, 4*time.Minute)
		}
	case worldShares:
	}
}

// handler is the handler of a process.
func (w *world) handler(p *consumer) godwit.Handler {
	return func(ctx context.Context, d *godwit.Delivery) error {
		starts := p.checker.begin(p, d)
		if starts == nil {
			return errCut
		}
		do := w.draw(starts[0])
		what, after, err := outUndecided, time.Duration(0), error(nil)
		// Also when the handler panics.
		defer func() { p.checker.returned(starts[0].delivery, what, after) }()
		if !work(ctx, &do, p) {
			return errInterrupted
		}
		switch do.kind {
		case seenPanic:
			panic(errBusiness)
		case seenSelf, seenRelease:
			return w.bySelf(d, &do, &what, &after)
		}
		if err = do.err(); err == nil {
			what = outDone
		}
		return err
	}
}

// draw returns the behavior for a start, and counts it. A handler that ignores its context is counted when the consumer
// has noticed it.
func (w *world) draw(s start) behavior {
	do := s.of.checker.plan.behavior(s, time.Since(w.trace.begun))
	s.of.checker.wouldWait(s.delivery, do.wait)
	if do.kind != "" && do.kind != seenIgnored {
		w.tally.add(do.kind, 1)
	}
	return do
}

// err is the error that the handler returns.
func (d *behavior) err() error {
	switch d.kind {
	case seenFailure, seenPanic:
		return errBusiness
	case seenDown:
		return errDown
	case seenPermanent:
		return godwit.Permanent(errBusiness)
	case seenRetrySoon, seenRetryLate:
		return godwit.RetryAfter(d.wait, errBusiness)
	case seenOverrun:
		return errInterrupted
	case seenFatal:
		return godwit.Fatal(errFatal)
	case seenDrop:
		return errDropMe
	}
	return nil
}

// work waits for the duration of a handler. It returns false if the context ends earlier.
func work(ctx context.Context, do *behavior, p *consumer) bool {
	switch do.kind {
	case seenIgnored:
		time.Sleep(do.time)
		return true
	case seenOverrun:
		select {
		case <-ctx.Done():
		case <-time.After(p.inc.options.ProcessingTimeout + time.Minute):
		}
		return true
	}
	if do.stream.chance(0.1) { // a short handler that ignores its context
		time.Sleep(do.time)
		return true
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(do.time):
		return true
	}
}

// bySelf settles with a method of the delivery. The handler's error is then ignored.
func (w *world) bySelf(d *godwit.Delivery, do *behavior, what *outcome, after *time.Duration) error {
	var err error
	switch n := do.stream.IntN(4); {
	case do.kind == seenRelease:
		*what, err = outReleased, d.Release()
	case n == 0:
		*what, *after, err = outRetried, do.wait, d.Retry(do.wait)
	case n == 1:
		*what, err = outRejected, d.Reject(errBusiness)
	default:
		*what, err = outDone, d.Done()
	}
	if err != nil { // the lease was lost, or the process is shutting down
		*what = outUndecided
	}
	return errBusiness
}

// policy drops the messages whose handler returns errDropMe, and uses the default policy for all others.
func (c *checker) policy(p *consumer) godwit.Policy {
	usual := godwit.RetryPolicy(c.plan.attempts, godwit.Constant(c.plan.backoff))
	return func(d *godwit.Delivery, err error) godwit.Verdict {
		c.fails(p, d)
		if errors.Is(err, errDropMe) {
			return godwit.Verdict{Action: godwit.ActionDrop}
		}
		return usual(d, err)
	}
}

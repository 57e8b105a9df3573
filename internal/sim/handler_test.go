package sim

import (
	"context"
	"errors"
	"time"

	"github.com/godwitmq/godwit"
)

var (
	errBusiness    = errors.New("business is bad")
	errInterrupted = errors.New("interrupted")
	errFatal       = errors.New("fatal: the world is wrong")
	errDropMe      = errors.New("drop me")
)

// deed is what a handler does with one start of one message. All of it is decided by the seed, the message and the
// number of the start.
type deed struct {
	kind string // of the tally; "": it just succeeds
	time time.Duration
	wait time.Duration // of a retry
	roll *roll
}

func (p *plan) deed(m *message, nth int, inc *incarnation) deed {
	r := p.about("deed", m.label, nth)
	d := deed{roll: r, time: r.between(0, 200*time.Millisecond)}
	if r.chance(0.1) {
		d.kind, d.time = struckSlowHandler, r.between(time.Second, 8*time.Second)
	}
	if nth > 8 || !r.chance(p.misbehaving) {
		return d
	}
	switch n := r.IntN(100); {
	case n < 25:
		d.kind = struckFailure
	case n < 40:
		d.kind = struckPanic
	case n < 46:
		d.kind = struckPermanent
	case n < 56:
		d.kind, d.wait = struckRetrySoon, r.between(0, 20*time.Second)
	case n < 59:
		d.kind, d.wait = struckRetryLate, heldBelow+r.between(0, time.Minute)
	case n < 67:
		d.kind = struckOverrun
	case n < 72:
		d.kind, d.time = struckIgnored, inc.options.ProcessingTimeout+r.between(2*time.Second, 40*time.Second)
	case n < 74:
		d.kind = struckFatal
	case n < 80:
		d.kind = struckDrop
	case n < 92:
		d.kind, d.wait = struckSelf, r.between(0, 20*time.Second)
	default:
		d.kind = struckRelease
	}
	return d
}

// handler is what a process runs.
func (w *world) handler(p *member) godwit.Handler {
	return func(ctx context.Context, d *godwit.Delivery) error {
		h, nth := w.books.start(p, d)
		if h == nil {
			return errCut
		}
		do := w.plan.deed(h.m, nth, &p.inc)
		what, after, err := outUndecided, time.Duration(0), error(nil)
		defer func() { w.books.returned(h, what, after) }() // also when it panics
		if do.kind != "" && do.kind != struckIgnored {      // those are counted once the consumer has noticed
			w.tally.add(do.kind, 1)
		}
		if !work(ctx, &do, p) {
			return errInterrupted
		}
		switch do.kind {
		case struckFailure:
			err = errBusiness
		case struckPanic:
			panic(errBusiness)
		case struckPermanent:
			err = godwit.Permanent(errBusiness)
		case struckRetrySoon, struckRetryLate:
			err = godwit.RetryAfter(do.wait, errBusiness)
		case struckOverrun:
			err = errInterrupted
		case struckFatal:
			err = godwit.Fatal(errFatal)
		case struckDrop:
			err = errDropMe
		case struckSelf, struckRelease:
			return w.bySelf(d, &do, &what, &after)
		}
		if err == nil {
			what = outDone
		}
		return err
	}
}

// work passes a handler's time, and says whether it got through.
func work(ctx context.Context, do *deed, p *member) bool {
	switch do.kind {
	case struckIgnored:
		time.Sleep(do.time)
		return true
	case struckOverrun:
		select {
		case <-ctx.Done():
		case <-time.After(p.inc.options.ProcessingTimeout + time.Minute):
		}
		return true
	}
	if do.roll.chance(0.1) { // it does not look at its context, but it is soon done
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

// bySelf settles by one of the delivery's methods; what the handler returns does not matter any more.
func (w *world) bySelf(d *godwit.Delivery, do *deed, what *outcome, after *time.Duration) error {
	var err error
	switch n := do.roll.IntN(4); {
	case do.kind == struckRelease:
		*what, err = outReleased, d.Release()
	case n == 0:
		*what, *after, err = outRetried, do.wait, d.Retry(do.wait)
	case n == 1:
		*what, err = outRejected, d.Reject(errBusiness)
	default:
		*what, err = outDone, d.Done()
	}
	if err != nil { // lost, or the process is shutting down
		*what = outUndecided
	}
	return errBusiness
}

// policy drops what asks for it and leaves all else to the default.
func (w *world) policy() godwit.Policy {
	usual := godwit.RetryPolicy(w.plan.attempts, godwit.Constant(w.plan.backoff))
	return func(d *godwit.Delivery, err error) godwit.Verdict {
		if errors.Is(err, errDropMe) {
			return godwit.Verdict{Action: godwit.Drop}
		}
		return usual(d, err)
	}
}

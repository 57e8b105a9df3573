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
	errDown        = errors.New("what it depends on is down")
)

// deed is what a handler does with one start of one message. All of it is decided by the seed, the message and the
// number of the start.
type deed struct {
	kind string // of the tally; "": it just succeeds
	time time.Duration
	wait time.Duration // of a retry
	roll *roll
}

func (p *plan) deed(s start, now time.Duration) deed {
	m, nth, inc := s.m, s.nth, &s.of.inc
	r := p.about("deed", m.label, nth)
	d := deed{roll: r, time: r.between(0, p.longest)}
	if p.kind != worldStormy {
		d.becalm(p, m, nth, inc, now)
		return d
	}
	if r.chance(0.1) {
		d.kind, d.time = struckSlowHandler, r.between(time.Second, 8*time.Second)
	}
	if p.down.holds(now) {
		d.kind = struckDown
		return d
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

// becalm makes a deed one of a world without storms.
func (d *deed) becalm(p *plan, m *message, nth int, inc *incarnation, now time.Duration) {
	switch p.kind {
	case worldCalm:
		d.time = d.roll.between(2*time.Second, 4*time.Second)
	case worldOutage:
		if p.down.holds(now) {
			d.kind = struckDown
			if d.roll.chance(0.02) {
				d.kind = struckOverrun
			}
		}
	case worldKept:
		if inc.pull != pullNot && now < time.Hour && d.roll.chance(0.5) {
			d.kind, d.time = struckKept, d.roll.between(11*time.Hour, 13*time.Hour)
		}
	case worldWaiting:
		if nth == 1 && p.about("key waits", m.key).chance(waitingKeys) {
			d.kind, d.wait = struckRetrySoon, d.roll.between(30*time.Second, 4*time.Minute)
		}
	case worldShares:
	}
}

// handler is what a process runs.
func (w *world) handler(p *member) godwit.Handler {
	return func(ctx context.Context, d *godwit.Delivery) error {
		starts := p.books.begin(p, d)
		if starts == nil {
			return errCut
		}
		do := w.does(starts[0])
		what, after, err := outUndecided, time.Duration(0), error(nil)
		defer func() { p.books.returned(starts[0].holding, what, after) }() // also when it panics
		if !work(ctx, &do, p) {
			return errInterrupted
		}
		switch do.kind {
		case struckPanic:
			panic(errBusiness)
		case struckSelf, struckRelease:
			return w.bySelf(d, &do, &what, &after)
		}
		if err = do.err(); err == nil {
			what = outDone
		}
		return err
	}
}

// does draws the deed of a start, and counts it. Handlers that ignore their context are counted once the consumer has
// noticed.
func (w *world) does(s start) deed {
	do := s.of.books.plan.deed(s, time.Since(w.trace.begun))
	if do.kind != "" && do.kind != struckIgnored {
		w.tally.add(do.kind, 1)
	}
	return do
}

// err is what a handler says after its deed.
func (d *deed) err() error {
	switch d.kind {
	case struckFailure, struckPanic:
		return errBusiness
	case struckDown:
		return errDown
	case struckPermanent:
		return godwit.Permanent(errBusiness)
	case struckRetrySoon, struckRetryLate:
		return godwit.RetryAfter(d.wait, errBusiness)
	case struckOverrun:
		return errInterrupted
	case struckFatal:
		return godwit.Fatal(errFatal)
	case struckDrop:
		return errDropMe
	}
	return nil
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
func (b *books) policy(p *member) godwit.Policy {
	usual := godwit.RetryPolicy(b.plan.attempts, godwit.Constant(b.plan.backoff))
	return func(d *godwit.Delivery, err error) godwit.Verdict {
		b.fails(p, d)
		if errors.Is(err, errDropMe) {
			return godwit.Verdict{Action: godwit.ActionDrop}
		}
		return usual(d, err)
	}
}

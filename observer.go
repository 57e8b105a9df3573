package godwit

import (
	"errors"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/engine"
)

// observer reports what a session does to the consumer's log and hooks.
type observer struct {
	*handling
	hooks *Hooks
	fault faults // of the session
}

// delivery returns the delivery that the session has as an owner.
func delivery(owner any) *Delivery { return owner.(*Delivery) }

func (o *observer) Doing(a engine.Activity) {
	m := &o.life.state
	switch a {
	case engine.ActivityListening:
		m.to(StateListening)
	case engine.ActivityIdle:
		m.to(StateListening) // no change unless it was processing
		m.to(StateIdle)
	case engine.ActivityPaused:
		m.to(StateListening)
		m.to(StatePaused)
	case engine.ActivityProcessing:
		if m.is(StateIdle) || m.is(StatePaused) {
			m.to(StateListening)
		}
		m.to(StateProcessing)
	}
}

func (o *observer) Received(it *engine.Item) { call1(o.fault, o.hooks.Received, delivery(it.Owner)) }

func (o *observer) Started(it *engine.Item) {
	if d := delivery(it.Owner); !d.late(0) {
		call1(o.fault, o.hooks.Started, d)
	}
}

func (o *observer) Ended(owner any, v engine.Verdict, err error, took time.Duration) {
	d := delivery(owner)
	if f := o.hooks.Ended; f != nil && d.choice.Load() != &o.expiry { // otherwise none has started
		defer o.fault.guard()
		f(d, verdictOf(v), err, took)
	}
}

func (o *observer) Failed(it *engine.Item, err error, v engine.Verdict) {
	d := delivery(it.Owner)
	d.Failures = it.Failures
	o.log.panicked(d, err)
	if v.Action == engine.ActionRetry {
		o.log.retried(d, &v, err)
		call3(o.fault, o.hooks.Retried, d, v.After, err)
	}
}

func (o *observer) Rejected(owner any, death *driver.Death, reason error) {
	d := delivery(owner)
	o.log.WarnContext(about(d), "a message is rejected", "id", d.ID, "attempt", d.Attempt, "kind", death.Kind,
		"error", reason)
	call2(o.fault, o.hooks.Rejected, d, reason)
	call2(o.fault, o.hooks.DeadLetter, d, deathFrom(d, death))
}

func (o *observer) TimedOut(owner any) {
	d := delivery(owner)
	o.log.WarnContext(about(d), "a handler exceeded the processing timeout; its context is canceled", "id", d.ID,
		"timeout", o.o.ProcessingTimeout)
	call1(o.fault, o.hooks.TimedOut, d)
}

func (o *observer) Abandoned(owner any, stack []byte) {
	d := delivery(owner)
	o.log.ErrorContext(about(d), "a handler ignores the end of its context; its worker is replaced", "id", d.ID,
		"stack", string(stack))
	call2(o.fault, o.hooks.Abandoned, d, stack)
}

func (o *observer) LeaseLost(owner any) {
	d := delivery(owner) // a worker may be changing its attempt at the same time
	o.log.WarnContext(about(d), "a lease was lost; another consumer may handle the message", "id", d.ID)
	call1(o.fault, o.hooks.LeaseLost, d)
}

func (o *observer) Released(owner any) { call1(o.fault, o.hooks.Released, delivery(owner)) }

func (o *observer) SettleFailed(owner any, _ driver.Action, err error) {
	d := delivery(owner)
	o.health.settleFailed(err)
	if !errors.Is(err, ErrLeaseLost) { // reported when it was lost
		o.log.WarnContext(about(d), "a message could not be settled; it will be delivered again", "id", d.ID,
			"attempt", d.Attempt, "error", err)
	}
	o.life.unsettled(err)
	call2(o.fault, o.hooks.SettleFailed, d, err)
}

func (o *observer) Discarded(in driver.Discarded) {
	if in.Err != nil {
		if leftOut, ok := o.log.undeleted.take(time.Now(), discardEvery); ok {
			o.log.Warn("messages could not be deleted that were handled before, or that the filter does not select; they "+
				"will be delivered again", "count", in.Count, "reports_left_out", leftOut, "error", in.Err)
		}
		return
	}
	why := DiscardReason(min(in.Reason, driver.DiscardFinished)) // there is no other
	d := Discarded{Reason: why, Count: in.Count, IDs: in.IDs, Expected: in.Expected}
	o.log.discarded(d)
	call1(o.fault, o.hooks.Discarded, d)
}

func (o *observer) Expired(owner any) {
	d := delivery(owner)
	if leftOut, ok := o.log.expiries.take(time.Now(), expiryLogEvery); ok {
		o.log.WarnContext(about(d), "a message has expired, and is not handled any more", "id", d.ID, "expired",
			d.ExpiresAt, "rejected", o.o.DeadLetterExpired, "left_out", leftOut)
	}
	call1(o.fault, o.hooks.Expired, d)
}

func (o *observer) Unopened(n int) { call1(o.fault, o.hooks.Unopened, n) }

func (o *observer) Breaker(open bool, err error) { call2(o.fault, o.hooks.Breaker, open, err) }

func (o *observer) Resized(from, to int) { call2(o.fault, o.hooks.Resized, from, to) }

func (o *observer) ReceiveFailed(doing string, err error, wait time.Duration) {
	o.log.Warn(doing+" failed; it will be tried again", "error", err, "in", wait)
	call1(o.fault, o.hooks.ReceiveFailed, err)
}

func (o *observer) Polled(p engine.Poll) {
	o.log.reportDiscarded(time.Now())
	if o.hooks.Polled != nil { // otherwise the deliveries are not known
		call1(o.fault, o.hooks.Polled, Poll{
			Asked: p.Asked, Bytes: p.Bytes, Began: p.Began, Took: p.Took, Err: p.Err, Deliveries: deliveries(p.Owners),
		})
	}
}

func (o *observer) Settled(s engine.Settling) {
	if o.hooks.Settled != nil {
		call1(o.fault, o.hooks.Settled, Settling{
			Done: s.Of[driver.Done], Retried: s.Of[driver.Retry], Rejected: s.Of[driver.Reject],
			Released: s.Of[driver.Release], Failed: s.Failed, Began: s.Began, Took: s.Took, Err: s.Err,
			Deliveries: deliveries(s.Owners),
		})
	}
}

func (o *observer) Renewed(r engine.Renewal) { call1(o.fault, o.hooks.Renewed, Renewal(r)) }

func (o *observer) Faulted(err error) {
	o.health.fault(err)
	o.log.fault(err)
}

package godwit

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/engine"
)

// observer reports what a session does to the consumer's log and hooks.
type observer struct {
	c *Consumer
	s *engine.Session
}

// delivery returns the delivery that the session has as an owner.
func delivery(owner any) *Delivery { return owner.(*Delivery) }

// guard recovers a panic of a hook, and counts it as a fault of the session. It must be deferred.
func (o *observer) guard() {
	if p := recover(); p != nil { //nolint:revive // its callers defer it
		o.s.Fault(newPanicError(p))
	}
}

// about calls a hook for one delivery, if the hook is set.
func (o *observer) about(hook func(*Delivery), owner any) {
	if hook == nil {
		return
	}
	defer o.guard()
	hook(delivery(owner))
}

func (o *observer) Doing(a engine.Activity) {
	m := &o.c.state
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

func (o *observer) Received(it *engine.Item) { o.about(o.c.o.Hooks.Received, it.Owner) }

func (o *observer) Started(it *engine.Item) { o.about(o.c.o.Hooks.Started, it.Owner) }

func (o *observer) Ended(owner any, v engine.Verdict, err error, took time.Duration) {
	if f := o.c.o.Hooks.Ended; f != nil {
		defer o.guard()
		f(delivery(owner), verdictOf(v), err, took)
	}
}

func (o *observer) Failed(it *engine.Item, err error, v engine.Verdict) {
	d := delivery(it.Owner)
	d.Failures = it.Failures
	o.c.log.panicked(d, err)
	if v.Action != engine.ActionRetry {
		return
	}
	o.c.log.retried(d, &v, err)
	if f := o.c.o.Hooks.Retried; f != nil {
		defer o.guard()
		f(d, v.After, err)
	}
}

func (o *observer) Rejected(owner any, death *driver.Death, reason error) {
	d := delivery(owner)
	o.c.log.rejected(d, death.Kind, reason)
	if f := o.c.o.Hooks.Rejected; f != nil {
		o.c.guard(func() { f(d, reason) })
	}
	if f := o.c.o.Hooks.DeadLetter; f != nil {
		o.c.guard(func() { f(d, deathFrom(d, death)) })
	}
}

func (o *observer) TimedOut(owner any) {
	o.c.log.timedOut(delivery(owner), o.c.o.ProcessingTimeout)
	o.about(o.c.o.Hooks.TimedOut, owner)
}

func (o *observer) Abandoned(owner any, stack []byte) {
	d := delivery(owner)
	o.c.log.abandoned(d, stack)
	if f := o.c.o.Hooks.Abandoned; f != nil {
		defer o.guard()
		f(d, stack)
	}
}

func (o *observer) LeaseLost(owner any) {
	o.c.log.leaseLost(delivery(owner))
	o.about(o.c.o.Hooks.LeaseLost, owner)
}

func (o *observer) Released(owner any) { o.about(o.c.o.Hooks.Released, owner) }

func (o *observer) SettleFailed(owner any, _ driver.Action, err error) {
	d := delivery(owner)
	o.c.health.settleFailed(err)
	if !errors.Is(err, ErrLeaseLost) { // reported when it was lost
		o.c.log.settleFailed(d, err)
	}
	if f := o.c.unsettled(); f != nil {
		f(err)
	}
	if f := o.c.o.Hooks.SettleFailed; f != nil {
		defer o.guard()
		f(d, err)
	}
}

func (o *observer) Discarded(in driver.Discarded) {
	d := discardedOf(in)
	o.c.discards.add(d)
	o.c.logDiscarded(time.Now())
	if f := o.c.o.Hooks.Discarded; f != nil {
		defer o.guard()
		f(d)
	}
}

func (o *observer) Undiscarded(n int, err error) { o.c.log.undiscarded(n, err) }

func (o *observer) Unopened(n int) {
	if f := o.c.o.Hooks.Unopened; f != nil {
		defer o.guard()
		f(n)
	}
}

func (o *observer) Breaker(open bool, err error) {
	if f := o.c.o.Hooks.Breaker; f != nil {
		defer o.guard()
		f(open, err)
	}
}

func (o *observer) Resized(from, to int) {
	if f := o.c.o.Hooks.Resized; f != nil {
		defer o.guard()
		f(from, to)
	}
}

func (o *observer) ReceiveFailed(doing string, err error, wait time.Duration) {
	o.c.log.Warn(doing+" failed; it will be tried again", "error", err, "in", wait)
	if f := o.c.o.Hooks.ReceiveFailed; f != nil {
		defer o.guard()
		f(err)
	}
}

func (o *observer) ProvisionFailed(err error, wait time.Duration) {
	o.c.log.Warn("provisioning failed; it will be tried again", "error", err, "in", wait)
}

func (o *observer) InspectFailed(err error) {
	o.c.log.Debug("the size of the backlog could not be read", "error", err)
}

func (o *observer) SourcesLost(err error) { o.c.log.Warn("partitions were lost", "error", err) }

func (o *observer) PausedAtService(why error) {
	if why != nil {
		o.c.log.Warn("receives are refused; the consumer polls again until the channel is resumed", "error", why)
	} else {
		o.c.log.Warn("receives are not refused any more: the channel was resumed")
	}
}

func (o *observer) Polled(p engine.Poll) {
	o.c.logDiscarded(time.Now())
	if f := o.c.o.Hooks.Polled; f != nil {
		defer o.guard()
		f(pollOf(p))
	}
}

func (o *observer) Settled(s engine.Settling) {
	if f := o.c.o.Hooks.Settled; f != nil {
		defer o.guard()
		f(settlingOf(&s))
	}
}

func (o *observer) Renewed(r engine.Renewal) {
	if f := o.c.o.Hooks.Renewed; f != nil {
		defer o.guard()
		f(Renewal(r))
	}
}

func (o *observer) PollLeftOpen() {
	o.c.log.Warn("a poll was still open at the end of the stop: messages that it receives are delivered again when "+
		"their leases end; set a shorter WaitTime to prevent this", "ShutdownTimeout", o.c.o.ShutdownTimeout,
		"WaitTime", o.c.o.WaitTime)
}

func (o *observer) Faulted(err error) {
	o.c.health.fault(err)
	var p *PanicError
	if errors.As(err, &p) {
		o.c.log.Error("internal panic", "error", err, "stack", string(p.Stack))
	}
}

func (o *observer) Leaked(what string) {
	o.c.log.Log(context.Background(), slog.LevelError,
		"the consumer's counts of held deliveries are not zero at its end: please report this as a bug", "left", what)
}

package godwit

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/bodies"
	"github.com/godwitmq/godwit/internal/deathkind"
	"github.com/godwitmq/godwit/internal/engine"
)

// handling is how the engine handles the deliveries of a consumer: it makes the deliveries of received items, calls
// their handlers, and asks the policy. It changes nothing but deliveries, and several goroutines use it.
type handling struct {
	name     string // the channel's name
	channel  driver.Channel
	o        *ConsumerOptions
	policy   Policy
	life     *lifetime
	log      *consumerLog
	health   *healthLog
	payloads payloads
	sealed   choice // the choice of a delivery that cannot be settled now
	expiry   choice // that of a delivery which expired before its handler could start
}

// config is the engine's configuration for this consumer and its handler. Without a handler, an iterator's caller
// settles the deliveries.
func (h *handling) config(b Backend, handler Handler, batch *batching) *engine.Config {
	o := h.o
	cfg := &engine.Config{
		Backend: b, Channel: h.channel,
		Receiver: driver.ReceiverOptions{
			Filter: o.Filter.driver(), Wait: max(o.WaitTime, 0), Bytes: o.MaxBytes, Lease: o.Lease,
		},
		Concurrency: h.life.handlers(), MaxConcurrency: h.life.most, BatchSize: o.BatchSize,
		MaxPerTenant: o.MaxPerTenant, BreakAfter: o.BreakAfter,
		MaxAbandoned: o.MaxAbandoned, Delay: o.Delay, DelayTolerance: o.DelayTolerance,
		ProcessingTimeout: o.ProcessingTimeout,
		ShutdownTimeout:   o.ShutdownTimeout, SettleLinger: max(o.SettleLinger, 0), SaveRequests: o.SaveRequests,
		NoDeadLetters: h.noDeadLetters(), TellEnded: o.Hooks.Ended != nil, Weight: 1,
		TellOwners: o.Hooks.Polled != nil || o.Hooks.Settled != nil,
		Rates:      h.life.rates,
		Own:        func(its []*engine.Item, in []driver.Delivery) { h.own(its, in, handler == nil && batch == nil) },
		Begin:      func(it *engine.Item) { delivery(it.Owner).begin(it) },
		Choice:     choiceOf,
		Again:      func(it *engine.Item) any { return delivery(it.Owner).again() },
		Judge:      h.judge, Busy: h.busy, Blame: blames, Death: h.death,
		Error:   func(op, id string, err error) error { return wrapError(op, h.name, id, err) },
		Panic:   func(v any) error { return newPanicError(v) },
		Observe: func(s *engine.Session) engine.Observer { return &observer{h, &h.o.Hooks, s.Fault} },
		Calls:   &h.health.calls, Log: h.log.Logger,
	}
	if o.Provision == ProvisionAuto {
		cfg.Provision = func(ctx context.Context) error { // creates again what was found missing
			spec := o.spec(h.channel)
			spec.Again = true
			return provision(ctx, b, h.name, spec)
		}
	}
	switch {
	case handler != nil:
		cfg.Handle = func(ctx context.Context, it *engine.Item, chosen **engine.Verdict) error {
			return h.handle(ctx, handler, it, chosen)
		}
	case batch != nil:
		cfg.MaxBatch, cfg.Window = batch.Size, batch.Window
		cfg.HandleBatch = func(ctx context.Context, its []*engine.Item, chosen []*engine.Verdict) map[int]error {
			return h.handleBatch(ctx, batch.handler, its, chosen)
		}
	}
	return cfg
}

func (h *handling) noDeadLetters() bool { return h.o.NoDeadLetters || h.channel.DeadLetter }

// slabSize is how many deliveries are allocated together. All stay in memory until the last of them is released.
const slabSize = 64

// own makes the deliveries of received items. One whose body is in a store is allocated alone, and without its context,
// which a timer may keep in memory for a while: they would keep the body.
func (h *handling) own(its []*engine.Item, in []driver.Delivery, pulls bool) {
	var slab []Delivery
	for i, it := range its {
		var d *Delivery
		if in[i].Opener != nil {
			d = new(Delivery)
		} else {
			if len(slab) == 0 {
				slab = make([]Delivery, min(len(its)-i, slabSize))
			}
			d, slab = &slab[0], slab[1:]
			it.Context = &d.ctx
		}
		d.fill(h, it, &in[i])
		d.pulls = pulls
		it.Owner = d
		if d.apart != nil {
			d.apart.after = new(Delivery)
			d.apart.after.fill(h, it, &in[i])
			it.Handled = d.apart.after
		}
	}
}

// handle calls the handler for one item.
func (h *handling) handle(ctx context.Context, handler Handler, it *engine.Item, chosen **engine.Verdict) error {
	d := delivery(it.Owner)
	defer func() { *chosen = h.timely(d, d.seal()) }() // also if the handler ends its goroutine
	switch {
	case d.late(0):
		d.choice.CompareAndSwap(nil, &h.expiry)
		return nil
	case d.apart != nil:
		return h.handleApart(ctx, handler, d)
	}
	return recovered(ctx, handler, d)
}

// handleApart is handle for a delivery whose body is in a store.
func (h *handling) handleApart(ctx context.Context, handler Handler, d *Delivery) error {
	p := &h.payloads
	n := p.sizeOf(d)
	err := p.store.Room.Enter(ctx, n)
	if err == nil {
		defer p.store.Room.Leave(n)
		soon, cancel := p.store.Before(ctx)
		err = p.fetch(soon, d)
		cancel()
	}
	if err == nil {
		err = recovered(ctx, handler, d)
		if err == nil && !d.apart.opened.Load() {
			err = p.unread(d)
		}
	}
	d.refuse(err)
	return err
}

// handleBatch calls the handler for several items, and returns the errors of those that failed, by their index.
func (h *handling) handleBatch(
	ctx context.Context, handler BatchHandler, its []*engine.Item, chosen []*engine.Verdict,
) map[int]error {
	given := make([]*Delivery, len(its))
	ds := make([]*Delivery, 0, len(its)) // another slice, because the handler may change its own
	at := make([]int, 0, len(its))       // indexes of ds in given
	var last *Delivery                   // the last one that is rejected: those behind it in its lane come after it
	for i, it := range its {
		d := delivery(it.Owner)
		given[i] = d
		switch {
		case d.behind(last):
			last = d
		case !d.late(0):
			ds, at = append(ds, d), append(at, i)
		case d.choice.CompareAndSwap(nil, &h.expiry) && h.o.DeadLetterExpired:
			last = d
		}
	}
	defer func() {
		for i, d := range given {
			chosen[i] = h.timely(d, d.seal())
		}
	}()
	if len(ds) == 0 {
		return nil
	}
	var errs map[int]error
	if slices.ContainsFunc(ds, (*Delivery).large) {
		errs = h.handleBatchApart(ctx, handler, ds)
	} else {
		errs = entryErrors(callBatch(ctx, handler, ds), len(ds))
	}
	failed := make(map[int]error, len(errs))
	for i, err := range errs {
		failed[at[i]] = readable(err)
	}
	return failed
}

// handleBatchApart calls the handler with those of a batch whose bodies could be read. It returns the errors of the
// others, too, by their index. A delivery behind one that failed is not handled, and has no error.
func (h *handling) handleBatchApart(ctx context.Context, handler BatchHandler, ds []*Delivery) map[int]error {
	p := &h.payloads
	failed := map[int]error{}
	n := p.sizeOf(ds...)
	if err := p.store.Room.Enter(ctx, n); err != nil {
		for i := range ds {
			failed[i] = err
		}
		return failed
	}
	defer p.store.Room.Leave(n)
	soon, cancel := p.store.Before(ctx)
	errs := p.fetchAll(soon, ds)
	cancel()
	ready := make([]*Delivery, 0, len(ds))
	at := make([]int, 0, len(ds)) // indexes of ready in ds
	var last *Delivery            // the last delivery that failed
	for i, d := range ds {
		err := errs[i]
		if err == nil {
			err = p.unread(d)
		}
		switch {
		case d.behind(last):
			last = d
		case err != nil:
			h.leaveOut(d, err)
			failed[i], last = err, d
		default:
			ready, at = append(ready, d), append(at, i)
		}
	}
	if len(ready) == 0 {
		return failed
	}
	for i, err := range entryErrors(callBatch(ctx, handler, ready), len(ready)) {
		err = readable(err)
		ds[at[i]].refuse(err)
		failed[at[i]] = err
	}
	return failed
}

// leaveOut settles a delivery whose body could not be read, and which its batch's handler does not get. So it is
// settled in the same way if that handler exceeds its timeout, or does not return.
func (h *handling) leaveOut(d *Delivery, err error) {
	d.refuse(err)
	if wait, _ := h.busy(err); wait > 0 {
		d.choice.CompareAndSwap(nil, &choice{instead: engine.ActionHold, verdict: Verdict{After: wait}})
	}
}

// timely returns a verdict or, instead of a retry that would begin when the message has expired, that on the expiry.
func (h *handling) timely(d *Delivery, v *engine.Verdict) *engine.Verdict {
	if v == nil || v.Action != engine.ActionRetry || !d.late(v.After) {
		return v
	}
	e := h.expiry.engine()
	e.Failed = true
	return &e
}

// choiceOf ends the time in which a running handler can settle a delivery. It returns how the handler has settled it.
// An iterator's caller settles a delivery at once.
func choiceOf(it *engine.Item) *engine.Verdict {
	d := delivery(it.Owner)
	if d.pulls {
		return nil
	}
	return d.seal()
}

// judge asks the policy. If the policy panics, the default policy decides.
func (h *handling) judge(it *engine.Item, err error) (v engine.Verdict) {
	d := delivery(it.Owner)
	d.Failures = it.Failures
	defer func() {
		if p := recover(); p != nil {
			h.life.fault(newPanicError(p))
			v = engineVerdict(RetryPolicy(h.o.MaxAttempts, defaultBackoff())(d, err)) // Backoff is the caller's, too
		}
	}()
	v = engineVerdict(h.policy(d, err))
	v = *h.timely(d, &v)
	d.expired = v.Expired // the reason of a dead letter is err
	return v
}

// busy reports whether a handler could not do its work, because another one has claimed the key, because the store of
// its body does not work, or because of another reason that is not its message's, and how long to wait.
func (h *handling) busy(err error) (wait time.Duration, yes bool) {
	var store *bodies.Error
	if errors.As(err, &store) && store.Passing() {
		return store.Wait, true
	}
	if errors.Is(err, ErrBusy) {
		return busyWait(err), true
	}
	m := markOf(err)
	if m.kind != markHold {
		return 0, false
	}
	h.health.held(err)
	h.log.held(err)
	return m.after, true
}

// blames reports whether a handler's error may be caused by a dependency. A marked error is not.
func blames(err error) bool {
	k := markOf(err).kind
	return k != markPermanent && k != markFatal && !errors.Is(err, ErrShutdown)
}

// death is the reason with which a delivery is rejected.
func (h *handling) death(it *engine.Item, reason error) *driver.Death {
	d := delivery(it.Owner)
	if reason == nil {
		reason = errors.New("rejected without a reason")
	}
	death := &driver.Death{
		Error: reason.Error(), Kind: kindOf(reason, d, h.o.MaxAttempts), Consumer: h.o.Name, Channel: h.name,
		Attempts: int32(it.Attempt), First: it.FirstFailure(), Last: time.Now(),
	}
	if p, ok := errors.AsType[*PanicError](reason); ok {
		if at := deathkind.Frames(p.Stack); at != "" {
			death.Error += " (at " + at + ")"
		}
	}
	if d.choice.Load() == &h.expiry { // no handler has started
		death.Attempts--
	}
	if it.Err != nil {
		death.Attempts = 0
		death.Kind = deathkind.Undecodable
		if fault := bodies.FaultOf(it.Err); fault != nil {
			death.Kind = fault.Fault.String()
		}
	}
	return death
}

// fetched leaves out deliveries that have expired, and reads the bodies for the caller of an iterator. Deliveries whose
// bodies cannot be read are settled as for a handler, and are not passed on.
func (h *handling) fetched(ctx context.Context, ds []*Delivery) []*Delivery {
	alive := ds[:0]
	for _, d := range ds {
		if !d.late(0) {
			alive = append(alive, d)
			continue
		}
		d.choice.Store(&h.expiry)
		_ = d.item.Settle(d.gen, h.expiry.engine()) // if its lease is lost, another consumer has it
	}
	clear(ds[len(alive):])
	ds = alive
	if !slices.ContainsFunc(ds, (*Delivery).unread) {
		return ds
	}
	ready := ds[:0]
	for i, err := range h.payloads.fetchAll(ctx, ds) {
		d := ds[i]
		if err == nil {
			ready = append(ready, d)
			continue
		}
		d.choice.Store(&h.sealed)
		h.settleUnread(d, err)
	}
	clear(ds[len(ready):])
	return ready
}

// settleUnread settles a delivery whose body could not be read or decoded for the caller of an iterator.
func (h *handling) settleUnread(d *Delivery, err error) {
	_ = d.item.Settle(d.gen, h.verdictUnread(d, err)) // if its lease is lost, another consumer has it
}

func (h *handling) verdictUnread(d *Delivery, err error) engine.Verdict {
	if wait, wanted := h.busy(err); wanted {
		return engine.Verdict{Action: engine.ActionHold, After: wait}
	}
	switch {
	case errors.Is(err, driver.ErrFinished):
		return engine.Verdict{}
	case bodies.FaultOf(err) != nil:
		return engine.Verdict{Action: engine.ActionReject, Reason: err}
	}
	d.item.Failures++
	v := h.judge(d.item, err)
	v.Reason = err
	return v
}

package godwit

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/engine"
)

// config is the engine's configuration for this consumer and its handler. Without a handler, an iterator's caller
// settles the deliveries.
func (c *Consumer) config(h Handler, hs *batching) *engine.Config {
	o := &c.o
	cfg := &engine.Config{
		Backend: c.backend, Channel: c.channel,
		Receiver: driver.ReceiverOptions{
			Filter: o.Filter.driver(), Wait: max(o.WaitTime, 0), Bytes: o.MaxBytes, Lease: o.Lease,
		},
		Concurrency: c.concurrency(), BatchSize: o.BatchSize, MaxPerTenant: o.MaxPerTenant, BreakAfter: o.BreakAfter,
		MaxAbandoned: o.MaxAbandoned, Delay: o.Delay, DelayTolerance: o.DelayTolerance,
		ProcessingTimeout: o.ProcessingTimeout,
		ShutdownTimeout:   o.ShutdownTimeout, SettleLinger: max(o.SettleLinger, 0), SaveRequests: o.SaveRequests,
		NoDeadLetters: c.noDeadLetters(), TellEnded: o.Hooks.Ended != nil, Weight: 1,
		TellOwners: o.Hooks.Polled != nil || o.Hooks.Settled != nil,
		Rates:      c.rates,
		Own:        func(its []*engine.Item, in []driver.Delivery) { c.own(its, in, h == nil && hs == nil) },
		Begin:      func(it *engine.Item) { delivery(it.Owner).begin(it) },
		Choice:     c.choiceOf,
		Judge:      c.judge, Busy: c.busy, Blame: blames, Death: c.death,
		Error:   func(op, id string, err error) error { return wrapError(op, c.name, id, err) },
		Panic:   func(v any) error { return newPanicError(v) },
		Observe: func(s *engine.Session) engine.Observer { return &observer{c, s} },
		Calls:   &c.health.calls,
	}
	if c.adapts {
		cfg.MaxConcurrency = o.MaxConcurrency
	}
	if o.Provision == ProvisionAuto {
		cfg.Provision = c.provisionAgain
	}
	switch {
	case h != nil:
		cfg.Handle = func(ctx context.Context, it *engine.Item) error { return c.handle(ctx, h, it) }
	case hs != nil:
		cfg.MaxBatch, cfg.Window = hs.Size, hs.Window
		cfg.HandleBatch = func(ctx context.Context, its []*engine.Item) map[int]error {
			return c.handleBatch(ctx, hs.handler, its)
		}
	}
	return cfg
}

// begin creates and begins a session. The error is engine.ErrStopped if ctx ends first, or if the consumer is closed.
func (c *Consumer) begin(ctx context.Context, f *engine.Fleet, cfg *engine.Config) (*engine.Session, error) {
	s := engine.NewSession(ctx, f, cfg)
	c.mu.Lock()
	c.giveUp = s.Stop
	c.mu.Unlock()
	err := s.Begin(func() (int, bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.session, c.giveUp = s, nil
		return c.o.Concurrency, c.paused
	})
	if err != nil {
		c.state.to(StateExiting)
		c.state.to(StateExited)
		return nil, err
	}
	c.state.to(StateListening)
	return s, nil
}

// end shuts a session down and returns its report.
func (c *Consumer) end(s *engine.Session) (Report, error) {
	c.state.to(StateExiting)
	err := s.Shutdown()
	c.logDiscarded(time.Now().Add(discardEvery)) // the sums of the last minute
	return reportOf(s), err
}

func (c *Consumer) noDeadLetters() bool { return c.o.NoDeadLetters || c.channel.DeadLetter }

// provisionAgain creates again what was found missing.
func (c *Consumer) provisionAgain(ctx context.Context) error {
	spec := c.o.spec(c.channel)
	spec.Again = true
	return provision(ctx, c.backend, c.name, spec)
}

// slabSize is how many deliveries are allocated together. All stay in memory until the last of them is released.
const slabSize = 64

// own makes the deliveries of received items.
func (c *Consumer) own(its []*engine.Item, in []driver.Delivery, pulls bool) {
	var slab []Delivery
	for i, it := range its {
		if len(slab) == 0 {
			slab = make([]Delivery, min(len(its)-i, slabSize))
		}
		d := &slab[0]
		slab = slab[1:]
		d.fill(c, it, &in[i])
		d.pulls = pulls
		it.Owner, it.Context = d, &d.ctx
	}
}

// handle calls the handler for one item.
func (c *Consumer) handle(ctx context.Context, h Handler, it *engine.Item) error {
	d := delivery(it.Owner)
	defer func() { it.Chosen = d.seal() }() // also if the handler ends its goroutine
	if d.apart != nil {
		return c.handleApart(ctx, h, d)
	}
	return recovered(ctx, h, d)
}

// handleBatch calls the handler for several items, and returns the errors of those that failed, by their index.
func (c *Consumer) handleBatch(ctx context.Context, h BatchHandler, its []*engine.Item) map[int]error {
	ds := make([]*Delivery, len(its))
	for i, it := range its {
		ds[i] = delivery(it.Owner)
	}
	given := slices.Clone(ds) // the handler may change its slice
	defer func() {
		for i, it := range its {
			it.Chosen = given[i].seal()
		}
	}()
	var failed map[int]error
	if slices.ContainsFunc(ds, (*Delivery).large) {
		failed = c.handleBatchApart(ctx, h, ds)
	} else {
		failed = entryErrors(callBatch(ctx, h, ds), len(ds))
	}
	for i, err := range failed {
		failed[i] = readable(err)
	}
	return failed
}

// choiceOf ends the time in which a running handler can settle a delivery. It returns how the handler has settled it.
// An iterator's caller settles a delivery at once.
func (c *Consumer) choiceOf(it *engine.Item) *engine.Verdict {
	d := delivery(it.Owner)
	if d.pulls {
		return nil
	}
	return d.seal()
}

// judge asks the policy. If the policy panics, the default policy decides.
func (c *Consumer) judge(it *engine.Item, err error) (v engine.Verdict) {
	d := delivery(it.Owner)
	d.Failures = it.Failures
	defer func() {
		if p := recover(); p != nil {
			c.fault(newPanicError(p))
			v = engineVerdict(RetryPolicy(c.o.MaxAttempts, defaultBackoff())(d, err)) // Backoff is the caller's, too
		}
	}()
	return engineVerdict(c.policy(d, err))
}

// busy reports whether a handler could not do its work, because another one has claimed the key, because the store of
// its body does not work, or because of another reason that is not its message's, and how long to wait.
func (c *Consumer) busy(err error) (wait time.Duration, yes bool) {
	var store *storeError
	if errors.As(err, &store) && store.passing() {
		return store.wait, true
	}
	if errors.Is(err, ErrBusy) {
		return busyWait(err), true
	}
	m := markOf(err)
	if m.kind != markHold {
		return 0, false
	}
	c.health.held(err)
	c.log.held(err)
	return m.after, true
}

// blames reports whether a handler's error may be caused by a dependency. A marked error is not.
func blames(err error) bool {
	k := markOf(err).kind
	return k != markPermanent && k != markFatal && !errors.Is(err, ErrShutdown)
}

// death is the reason with which a delivery is rejected.
func (c *Consumer) death(it *engine.Item, reason error) *driver.Death {
	d := delivery(it.Owner)
	if reason == nil {
		reason = errors.New("rejected without a reason")
	}
	death := &driver.Death{
		Error: reason.Error(), Kind: kindOf(reason, d, c.o.MaxAttempts), Consumer: c.o.Name, Channel: c.name,
		Attempts: int32(it.Attempt), First: it.FirstFailure(), Last: time.Now(),
	}
	if it.Err != nil {
		death.Attempts = 0
		if death.Kind = kindUndecodable; payloadFault(it.Err) != nil {
			death.Kind = payloadFault(it.Err).Fault.String()
		}
	}
	return death
}

// engineVerdict converts a verdict for the engine.
func engineVerdict(v Verdict) engine.Verdict {
	ev := engine.Verdict{After: v.After}
	switch v.Action {
	case ActionRetry:
		ev.Action = engine.ActionRetry
	case ActionReject:
		ev.Action = engine.ActionReject
	case ActionDrop:
		ev.Action = engine.ActionDrop
	case ActionStop:
		ev.Action = engine.ActionStop
	default:
		ev.Action = engine.ActionDone
	}
	return ev
}

// verdictOf converts the engine's verdict. A released delivery has none.
func verdictOf(v engine.Verdict) Verdict {
	switch v.Action {
	case engine.ActionRetry, engine.ActionHold:
		return Verdict{Action: ActionRetry, After: v.After}
	case engine.ActionReject:
		return Verdict{Action: ActionReject}
	case engine.ActionDrop:
		return Verdict{Action: ActionDrop}
	case engine.ActionStop:
		return Verdict{Action: ActionStop}
	default:
		return Verdict{}
	}
}

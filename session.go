package godwit

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// session is one run of one consumer: what it holds, and the way of a delivery through it.
//
//	poller → accept → lane → bus → start → handler → conclude → settler → settled
//
// The session moves deliveries along that line; each noun on it has a file of its own.
type session struct {
	c        *Consumer
	handler  Handler   // of single deliveries
	batching *batching // of batches; neither: the caller of an iterator settles
	recv     driver.Receiver
	lim      driver.ReceiveLimits
	log      driver.AttemptLog // nil: the backend does not carry the attempts of held retries along
	finisher driver.Finisher   // nil: Done is settled like all else
	pool     *pool             // nil without workers
	bus      *bus
	queue    queue // guarded by bus.mu
	places   *places
	sources  sources
	seed     maphash.Seed
	keeper   *keeper
	settler  *settler
	starts   *startLog
	tenants  *tenants // nil: none has a cap
	pace     *pacing
	breaker  *breaker // nil: there is none
	sealed   *choice  // what a delivery's choice is once its handler has returned

	begun time.Time
	clock clock
	base  commonContext   // of handlers' contexts: values of Run's context, not its cancellation
	polls context.Context // ends when polling must
	gate  *gate
	halt  context.CancelCauseFunc

	running atomic.Int64  // deliveries with a handler or with an iterator's caller
	quiet   chan struct{} // holds one: running has become 0
	count   counters
	health  *healthLog // the consumer's
	unseen  discardLog
	failed  func(error) // who wants to see settle errors; nil: only the hook
	ending  struct {
		sync.Mutex
		err error // why the session cannot go on
	}
	faults faultLog
}

// begin opens the receiver, however long that takes, and starts everything of a session but its pollers and workers. The
// error is errStopped if ctx ends first, or the consumer is closed.
func (c *Consumer) begin(
	ctx context.Context, b *bus, q queue, bytes *budget, p *pool, h Handler, hs *batching,
) (*session, error) {
	q.batches = hs != nil
	s := &session{
		c: c, begun: time.Now(), clock: newClock(), bus: b, queue: q, handler: h, batching: hs, pool: p,
		seed: maphash.MakeSeed(), quiet: make(chan struct{}, 1), sources: sources{by: map[*driver.Source]*source{}},
		starts: newStartLog(), sealed: new(choice), health: &c.health,
	}
	s.polls, s.halt = context.WithCancelCause(ctx)
	c.mu.Lock()
	c.giveUp = s.halt
	c.mu.Unlock()
	recv, err := s.open(s.polls, driver.ReceiverOptions{
		Filter: c.o.Filter.driver(), Concurrency: c.concurrency() * hs.size(), Wait: max(c.o.WaitTime, 0),
		Bytes: c.o.MaxBytes, Lease: c.o.Lease,
		Events: driver.Events{Revoked: s.revoked, Lost: s.lostSources, Discarded: s.discarded},
	})
	if err != nil {
		s.halt(err)
		c.state.to(Exiting)
		c.state.to(Exited)
		return nil, err
	}
	s.recv, s.lim = recv, recv.Limits()
	s.log, _ = recv.(driver.AttemptLog)
	s.finisher, _ = recv.(driver.Finisher)
	s.places = newPlaces(max(s.lim.Window, 1), bytes)
	s.tenants = newTenants(c.o.MaxPerTenant, s.places, s.lim)
	s.pace = newPacing(s, c.concurrency())
	s.keeper = newKeeper(s, recv, s.lim)
	s.settler = newSettler(s, recv, s.lim.SettleBatch)
	s.base = commonContext{context.WithoutCancel(ctx), s.clock}
	s.breaker = newBreaker(s, c.o.BreakAfter)
	c.mu.Lock()
	c.session, c.giveUp = s, nil
	s.queue.limit = c.o.Concurrency // which may have been changed since
	var holds hold
	if c.paused {
		holds = holdPaused
	}
	s.gate = newGate(s.polls, holds)
	s.queue.parked, s.queue.frozen = c.paused && !s.lim.Keeps, c.paused && s.lim.Keeps
	c.mu.Unlock()
	b.join(s)
	go s.keeper.loop()
	c.state.to(Listening)
	return s, nil
}

// start moves a runnable delivery to running, and says whether it is there. What cannot run is disposed of.
func (s *session) start(d *Delivery, now moment) bool {
	if d.leaseOver(now) { // the keeper has not looked yet: the process may have been frozen
		s.leaseLost(d)
	}
	if d.lost.Load() || !d.src.begin() {
		s.bus.vacate(d)
		s.drop(d)
		return false
	}
	d.phase.Store(phaseRunning)
	if s.running.Add(1) == 1 {
		s.moveState()
	}
	if d.err != nil && d.claim() {
		s.conclude(d, Verdict{Action: Reject}, d.err)
		return false
	}
	return true
}

// stopped takes back what start counted, once the delivery runs no more.
func (s *session) stopped(d *Delivery) {
	s.bus.vacate(d)
	s.yield(d)
	s.oneLess()
}

// oneLess takes one off what runs, and says so to who waits for the last.
func (s *session) oneLess() {
	if s.running.Add(-1) > 0 {
		return
	}
	s.moveState()
	select {
	case s.quiet <- struct{}{}:
	default:
	}
}

// moveState follows the number of running handlers, without flapping between two messages of a stream.
func (s *session) moveState() {
	for {
		n := s.running.Load()
		if n > 0 {
			if s.c.state.is(Idle) {
				s.c.state.to(Listening)
			}
			s.c.state.to(Processing)
		} else if !s.bus.waiting(s) {
			s.c.state.to(Listening)
		}
		if (s.running.Load() > 0) == (n > 0) {
			return
		}
	}
}

// conclude carries a verdict out. The caller has claimed the delivery.
func (s *session) conclude(d *Delivery, v Verdict, reason error) {
	switch {
	case d.lost.Load():
		s.disown(d)
	case v.Action == Retry && s.nearLimit(d) && s.polls.Err() == nil: // however it would wait, a crash or a stop would be a receive more
		s.conclude(d, Verdict{Action: Reject}, s.tooManyReceives(d, "retried", reason))
	case v.Action == Retry && s.holds(d, v.After):
		if s.heldTooLong(d, v.After) {
			s.offShelf(d)
			s.conclude(d, Verdict{Action: Reject}, &heldTooLong{s.lim.HoldMax, reason})
			return
		}
		s.hold(d, v.After)
	case v.Action == Retry:
		s.starts.note(d, d.Attempt)
		s.settle(d, driver.Settlement{Action: driver.Retry, After: s.keepable(v.After), Attempt: int32(d.Attempt)}, s.lim.Behind)
	case v.Action == Reject && s.noDeadLetters():
		s.fail(&Error{Op: "dead-letter", Channel: s.c.name, MessageID: d.ID, Err: errors.Join(ErrNoDeadLetters, reason)})
		s.giveBack(d)
	case v.Action == Reject:
		death := s.death(d, reason)
		s.c.log.rejected(d, death.Kind, reason)
		s.settle(d, driver.Settlement{Action: driver.Reject, Attempt: int32(d.Attempt), Death: death}, driver.BehindGoesOn)
		if f := s.c.o.Hooks.Rejected; f != nil {
			s.guard(func() { f(d, reason) })
		}
	case v.Action == Stop:
		s.fail(&Error{Op: "handle", Channel: s.c.name, MessageID: d.ID, Err: reason})
		s.giveBack(d)
	default:
		if v.Action == Drop {
			s.count.dropped.Add(1)
		}
		s.settle(d, driver.Settlement{Action: driver.Done}, driver.BehindGoesOn)
	}
}

// settle sends a verdict on its way and makes the next of the lane runnable, or sends the whole lane away behind it.
func (s *session) settle(d *Delivery, st driver.Settlement, behind driver.Behind) {
	next := d.src.leave(d)
	if st.Action == driver.Done && s.finisher != nil {
		s.finish(d)
	} else if s.places.settle(); behind == driver.BehindGoesOn {
		s.tell(verdictOn(d, st))
	} else {
		s.tell(append([]verdict{verdictOn(d, st)}, s.unlane(next, behindIt(st, behind))...)...)
		next = nil
	}
	if next != nil && next.phase.Load() == phaseWaiting { // else it is handled in one batch with d
		s.resume(next)
	}
	s.stopped(d)
}

// finish settles what is done where that is only noted.
func (s *session) finish(d *Delivery) {
	s.finisher.Finish(d.handle)
	s.keeper.forget(d)
	d.src.end()
	s.places.giveBack(1)
	s.places.bytes.release(d.size)
	s.count.settled(&verdict{d: d, action: driver.Done})
}

// behindIt is what becomes of the deliveries of a lane behind one that is settled by st.
func behindIt(st driver.Settlement, behind driver.Behind) driver.Settlement {
	if behind == driver.BehindFollows {
		return st
	}
	return driver.Settlement{Action: driver.Release}
}

// landed takes in that the service has verdicts.
func (s *session) landed(vs []verdict) {
	s.endAll(vs)
	for i := range vs {
		if vs[i].d.lost.Load() {
			s.unsettled(vs[i], ErrLeaseLost)
		} else {
			s.count.settled(&vs[i])
		}
	}
}

// settled takes in that the service has not taken a verdict.
func (s *session) settled(v verdict, err error) {
	s.endAll([]verdict{v})
	if errors.Is(err, driver.ErrLost) || v.d.lost.Load() {
		if !v.d.lost.Swap(true) {
			s.lostLease(v.d)
		}
		err = ErrLeaseLost
	}
	s.unsettled(v, err)
}

// endAll frees what deliveries held until their verdict was answered, taking each lock once for all of them.
func (s *session) endAll(vs []verdict) {
	s.keeper.forgetAll(vs)
	var size int64
	for i := 0; i < len(vs); {
		src, n := vs[i].d.src, 0
		for ; i < len(vs) && vs[i].d.src == src; i++ {
			size += vs[i].d.size
			n++
		}
		src.endAll(n)
	}
	s.places.settled(len(vs), size)
}

// unsettled is the end of a verdict that the service has not taken: the message comes again.
func (s *session) unsettled(v verdict, err error) {
	s.count.unsettled.Add(1)
	s.health.settleFailed(err)
	wrapped := wrapError(v.action.String(), s.c.name, v.d.ID, err)
	if !errors.Is(err, ErrLeaseLost) { // which was told when it was lost
		s.c.log.settleFailed(v.d, wrapped)
	}
	if s.failed != nil {
		s.failed(wrapped)
	}
	if f := s.c.o.Hooks.SettleFailed; f != nil {
		s.guard(func() { f(v.d, wrapped) })
	}
}

func (s *session) noDeadLetters() bool { return s.c.o.NoDeadLetters || s.c.channel.DeadLetter }

func (s *session) death(d *Delivery, reason error) *driver.Death {
	if reason == nil {
		reason = errors.New("rejected without a reason")
	}
	now := time.Now()
	death := &driver.Death{
		Error: reason.Error(), Kind: kindOf(reason, d, s.c.o.MaxAttempts),
		Consumer: s.c.o.Name, Channel: s.c.name, Attempts: int32(d.Attempt), First: now, Last: now,
	}
	if d.first != noMoment {
		death.First = s.clock.time(d.first)
	}
	if d.err != nil {
		death.Kind, death.Attempts = kindUndecodable, 0
	}
	return death
}

// report is what the session has done so far.
func (s *session) report() Report {
	r := s.count.report()
	r.Took, r.StillRunning = time.Since(s.begun), len(s.keeper.remaining())
	return r
}

// fail ends the session with an error; the first one counts.
func (s *session) fail(err error) {
	s.ending.Lock()
	if s.ending.err == nil && s.polls.Err() == nil {
		s.ending.err = err
	}
	s.ending.Unlock()
	s.halt(err)
}

// fatal is why the session cannot go on; nil: it can, or was told to stop.
func (s *session) fatal() error {
	s.ending.Lock()
	defer s.ending.Unlock()
	return s.ending.err
}

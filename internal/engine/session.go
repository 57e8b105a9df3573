package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/calls"
)

// Session is one run of one consumer. It connects the parts, which have the state.
type Session struct {
	cfg     Config
	obs     Observer
	fleet   *Fleet
	service service
	flow    *flow
	runner  runner
	keeper  *keeper
	pollers *pollers
	pace    *pacing
	begun   time.Time

	polls  context.Context // ends when polling must end; its cause is fatal if the session cannot continue
	halt   context.CancelCauseFunc
	faults faultLog
}

// fatal is why a session cannot continue.
type fatal struct{ error }

func (e fatal) Unwrap() error { return e.error }

// NewSession makes a session of a fleet. Begin begins it. Stop, before or after that, makes it end.
func NewSession(ctx context.Context, f *Fleet, cfg *Config) *Session {
	s := &Session{cfg: *cfg, fleet: f, begun: time.Now()}
	s.polls, s.halt = context.WithCancelCause(ctx)
	s.obs = cfg.Observe(s)
	s.service = service{session: s, cfg: &s.cfg, obs: s.obs}
	s.flow = &flow{
		fleet: f, cfg: &s.cfg, talk: talk{obs: s.obs, log: cfg.Log}, starts: newStartLog(), polls: s.polls,
		clock: newClock(),
	}
	s.flow.sources.by = map[*driver.Source]*source{}
	s.runner = runner{f: s.flow, cfg: &s.cfg, obs: s.obs}
	return s
}

// most is the largest number of handlers at the same time.
func (c *Config) most() int { return max(c.Concurrency, c.MaxConcurrency) }

// handles reports whether workers handle the items; otherwise an iterator's caller does.
func (c *Config) handles() bool { return c.Handle != nil || c.HandleBatch != nil }

// Begin opens the receiver, however long that takes, and starts everything of the session except for its pollers. The
// error is ErrStopped if the session was stopped first. ready is called just before the session begins, when it can be
// paused and resized: it returns the current concurrency, and whether the session begins paused.
func (s *Session) Begin(ready func() (concurrency int, paused bool)) error {
	o := s.cfg.Receiver
	o.Concurrency = s.cfg.Concurrency * max(1, s.cfg.MaxBatch)
	own := ownership{s.flow, s.obs}
	o.Events = driver.Events{Revoked: own.revoked, Lost: own.lost, Discarded: own.discarded, Unopened: own.unopened}
	recv, err := s.service.open(s.polls, o)
	if err != nil {
		s.halt(err)
		return err
	}
	f := s.flow
	s.fleet.mu.Lock()
	s.compose(recv)
	limit, paused := ready()
	f.queue.limit = limit
	if s.cfg.Rates != nil { // after ready, because the rates are changed here from then on
		all, tenant := s.cfg.Rates()
		f.rates = newRates(all, tenant, f.clock.now())
	}
	var holds hold
	if paused {
		holds = holdPaused
	}
	f.gate.begin(f, holds)
	f.queue.parked, f.queue.frozen = paused && !f.lim.Keeps, paused && f.lim.Keeps
	s.fleet.bus.join(&f.queue)
	s.fleet.bytes.wait = append(s.fleet.bytes.wait, &f.places)
	s.fleet.mu.Unlock()
	go s.keeper.loop()
	return nil
}

// compose makes the parts of a session that depend on its receiver.
func (s *Session) compose(recv driver.Receiver) {
	f := s.flow
	s.service.recv, f.lim = recv, recv.Limits()
	s.cfg.Calls.Remember(calls.Discard, 2*f.lim.Lease)
	f.held.f, f.stints.f, f.stints.tickAt, f.stints.runUntil = f, f, never, never
	f.held.log, _ = recv.(driver.AttemptLog)
	f.quiet = make(chan struct{}, 1)
	f.queue = queue{
		weight: s.cfg.Weight, priority: s.cfg.Priority, alone: s.fleet.alone,
		batches: s.cfg.HandleBatch != nil,
	}
	f.places = newPlaces(max(f.lim.Window, 1), &s.fleet.bytes)
	f.places.lanes, f.places.spread = f.lim.Lanes, f.lim.Batch
	if f.lim.Grows {
		f.places.ahead = newAhead(s.cfg.most())
	}
	f.tenants = newTenants(s.cfg.MaxPerTenant, &f.places, &f.lim)
	f.breaker = newBreaker(f, s.cfg.BreakAfter)
	f.settler = newSettler(f, recv)
	s.pace = newPacing(s, s.cfg.Concurrency)
	s.keeper = newKeeper(s, recv, commonContext{context.WithoutCancel(s.polls), f.clock})
	f.keeper = s.keeper
	s.pollers = &pollers{
		service: &s.service, f: f, seed: maphash.MakeSeed(), guard: s.guard,
		turn: make(chan struct{}, 1), n: 1,
	}
	if s.cfg.SaveRequests && f.lim.Lease > 0 {
		s.pollers.thrift.tolerance = s.cfg.DelayTolerance
	}
}

// Poll starts the pollers.
func (s *Session) Poll() {
	s.flow.lock()
	s.flow.unlock() // reports that the session begins paused
	s.pollers.wg.Go(s.pollers.first)
}

// Stop ends polling; Shutdown must follow.
func (s *Session) Stop(cause error) { s.halt(cause) }

// Done is closed when the session must end.
func (s *Session) Done() <-chan struct{} { return s.polls.Done() }

// fail ends the session with an error, unless it has ended.
func (s *Session) fail(err error) { s.halt(fatal{err}) }

// Fatal is why the session cannot continue; nil: it can, or was stopped.
func (s *Session) Fatal() error {
	why, _ := errors.AsType[fatal](context.Cause(s.polls))
	return why.error
}

// Pause stops polling and releases the items that have not started; on a log they stay. Resume ends it.
func (s *Session) Pause() {
	s.flow.lock()
	s.flow.gate.pause()
	s.flow.unlock()
}

// Resume ends a Pause.
func (s *Session) Resume() {
	s.flow.lock()
	s.flow.gate.letIn(holdPaused)
	s.flow.unlock()
}

// SetRates changes how many items may start in a time.
func (s *Session) SetRates(all, tenant Rate) {
	f := s.flow
	f.lock()
	defer f.unlock()
	f.rates.change(all, tenant, f.clock.now())
}

// SetConcurrency changes how many handlers run at the same time.
func (s *Session) SetConcurrency(n int) { s.pace.resize(n, s.pace.restart(n)) }

// Fault handles a panic that was not a handler's. err has its stack.
func (s *Session) Fault(err error) {
	s.obs.Faulted(err)
	if s.faults.add(time.Now()) {
		s.fail(s.cfg.Error("run", "", errors.Join(errFaults, err)))
	}
}

// guard calls a function of the engine. A panic in it is a fault, and does not end the process.
func (s *Session) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.Fault(s.cfg.Panic(p))
		}
	}()
	f()
}

// shutdownReserve is the part of a shutdown's budget for releases and settlements; half of a short budget.
const shutdownReserve = 5 * time.Second

func reserveOf(budget time.Duration) time.Duration { return min(shutdownReserve, budget/2) }

// leastPoll is the shortest wait of services, which count in seconds.
const leastPoll = time.Second

// FitWait shortens the wait of a poll so that a stop can wait for its end, because canceling an open poll may lose its
// messages. If a stop has no time for any wait, polls do not wait.
func FitWait(wait, budget time.Duration) time.Duration {
	if budget < 2*leastPoll {
		return -1
	}
	return min(wait, (budget - reserveOf(budget)).Truncate(time.Second))
}

// Shutdown ends a session within its budget. Items that have not started are released when the open polls have ended,
// at the latest when only the reserve is left. Running handlers may
// finish until only the reserve is left; then they are canceled, and their items released. Settlements are sent, and
// the receiver is closed. Shutdown returns why the session could not continue, or could not be closed.
func (s *Session) Shutdown() error {
	d, f := shutdown{s, s.flow}, s.flow
	budget := s.cfg.ShutdownTimeout
	end := time.Now().Add(budget)
	reserve := reserveOf(budget)
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	f.lock()
	f.breaker.stop()
	f.gate.park()
	f.takeSteps()
	f.queue.left = true
	f.unlock()
	defer time.AfterFunc(time.Until(end.Add(-reserve)), d.releaseRest).Stop()
	if !d.untilQuiet(end.Add(-reserve)) {
		f.lock()
		f.stints.cancelAll(ErrShutdown)
		f.unlock()
		d.untilQuiet(end.Add(-reserve / 2))
		d.releaseRunning()
	}
	polled := waitFor(ctx, s.pollers.wg.Wait) // accept releases what an open poll still returns
	d.releaseRest()
	f.settler.Close(ctx)
	s.keeper.close()
	s.pace.looks.Wait()
	d.audit(polled)
	if !polled {
		s.cfg.Log.Warn("a poll was still open at the end of the stop: messages that it receives are delivered again when "+
			"their leases end; set a shorter WaitTime to prevent this", "ShutdownTimeout", budget, "WaitTime",
			s.cfg.Receiver.Wait)
	}
	return errors.Join(s.Fatal(), d.close(ctx))
}

// shutdown is the end of a session.
type shutdown struct {
	s *Session
	f *flow
}

// releaseRest releases what waits, although a poll may be open, and removes the session from the bus.
func (d shutdown) releaseRest() {
	f := d.f
	f.lock()
	f.gate.release()
	f.takeSteps()
	f.fleet.bus.leave(&f.queue)
	f.unlock()
}

// untilQuiet waits until no handler runs, or until a time, and reports whether none runs.
func (d shutdown) untilQuiet(end time.Time) bool {
	timer := time.NewTimer(time.Until(end))
	defer timer.Stop()
	for {
		d.f.fleet.mu.Lock()
		running := d.f.running
		d.f.fleet.mu.Unlock()
		if running == 0 {
			return true
		}
		select {
		case <-d.f.quiet:
		case <-timer.C:
			return false
		}
	}
}

// releaseRunning stops waiting for handlers that do not return. It settles their items as they have chosen, and
// releases those about which they have chosen nothing.
func (d shutdown) releaseRunning() {
	f := d.f
	var left []*worker
	f.lock()
	for _, st := range f.stints.all {
		for _, it := range slices.Clone(st.its) { // the items of a lane are in order
			if st.has(it) && !f.concludeRunning(it) {
				f.undoBehind(it)
				f.carryOut(it, Verdict{Action: ActionRelease})
			}
		}
		if st.worker != nil {
			f.stints.unseat(st)
			f.fleet.retire(st.worker)
			left = append(left, st.worker)
		}
	}
	f.unlock()
	for _, w := range left {
		f.fleet.refill(w)
	}
}

// audit reports what the session still holds at its end, when all its items have been settled or released.
func (d shutdown) audit(polled bool) {
	f := d.f
	f.lock()
	left := ""
	if polled && f.running == 0 { // otherwise a poll or a handler still holds something
		left = f.ledger.left(f.fleet.alone)
	}
	if left != "" {
		f.count.Leaked++
	}
	f.unlock()
	if left != "" {
		f.cfg.Log.Error("the consumer's counts of held deliveries are not zero at its end: please report this as a bug",
			"left", left)
	}
}

// close closes the receiver, and counts the verdicts that it could not tell the service.
func (d shutdown) close(ctx context.Context) error {
	err := d.s.service.recv.Close(ctx)
	if lost := (*driver.UnsettledError)(nil); errors.As(err, &lost) {
		d.f.lock()
		d.f.count.Unsettled += int64(lost.Count)
		d.f.unlock()
	}
	return err
}

// waitFor waits until f returns or ctx ends, and reports whether f has returned.
func waitFor(ctx context.Context, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

const (
	// maxFaults internal faults within faultWindow end a session, because continuing does not help.
	maxFaults   = 5
	faultWindow = time.Minute
)

var errFaults = fmt.Errorf("%d internal panics within %v", maxFaults, faultWindow)

// faultLog records panics of the engine, or of functions of the application that it called.
type faultLog struct {
	mu   sync.Mutex
	when []time.Time
}

// add records a fault and reports whether there were too many recently.
func (l *faultLog) add(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.when = append(l.when, now)
	if len(l.when) > maxFaults {
		l.when = l.when[1:]
	}
	return len(l.when) == maxFaults && now.Sub(l.when[0]) <= faultWindow
}

package engine

import (
	"context"
	"errors"
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

	polls  context.Context // ends when polling must end
	halt   context.CancelCauseFunc
	faults faultLog

	ending struct {
		sync.Mutex
		err error // why the session cannot continue
	}
}

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

// fail ends the session with an error. The first error counts.
func (s *Session) fail(err error) {
	s.ending.Lock()
	if s.ending.err == nil && s.polls.Err() == nil {
		s.ending.err = err
	}
	s.ending.Unlock()
	s.halt(err)
}

// Fatal is why the session cannot continue; nil: it can, or was stopped.
func (s *Session) Fatal() error {
	s.ending.Lock()
	defer s.ending.Unlock()
	return s.ending.err
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

// Counts returns the numbers of the session so far.
func (s *Session) Counts() Counts {
	stalled, _ := s.stalls(time.Now())
	s.fleet.mu.Lock()
	defer s.fleet.mu.Unlock()
	c := s.flow.count
	c.Stalled = stalled
	c.StillRunning, c.Took = s.flow.stints.remaining(), time.Since(s.begun)
	return c
}

// Demand is how many workers the channel needs for a backlog whose oldest message has waited for so long.
func (s *Session) Demand(backlog int64, oldest time.Duration) Demand {
	return s.pace.demand(backlog, oldest)
}

// Health returns the state of the session.
func (s *Session) Health(now time.Time) Health {
	f := s.flow
	workers := s.pace.handlers()
	_, stalls := s.stalls(now)
	s.fleet.mu.Lock()
	defer s.fleet.mu.Unlock()
	h := Health{Running: f.running - f.stints.waitInRuns(), Paused: !f.talk.halted.IsZero()}
	if oldest := f.stints.oldest(); oldest != never {
		h.Oldest = f.clock.time(oldest)
	}
	for _, a := range f.stints.abandoned {
		h.Abandoned = append(h.Abandoned, a)
	}
	slices.SortFunc(h.Abandoned, func(a, b AbandonedHandler) int { return a.Since.Compare(b.Since) })
	h.BreakerOpen = f.breaker.complaint() != ""
	for _, complaint := range []string{f.breaker.complaint(), lacking(f, now, workers)} {
		if complaint != "" {
			h.Complaints = append(h.Complaints, complaint)
		}
	}
	h.Complaints = append(h.Complaints, stalls...)
	return h
}

// Slow returns the handlers that have been running for at least so long, the oldest first. Stack is where they are now.
func (s *Session) Slow(now time.Time, longer time.Duration) []AbandonedHandler {
	f := s.flow
	var slow []AbandonedHandler
	var goids []string
	s.fleet.mu.Lock()
	for _, st := range f.stints.all {
		begun := f.clock.time(st.begun)
		if now.Sub(begun) < longer || len(st.its) == 0 {
			continue
		}
		goid := ""
		if st.worker != nil {
			goid = st.worker.goid
		}
		goids = append(goids, goid)
		slow = append(slow, AbandonedHandler{ID: st.its[0].ID, Since: begun})
	}
	s.fleet.mu.Unlock()
	if len(slow) > 0 {
		dump := stacks()
		for i := range slow {
			slow[i].Stack = string(stackOf(dump, goids[i]))
		}
	}
	slices.SortFunc(slow, func(a, b AbandonedHandler) int { return a.Since.Compare(b.Since) })
	return slow
}

// stalls asks the receiver, without the fleet's lock.
func (s *Session) stalls(now time.Time) (times int64, complaints []string) {
	if r, ok := s.service.recv.(driver.Staller); ok {
		return r.Stalls(now)
	}
	return 0, nil
}

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

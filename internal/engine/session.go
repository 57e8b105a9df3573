package engine

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Session is one run of one consumer: it composes the parts, and is not a place where state lives.
type Session struct {
	cfg     Config
	obs     Observer
	fleet   *Fleet
	recv    driver.Receiver
	flow    *flow
	keeper  *keeper
	pollers *pollers
	pace    *pacing
	seed    maphash.Seed
	begun   time.Time

	polls  context.Context // ends when polling must
	halt   context.CancelCauseFunc
	faults faultLog
	refuse func(error) // who wants to see settle errors; nil: only the observer

	ending struct {
		sync.Mutex
		err error // why the session cannot go on
	}
}

// NewSession makes a session of a fleet. Begin begins it; Stop, before or after that, tells it to end.
func NewSession(ctx context.Context, f *Fleet, cfg *Config) *Session {
	s := &Session{cfg: *cfg, fleet: f, seed: maphash.MakeSeed(), begun: time.Now()}
	s.polls, s.halt = context.WithCancelCause(ctx)
	s.obs = cfg.Observe(s)
	s.flow = &flow{fleet: f, cfg: &s.cfg, obs: s.obs, starts: newStartLog(), polls: s.polls, clock: newClock()}
	s.flow.sources.by = map[*driver.Source]*source{}
	return s
}

// handles says whether workers handle the items; else an iterator's caller does.
func (c *Config) handles() bool { return c.Handle != nil || c.HandleBatch != nil }

// Begin opens the receiver, however long that takes, and starts everything of the session but its pollers. The error is
// ErrStopped if the session was told to end first. ready is called once the session can be paused and resized, just before it
// begins: it returns the concurrency, and whether it begins paused, as they are by then.
func (s *Session) Begin(ready func() (concurrency int, paused bool)) error {
	o := s.cfg.Receiver
	o.Concurrency = s.cfg.Concurrency * max(1, s.cfg.MaxBatch)
	o.Events = driver.Events{Revoked: s.revoked, Lost: s.lost, Discarded: s.discarded}
	recv, err := s.open(s.polls, o)
	if err != nil {
		s.halt(err)
		return err
	}
	f := s.flow
	s.fleet.mu.Lock()
	s.compose(recv)
	limit, paused := ready()
	f.queue.limit = limit
	var holds hold
	if paused {
		holds = holdPaused
	}
	f.gate = newGate(s.polls, holds)
	f.queue.parked, f.queue.frozen = paused && !f.lim.Keeps, paused && f.lim.Keeps
	s.fleet.bus.join(&f.queue)
	s.fleet.bytes.wait = append(s.fleet.bytes.wait, &f.places)
	s.fleet.mu.Unlock()
	go s.keeper.loop()
	return nil
}

// compose makes the parts of a session that go by its receiver.
func (s *Session) compose(recv driver.Receiver) {
	f := s.flow
	s.recv, f.lim = recv, recv.Limits()
	f.log, _ = recv.(driver.AttemptLog)
	f.finisher, _ = recv.(driver.Finisher)
	f.quiet = make(chan struct{}, 1)
	f.queue = queue{weight: s.cfg.Weight, priority: s.cfg.Priority, alone: s.fleet.alone, batches: s.cfg.HandleBatch != nil}
	f.places = newPlaces(max(f.lim.Window, 1), &s.fleet.bytes)
	f.tenants = newTenants(s.cfg.MaxPerTenant, &f.places, &f.lim)
	f.stints.tickAt = never
	f.breaker = newBreaker(f, s.cfg.BreakAfter)
	f.settler = newSettler(f, recv)
	s.pace = newPacing(s, s.cfg.Concurrency)
	s.keeper = newKeeper(s, recv, commonContext{context.WithoutCancel(s.polls), f.clock})
	f.keeper = s.keeper
	s.pollers = &pollers{s: s, f: f, n: 1}
}

// Poll starts the pollers.
func (s *Session) Poll() { s.pollers.wg.Go(s.pollers.first) }

// Stop ends polling; a Shutdown must follow.
func (s *Session) Stop(cause error) { s.halt(cause) }

// Done is closed when the session must end.
func (s *Session) Done() <-chan struct{} { return s.polls.Done() }

// fail ends the session with an error; the first one counts.
func (s *Session) fail(err error) {
	s.ending.Lock()
	if s.ending.err == nil && s.polls.Err() == nil {
		s.ending.err = err
	}
	s.ending.Unlock()
	s.halt(err)
}

// Fatal is why the session cannot go on; nil: it can, or was told to stop.
func (s *Session) Fatal() error {
	s.ending.Lock()
	defer s.ending.Unlock()
	return s.ending.err
}

// Pause stops polling and gives back what has not started; on a log it stays. Resume takes that back.
func (s *Session) Pause() {
	s.flow.lock()
	s.flow.pause()
	s.flow.unlock()
}

// Resume takes a Pause back.
func (s *Session) Resume() {
	s.flow.lock()
	s.flow.letIn(holdPaused)
	s.flow.unlock()
}

// SetConcurrency changes how many handlers run at once.
func (s *Session) SetConcurrency(n int) { s.resize(n, s.pace.restart(n)) }

func (s *Session) resize(n, more int) {
	s.flow.lock()
	s.flow.places.grow(more * max(1, s.cfg.MaxBatch))
	s.flow.queue.limit = n
	s.fleet.wakeAll()
	s.flow.unlock()
	if s.cfg.handles() && s.fleet.alone { // an iterator's caller is one
		s.fleet.Resize(n)
	}
}

func (s *Session) wakeAll() {
	s.flow.lock()
	s.fleet.wakeAll()
	s.flow.unlock()
}

// Counts are what the session has done so far.
func (s *Session) Counts() Counts {
	s.fleet.mu.Lock()
	defer s.fleet.mu.Unlock()
	c := s.flow.count
	c.StillRunning = s.flow.stints.remaining()
	return c
}

// Took is how long ago the session was made.
func (s *Session) Took() time.Duration { return time.Since(s.begun) }

func (s *Session) addPoll() {
	s.fleet.mu.Lock()
	s.flow.count.Polls++
	s.fleet.mu.Unlock()
}

// Demand is what is known of the channel's work, with so much of it waiting for so long.
func (s *Session) Demand(backlog int64, oldest time.Duration) Demand {
	return s.pace.demand(backlog, oldest)
}

// revokedHandlers is the part of a revocation's time that handlers have to finish in; then they are cancelled.
const revokedHandlers = 0.8

// revoked is called by the backend before it lets go of sources: nothing more of them is started, and it returns when what was
// started is settled.
func (s *Session) revoked(ctx context.Context, keys []*driver.Source) {
	dead := s.retire(keys)
	if end, limited := ctx.Deadline(); limited {
		patience := time.Duration(revokedHandlers * float64(time.Until(end)))
		defer time.AfterFunc(patience, func() {
			s.flow.lock()
			s.flow.cancelOf(dead, ErrRevoked)
			s.flow.unlock()
		}).Stop()
	}
	for _, src := range dead {
		select {
		case <-src.quiet:
		case <-ctx.Done():
			return
		}
	}
}

// retire lets nothing more of sources start, and drops what is held of them.
func (s *Session) retire(keys []*driver.Source) []*source {
	f := s.flow
	f.lock()
	defer f.unlock()
	dead := f.sources.retire(keys)
	for _, it := range slices.Clone(f.retries) {
		if it.state == shelved && slices.Contains(dead, it.src) {
			f.drop(it)
		}
	}
	return dead
}

// lost is called by the backend when sources are someone else's already.
func (s *Session) lost(keys []*driver.Source, err error) {
	dead := s.retire(keys)
	f := s.flow
	f.lock()
	for _, st := range f.stints.all {
		for _, it := range slices.Clone(st.its) {
			if slices.Contains(dead, it.src) {
				f.lose(it)
			}
		}
	}
	f.unlock()
	s.obs.SourcesLost(err)
}

// discarded takes in what the backend finished unseen.
func (s *Session) discarded(d driver.Discarded) {
	s.fleet.mu.Lock()
	switch d.Reason {
	case driver.DiscardFiltered:
		s.flow.count.Filtered += int64(d.Count)
	case driver.DiscardFinished:
		s.flow.count.Redelivered += int64(d.Count)
	}
	s.fleet.mu.Unlock()
	s.obs.Discarded(d)
}

// closeError is why a receiver did not close, beside why the session ended.
func (s *Session) closeError(err error) error { return errors.Join(s.Fatal(), err) }

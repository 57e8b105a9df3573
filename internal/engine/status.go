package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/calls"
)

// Counts are the numbers of a session so far.
type Counts struct {
	Received, Handled, Dropped, Retried, Rejected, Released int64
	TimedOut, Abandoned, LeaseLost, Unsettled, Polls        int64
	Expired                                                 int64 // of Dropped and Rejected
	Filtered, Redelivered                                   int64 // finished without a handler
	Took                                                    time.Duration
	Stalled                                                 int64 // how often the receiver could return nothing
	Leaked                                                  int64
	StillRunning                                            int // items whose handlers have not returned
}

// unseen is how many messages were discarded.
func (c *Counts) unseen() int64 { return c.Filtered + c.Redelivered }

// settled counts a verdict that the service has accepted.
func (c *Counts) settled(v *verdict) {
	switch a := v.action; {
	case v.untouched, a == driver.Release:
		c.Released++
	case a == driver.Done:
		c.Handled++
	case a == driver.Retry:
		c.Retried++
	case a == driver.Reject:
		c.Rejected++
	}
}

// Health is the state of a session.
type Health struct {
	Running    int       // items with running handlers
	Oldest     time.Time // when the oldest running handler began; zero: none runs
	Abandoned  []AbandonedHandler
	Paused     bool     // at the service
	Complaints []string // why the session does not work
	// BreakerOpen: the breaker is open, which is among the complaints.
	BreakerOpen bool
}

// lacking returns a sentence on what takes the places, if a poll has waited for them for long although handlers are
// idle, and "" otherwise. If all handlers of the session or the fleet are busy, that is normal backpressure.
func lacking(f *flow, now time.Time, workers int) string {
	since := f.places.lacking
	if since.IsZero() || now.Sub(since) < calls.FailureLasts || !f.cfg.handles() || f.running >= workers ||
		f.queue.runnable() {
		return ""
	}
	held := f.retries.inPlaces()
	return fmt.Sprintf("a poll has waited for places for %v, although only %d of %d handlers run: %d deliveries wait behind "+
		"another of their key, %d are held for a retry, %d are being settled, and the deliveries have %d bytes",
		now.Sub(since).Round(time.Second), f.running, workers,
		max(0, f.places.taken+f.places.behind-f.running-held), held,
		f.places.settling, f.places.bytes.held)
}

// Live is what a session holds at a moment.
type Live struct {
	Held     int // in places and on the shelf, and those whose verdicts are in flight
	Running  int // items with a handler or an iterator's caller
	Waiting  int // for a worker, for the items before them in their lanes, or for their tenant's share
	Retrying int // held retries
	Settling int // verdicts in flight
	Bytes    int64
	Lanes    int
	// Blocked is for how long the lane that has waited longest has waited for its head: since the start of the running
	// handler, or since the first failure of the held retry. 0: no lane waits.
	Blocked time.Duration
	Workers int // handlers that may run at the same time
	Polls   int // open polls
	// Uncommitted are finished items that the service could deliver again, because they are not committed yet.
	Uncommitted int64
}

// Live returns what the session holds. It takes the fleet's lock for a time that grows with the number of running
// handlers and held retries, not with that of the other items.
func (s *Session) Live() Live {
	now, workers := s.flow.clock.now(), s.pace.handlers()
	var l Live
	if r, ok := s.service.recv.(driver.Log); ok {
		l.Uncommitted = r.Uncommitted()
	}
	s.fleet.mu.Lock()
	defer s.fleet.mu.Unlock()
	f := s.flow
	l.Running = f.running - f.stints.waitInRuns()
	l.Retrying, l.Settling, l.Bytes = len(f.retries), f.places.settling, f.places.bytes.held
	inHand := f.places.taken + f.places.behind + f.places.shelved
	l.Held, l.Waiting = inHand+l.Settling, max(0, inHand-l.Running-l.Retrying)
	_, l.Lanes = f.sources.count()
	l.Blocked, l.Workers, l.Polls = blocked(f, now), workers, int(f.places.polls)
	return l
}

// blocked is Live.Blocked. The caller holds the lock.
func blocked(f *flow, now moment) (longest time.Duration) {
	for _, st := range f.stints.all {
		for _, it := range st.its {
			if it.laneNext != nil && it.state.inHand() {
				longest = max(longest, now.since(st.begun))
			}
		}
	}
	for _, it := range f.retries {
		if it.laneNext != nil && it.first != noMoment {
			longest = max(longest, now.since(it.first))
		}
	}
	return longest
}

// Counts returns the numbers of the session so far.
func (s *Session) Counts() Counts {
	stalled, _ := s.service.stalls(time.Now())
	s.fleet.mu.Lock()
	defer s.fleet.mu.Unlock()
	c := s.flow.count
	c.Stalled = stalled
	for _, st := range s.flow.stints.all {
		c.StillRunning += len(st.its)
	}
	c.Took = time.Since(s.begun)
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
	_, stalls := s.service.stalls(now)
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
		id := st.its[0].ID
		if a, left := f.stints.abandoned[st]; left { // its item may be gone by now
			id = a.ID
		}
		goids = append(goids, goid)
		slow = append(slow, AbandonedHandler{ID: id, Since: begun})
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

package engine

import (
	"time"

	"github.com/godwitmq/godwit/driver"
)

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
	if r, ok := s.service.recv.(driver.Committer); ok {
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
	l.Blocked, l.Workers, l.Polls = f.blocked(now), workers, int(f.places.polls)
	return l
}

// blocked is Live.Blocked. The caller holds the lock.
func (f *flow) blocked(now moment) (longest time.Duration) {
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

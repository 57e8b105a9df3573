package godwit

import (
	"fmt"
	"strings"
)

// left is what a session still holds for deliveries, by the names of what keeps count; "": nothing. At the end of a session
// anything is a leak: some exit of a delivery has forgotten to give a part of it back.
func (s *session) left() string {
	var parts []string
	say := func(n int64, what string) {
		if n != 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	s.places.counted(say, s.queue.alone)
	s.keeper.counted(say)
	s.bus.counted(s, say)
	s.tenants.counted(say)
	s.sources.counted(say)
	say(s.running.Load(), "running")
	return strings.Join(parts, ", ")
}

// audit notes what a session holds at its end, after everything in its hands has been settled or given back.
func (s *session) audit() {
	left := s.left()
	if left == "" {
		return
	}
	s.count.leaked.Add(1)
	s.c.log.Error("the consumer still counts deliveries that it does not hold any more: please report this", "left", left)
}

func (p *places) counted(say func(int64, string), alone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes.mu.Lock()
	defer p.bytes.mu.Unlock()
	say(int64(p.taken), "places")
	say(int64(p.settling), "verdicts under way")
	say(int64(p.shelved), "on the shelf")
	say(p.shelf, "bytes on the shelf")
	say(p.polls, "polls")
	if alone { // in a fleet they are everybody's
		say(p.bytes.held, "bytes")
	}
}

// counted leaves handlers out: one that has not returned is in Report.StillRunning.
func (k *keeper) counted(say func(int64, string)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	leases := int64(0)
	for l := k.leases.head; l != nil; l = l.next {
		leases++
	}
	say(leases, "leases")
	say(int64(len(k.holds)), "held retries")
}

func (b *bus) counted(s *session, say func(int64, string)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := int64(0)
	for d := s.queue.head; d != nil; d = d.busNext {
		n++
	}
	say(n, "on the bus")
	say(int64(s.queue.active), "against the cap")
}

func (t *tenants) counted(say func(int64, string)) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	say(int64(len(t.by)), "tenants")
}

func (s *sources) counted(say func(int64, string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lanes, started := int64(0), int64(0)
	for _, src := range s.by {
		src.mu.Lock()
		lanes += int64(len(src.last))
		src.mu.Unlock()
		started += src.run.Load() % deadSource
	}
	say(lanes, "lanes")
	say(started, "starts")
}

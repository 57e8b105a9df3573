package sim

import (
	"slices"
	"time"
)

// fleetState is the state of one fleet. The checkers' lock guards it.
type fleetState struct {
	members []*consumer
	most    int   // handlers at once
	bytes   int64 // bound of held bytes; 0: the default
	ended   chan struct{}
	over    bool // ended is closed

	begun  time.Time // when a handler last began
	turnOf *consumer // the consumer whose handlers begin now; nil: not both consumers had deliveries waiting
	length int       // handlers that began in this turn
	whole  bool      // the whole turn was observed
}

// turns is how long a consumer of a fleet has waited for its turn.
type turns struct {
	passed int       // handlers of the other consumer that began meanwhile
	last   time.Time // when the latest of them began
}

// took is called when a handler of a fleet's consumer begins. It checks that no other consumer waits for longer than
// one turn. The order of what happens at the same time is unknown, so a violation is reported at a later time. If the
// handler's worker has read a body before, it took the delivery at an unknown earlier time.
func (c *checker) took(p *consumer, h *delivery) {
	if p.fleet == nil {
		return
	}
	now := time.Now()
	c.weighs(p, now)
	p.turns = turns{}
	if h.size == 0 {
		return
	}
	for _, other := range p.fleet.members {
		if other == p {
			continue
		}
		t := &other.turns
		if !other.runnable(now.Add(-p.inc.window())) || other.below(p) {
			*t = turns{}
			continue
		}
		if t.passed > other.turnOf(p) && t.last.Before(now) {
			c.violated([]string{p.name},
				"%s has started deliveries of %s only, %d of them, although a delivery of %s was waiting", p.name,
				p.checker.plan.channel(), t.passed, other.checker.plan.channel())
		}
		t.passed++
		t.last = now
		c.w.tally.add(countTurns, 1)
	}
}

// weighs checks that the length of a turn is the consumer's weight if both consumers had deliveries waiting all the
// time. The order of what happens at the same time is unknown.
func (c *checker) weighs(p *consumer, now time.Time) {
	f := p.fleet
	if c.w.plan.kind != worldShares {
		return
	}
	all := f.begun.Before(now)
	for _, one := range f.members {
		all = all && one.waits(now)
	}
	f.begun = now
	switch {
	case !all:
		f.turnOf, f.length = nil, 0
	case f.turnOf == p:
		f.length++
	default:
		if last := f.turnOf; last != nil && f.whole {
			c.w.tally.add(countWeights, 1)
			if f.length != last.weight {
				c.violated([]string{p.name}, "%s started %d handlers of %s in one turn, and its weight is %d",
					p.name, f.length, last.checker.plan.channel(), last.weight)
			}
		}
		f.whole = f.turnOf != nil // otherwise this turn may have begun earlier
		f.turnOf, f.length = p, 1
	}
}

// waits reports whether a delivery of a consumer has been waiting for a handler since before now.
func (p *consumer) waits(now time.Time) bool {
	for h := range p.open {
		if h.fresh() && p.moved[h.m.key].Before(now) {
			return true
		}
	}
	return false
}

// turnOf is how many handlers of another consumer may begin while this consumer waits.
func (p *consumer) turnOf(other *consumer) int {
	if p.priority > other.priority {
		return 0
	}
	return other.weight * (1 + p.wasted)
}

func (p *consumer) below(other *consumer) bool { return p.priority < other.priority }

// runnable reports whether a consumer of a fleet has been able to start a delivery since some time. The delivery must
// be the only one of its key here, and nothing may have happened to the key since then. With batches, a delivery may
// wait until its batch is full, and with a rate until it may start.
func (p *consumer) runnable(since time.Time) bool {
	if p.crashed || p.closing || p.paused || p.breakerOpen || p.inc.batch != nil || p.limited() ||
		len(p.calls)+p.mayBeFetching() >= p.least() || !p.changed.Before(since) || !p.closedAt.Before(since) ||
		!p.freed.Before(since) {
		return false
	}
	keys := map[string]int{}
	for h := range p.open {
		keys[h.m.key]++
	}
	for h := range p.kept { // a held retry blocks its lane, even if another process has finished the message
		keys[h.m.key]++
	}
	for h := range p.open {
		// Otherwise a handler that has lost its lease still occupies the lane, or the share of the tenant.
		if h.fresh() && !h.mayBeFetched() && keys[h.m.key] == 1 && p.moved[h.m.key].Before(since) &&
			p.checker.due(h.m) && !p.checker.behindRunning(h) &&
			(p.inc.options.MaxPerTenant == 0 || p.checker.runningOf(p, h.m.key) == 0) {
			return true
		}
	}
	return false
}

// limited reports whether a rate may delay a delivery.
func (p *consumer) limited() bool {
	return p.inc.options.Rate.Events > 0 || p.inc.options.TenantRate.Events > 0
}

// due reports whether no earlier message of its key has to be handled first. The caller holds c.mu.
func (c *checker) due(m *message) bool {
	return !c.plan.ordered || !slices.ContainsFunc(c.lines[m.key].messages[:m.index], (*message).pending)
}

// least is the smallest number of handlers that was set within the last moments.
func (p *consumer) least() int {
	n := p.sizes[len(p.sizes)-1].n
	for i := len(p.sizes) - 2; i >= 0 && !p.sizes[i+1].from.Before(time.Now().Add(-slack)); i-- {
		n = min(n, p.sizes[i].n)
	}
	return n
}

package sim

import (
	"slices"
	"time"
)

// crew is the consumers of one fleet. Guarded by the books' lock.
type crew struct {
	members []*member
	most    int   // handlers at once
	bytes   int64 // held at most; 0: as many as usual
	ended   chan struct{}
	over    bool // ended is closed

	begun  time.Time // when a handler last began
	turnOf *member   // of which; nil: not both had more to do
	length int       // handlers in this turn
	whole  bool      // since the turn began
}

// turns is how long a consumer of a fleet has waited for its turn.
type turns struct {
	passed int       // handlers of another that began meanwhile
	last   time.Time // when the latest of these did
}

// took enters that a handler of one member of a fleet begins, and checks that none of the others is passed over for
// longer than its turn. What begins in one instant has no order, so the check is made in a later one.
func (b *books) took(p *member) {
	if p.fleet == nil {
		return
	}
	now := time.Now()
	b.weighs(p, now)
	p.turns = turns{}
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
			b.complain([]string{p.name}, "%s starts one delivery after another of %s: %d of them, and does not get round to what has been runnable of %s",
				p.name, p.books.plan.channel(), t.passed, other.books.plan.channel())
		}
		t.passed++
		t.last = now
		b.w.tally.add(countTurns, 1)
	}
}

// weighs checks that the turn of a fleet's member is as long as its weight, where both had more to do all the while.
// What begins in one instant has no order.
func (b *books) weighs(p *member, now time.Time) {
	f := p.fleet
	if b.w.plan.kind != worldShares {
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
			b.w.tally.add(countWeights, 1)
			if f.length != last.weight {
				b.complain([]string{p.name}, "%s had %d handlers of %s in a turn, whose weight is %d",
					p.name, f.length, last.books.plan.channel(), last.weight)
			}
		}
		f.whole = f.turnOf != nil // else this turn may have begun before
		f.turnOf, f.length = p, 1
	}
}

// waits says whether more of a member waits for a handler since before now.
func (p *member) waits(now time.Time) bool {
	for h := range p.open {
		if h.fresh() && p.moved[h.m.key].Before(now) {
			return true
		}
	}
	return false
}

// turnOf is how many handlers of another may begin while a member waits.
func (p *member) turnOf(other *member) int {
	if p.priority > other.priority {
		return 0
	}
	return other.weight * (1 + p.wasted)
}

func (p *member) below(other *member) bool { return p.priority < other.priority }

// runnable says whether a member of a fleet has had something to start since before some time, and could: what is alone
// of its key here, on which nothing has happened since. While a batch is gathered its next ones wait for that.
func (p *member) runnable(since time.Time) bool {
	if p.crashed || p.closing || p.paused || p.broken || p.inc.batch != nil || len(p.stints) >= p.least() ||
		!p.changed.Before(since) || !p.mended.Before(since) || !p.freed.Before(since) {
		return false
	}
	keys := map[string]int{}
	for h := range p.open {
		keys[h.m.key]++
	}
	for h := range p.kept { // a retry that is held blocks its lane, also one of a message that another process has finished
		keys[h.m.key]++
	}
	for h := range p.open {
		if h.fresh() && keys[h.m.key] == 1 && p.moved[h.m.key].Before(since) && p.books.due(h.m) &&
			!p.books.behindRunning(h) && (p.inc.options.MaxPerTenant == 0 || p.books.runningOf(p, h.m.key) == 0) {
			return true // else a handler that has lost its lease still has the lane, or the share of the tenant
		}
	}
	return false
}

// due says that nothing of its key has to come before a message. The caller holds b.mu.
func (b *books) due(m *message) bool {
	return !b.plan.ordered || !slices.ContainsFunc(b.lines[m.key].messages[:m.index], (*message).pending)
}

// least is the smallest number of handlers that was good within the last moments.
func (p *member) least() int {
	n := p.sizes[len(p.sizes)-1].n
	for i := len(p.sizes) - 2; i >= 0 && !p.sizes[i+1].from.Before(time.Now().Add(-slack)); i-- {
		n = min(n, p.sizes[i].n)
	}
	return n
}

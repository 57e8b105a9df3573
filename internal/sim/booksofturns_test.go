package sim

import (
	"slices"
	"time"
)

// crew is the consumers of one fleet. Guarded by the books' lock.
type crew struct {
	members []*member
	most    int // handlers at once
	ended   chan struct{}
	over    bool // ended is closed
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
	p.turns = turns{}
	now := time.Now()
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
	for h := range p.open {
		if h.fresh() && keys[h.m.key] == 1 && p.moved[h.m.key].Before(since) && p.books.due(h.m) &&
			(p.inc.options.MaxPerTenant == 0 || p.books.runningOf(p, h.m.key) == 0) { // one that lost its lease runs on in its share
			return true
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

package sim

import (
	"time"

	"github.com/godwitmq/godwit"
)

// stint is one call of a handler, with one delivery or a batch of them.
type stint struct {
	of        *member
	left      int  // deliveries whose end is not yet in the books
	abandoned bool // its worker was replaced
}

// sized is a number of handlers that a consumer may have at once from some time on.
type sized struct {
	from time.Time
	n    int
}

// sizedTo enters another number. The caller holds b.mu.
func (p *member) sizedTo(n int) { p.sizes = append(p.sizes, sized{time.Now(), n}) }

// most is the largest number that was good at any time within the last while. The caller holds b.mu.
func (p *member) most(within time.Duration) (n int) {
	for i := len(p.sizes) - 1; i >= 0; i-- {
		n = max(n, p.sizes[i].n)
		if p.sizes[i].from.Before(time.Now().Add(-within)) {
			break
		}
	}
	return n
}

// resizes enters that SetConcurrency is about to be called.
func (b *books) resizes(p *member, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.crashed || p.closing {
		return
	}
	b.w.tally.add(calledResize, 1)
	b.w.trace.note("%s shall have %d handlers", p.name, n)
	p.floor, p.set = n, time.Now()
	p.sizedTo(n)
}

// resized enters that a consumer has adapted its pool.
func (b *books) resized(p *member, from, to int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.crashed {
		return
	}
	b.w.trace.note("%s goes from %d handlers to %d", p.name, from, to)
	if to > from {
		b.w.tally.add(countGrew, 1)
	} else {
		b.w.tally.add(countShrank, 1)
	}
	if most := max(p.floor, p.inc.options.MaxConcurrency); (to < p.floor || to > most) && p.set.Before(time.Now()) {
		b.complain([]string{p.name}, "%s has %d handlers at once, which lies outside of %d to %d", p.name, to, p.floor, most)
	}
	p.sizedTo(to)
	if b.exceeded(p); to >= p.excess.n {
		p.excess = sized{}
	}
}

// atOnce checks how many handlers run at once, of a process that has just begun another one. The caller holds b.mu.
func (b *books) atOnce(p *member) {
	if p.inc.pull != pullNot { // its loop is one, but what it keeps is its own affair
		return
	}
	b.exceeded(p)
	if n := p.atWork(); n > p.most(slack+p.inc.window()) && p.excess.n == 0 {
		p.excess = sized{time.Now(), n}
	}
	if p.fleet == nil {
		return
	}
	n := 0
	for _, other := range p.fleet.members {
		n += other.atWork()
	}
	if n > p.fleet.most {
		b.complain([]string{p.name}, "the fleet %s has %d handlers at once, more than %d", p.name, n, p.fleet.most)
	}
}

// exceeded complains of too many handlers, unless the consumer said in the same instant that there may be so many. The
// caller holds b.mu.
func (b *books) exceeded(p *member) {
	if p.excess.n > 0 && p.excess.from.Before(time.Now()) {
		b.complain([]string{p.name}, "%s has %d handlers at once, more than %d", p.name, p.excess.n, p.most(slack+p.inc.window()))
		p.excess = sized{}
	}
}

// atWork is how many handlers run that have a worker's place; the last ones of a consumer that ends are left alone.
func (p *member) atWork() (n int) {
	for s := range p.stints {
		if !s.abandoned && !p.closing {
			n++
		}
	}
	return n
}

// shares checks that no tenant has more than its share of a process. The caller holds b.mu.
func (b *books) shares(p *member, h *holding) {
	most := p.inc.options.MaxPerTenant
	if most == 0 || h.m.key == "" {
		return
	}
	b.w.tally.add(countShared, 1)
	if n := b.runningOf(p, h.m.key); n > most {
		b.complain([]string{h.m.label}, "%s handles %d deliveries of the tenant %s at once, more than %d", p.name, n, h.m.key, most)
	}
}

// runningOf is how many deliveries of a key a process works on. The caller holds b.mu.
func (b *books) runningOf(p *member, key string) (n int) {
	for other := range b.lines[key].running {
		if other.of == p && !other.stint.abandoned {
			n++
		}
	}
	return n
}

// counted checks the number of an attempt: what the service has counted, less what this very process gave back
// untouched, and what it has held for a retry. Of a message that it has received twice at once, no such account is kept.
func (b *books) counted(p *member, h *holding, d *godwit.Delivery) {
	if b.chaos() || p.twice[h.id] {
		return
	}
	if most := max(1, h.count-p.untouched[h.id]+p.retried[h.id]); d.Attempt < 1 || d.Attempt > most {
		b.complain([]string{h.m.label}, "%s starts %s as attempt %d; at most it is the %dth: %d receives, of which it gave %d back, and %d retries here",
			p.name, h.m.label, d.Attempt, most, h.count, p.untouched[h.id], p.retried[h.id])
	}
}

// broke enters that a breaker has opened or closed.
func (b *books) broke(p *member, open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.crashed {
		return
	}
	b.w.trace.note("%s has a breaker that is open: %v", p.name, open)
	if p.broken = open; open {
		p.brokeAt = time.Now()
		b.w.tally.add(countBroke, 1)
	} else {
		p.mended = time.Now()
		b.w.tally.add(countMended, 1)
	}
}

// burnt checks that a failure while a breaker has been open is nobody's attempt. The caller holds b.mu.
func (b *books) burnt(p *member, h *holding, v godwit.Verdict) {
	if p.broken && p.brokeAt.Before(time.Now()) && (v.Action == godwit.Retry || v.Action == godwit.Reject) {
		b.complain([]string{h.m.label}, "%s has an open breaker, and yet %s fails with %v", p.name, h.m.label, v.Action)
	}
}

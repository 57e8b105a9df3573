package sim

import (
	"time"

	"github.com/godwitmq/godwit"
)

// stint is one call of a handler, with one delivery or a batch of them.
type stint struct {
	of        *member
	began     time.Time
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

// shelf checks how much waits behind held retries, of a process that has had time to leave what is beyond the bound to
// the service: of a lane all that is here waits with its head. What the service is about to dead-letter by itself is
// kept whatever the bound. The caller holds b.mu.
func (b *books) shelf(p *member) {
	n, size := 0, 0
	for h := range p.kept {
		switch {
		case h.running, h.letGo, h.unclear, h.lost, h.failed, h.deleted, h.m.rejected,
			!time.Now().Before(h.ended.Add(h.retry)): // one that is due takes a place again
			delete(p.kept, h)
			continue
		case time.Since(h.ended) < slack:
			continue
		}
		n, size = n+1, size+h.size
		for behind := range p.open {
			if b.plan.ordered && behind.m.key == h.m.key && behind.fresh() && behind.since.Equal(h.since) {
				n, size = n+1, size+behind.size
			}
		}
	}
	if n > 0 {
		b.w.tally.add(countShelf, 1)
	}
	bytes := p.inc.options.MaxBytes
	if p.fleet != nil {
		bytes = p.fleet.bytes
	}
	if bytes == 0 {
		bytes = usualBytes
	}
	if n > shelfSize || int64(size) > bytes/shelfPart {
		b.complain([]string{p.name}, "%s lets %d deliveries of %d bytes wait for held retries; %d and %d are the most",
			p.name, n, size, shelfSize, bytes/shelfPart)
	}
}

const (
	// shelfSize deliveries, and one part in shelfPart of all bytes, may wait for held retries.
	shelfSize, shelfPart = 1000, 4
	// usualBytes is what a consumer holds at most unless told otherwise.
	usualBytes = 64 << 20
)

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
	if b.chaos() || p.twice[h.id] || h.lost { // the lost one was counted before its successor was given back
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
	p.healed = time.Time{}
	if p.broken = open; open {
		p.brokeAt = time.Now()
		b.w.tally.add(countBroke, 1)
	} else {
		p.mended = time.Now()
		b.w.tally.add(countMended, 1)
	}
}

// fails enters that a policy is asked about a failure, and checks that the delivery knows of all that were in its
// consumer's hands.
func (b *books) fails(p *member, d *godwit.Delivery) {
	b.entry(p, d, func(h *holding) {
		h.asked++
		p.failures[h.id]++
		if want := h.failures + 1; d.Failures != want || d.Failures > p.failures[h.id] {
			b.complain([]string{h.m.label}, "%s has %d failures of %s on record; it is the %dth in its hands, after %d",
				p.name, d.Failures, h.m.label, p.failures[h.id], h.failures)
		}
	})
}

// countedAgain checks the numbers of a delivery that starts again without having left its process: a retry is one more
// attempt, and what never came to a verdict is none. Of iterators the books do not see the verdicts.
func (b *books) countedAgain(p *member, h *holding, d *godwit.Delivery) {
	if p.inc.pull == pullNot && h.begun > 0 {
		b.w.tally.add(countHeldAgain, 1)
		attempt := h.attempt
		if h.held {
			attempt++
		}
		if d.Attempt != attempt || d.Failures != h.failures+h.asked {
			b.complain([]string{h.m.label}, "%s starts %s again as attempt %d with %d failures; it should be %d with %d",
				p.name, h.m.label, d.Attempt, d.Failures, attempt, h.failures+h.asked)
		}
	}
	h.attempt, h.failures, h.asked, h.held, h.answered = d.Attempt, d.Failures, 0, false, false
}

// stillBroken checks that a breaker has closed once a handler has succeeded. The caller holds b.mu.
func (b *books) stillBroken(p *member) {
	if !p.healed.IsZero() && p.healed.Before(time.Now()) {
		b.complain([]string{p.name}, "%s has handled a delivery %v ago, and its breaker is still open",
			p.name, time.Since(p.healed))
		p.healed = time.Time{}
	}
}

// answers checks that a delivery of a batch ends with its own part of the handler's answer.
func (b *books) answers(p *member, h *holding, err error) {
	if !h.answered {
		return
	}
	b.w.tally.add(countEntries, 1)
	if err != h.entry {
		b.complain([]string{h.m.label}, "%s ends %s of a batch with the error %v, where the handler answered %v",
			p.name, h.m.label, err, h.entry)
	}
}

// burnt checks that a failure while a breaker has been open is nobody's attempt. The caller holds b.mu.
func (b *books) burnt(p *member, h *holding, v godwit.Verdict) {
	if p.broken && p.brokeAt.Before(time.Now()) && (v.Action == godwit.ActionRetry || v.Action == godwit.ActionReject) {
		b.complain([]string{h.m.label}, "%s has an open breaker, and yet %s fails with %v", p.name, h.m.label, v.Action)
	}
}

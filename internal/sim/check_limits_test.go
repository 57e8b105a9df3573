package sim

import (
	"time"

	"github.com/godwitmq/godwit"
)

// handlerCall is one call of a handler, with one delivery or a batch.
type handlerCall struct {
	of        *consumer
	began     time.Time
	left      int  // deliveries that have not ended
	abandoned bool // its worker was replaced
}

// sized is the number of handlers that a consumer may have from some time on.
type sized struct {
	from time.Time
	n    int
}

// sizedTo records a new number of handlers. The caller holds c.mu.
func (p *consumer) sizedTo(n int) { p.sizes = append(p.sizes, sized{time.Now(), n}) }

// most is the largest number of handlers that was allowed within the last while. The caller holds c.mu.
func (p *consumer) most(within time.Duration) (n int) {
	for i := len(p.sizes) - 1; i >= 0; i-- {
		n = max(n, p.sizes[i].n)
		if p.sizes[i].from.Before(time.Now().Add(-within)) {
			break
		}
	}
	return n
}

// resizes records that SetConcurrency is about to be called.
func (c *checker) resizes(p *consumer, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.crashed || p.closing {
		return
	}
	c.w.tally.add(calledResize, 1)
	c.w.trace.note("%s is set to %d handlers", p.name, n)
	p.floor, p.set = n, time.Now()
	p.sizedTo(n)
}

// resized records that a consumer has adapted its pool.
func (c *checker) resized(p *consumer, from, to int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.crashed {
		return
	}
	c.w.trace.note("%s goes from %d handlers to %d", p.name, from, to)
	if to > from {
		c.w.tally.add(countGrew, 1)
	} else {
		c.w.tally.add(countShrank, 1)
	}
	if most := max(p.floor, p.inc.options.MaxConcurrency); (to < p.floor || to > most) && p.set.Before(time.Now()) {
		c.violated([]string{p.name}, "%s has %d handlers, and the bounds are %d and %d", p.name, to, p.floor, most)
	}
	p.sizedTo(to)
	if c.exceeded(p); to >= p.excess.n {
		p.excess = sized{}
	}
}

// atOnce checks the number of handlers when another one has just begun. The caller holds c.mu.
func (c *checker) atOnce(p *consumer) {
	if p.inc.pull != pullNot { // an iterator's caller may keep any number of deliveries
		return
	}
	c.exceeded(p)
	if n := p.atWork() - c.untold(p); n > p.most(slack+p.inc.window()) && p.excess.n == 0 {
		p.excess = sized{time.Now(), n}
	}
	if p.fleet == nil {
		return
	}
	n := 0
	for _, other := range p.fleet.members {
		n += other.atWork() - c.untold(other)
	}
	if n > p.fleet.most {
		c.violated([]string{p.name}, "the fleet %s runs %d handlers, and %d are allowed", p.name, n, p.fleet.most)
	}
}

// exceeded reports too many handlers, unless the consumer reported a larger number at the same time. The caller holds
// c.mu.
func (c *checker) exceeded(p *consumer) {
	if p.excess.n > 0 && p.excess.from.Before(time.Now()) {
		c.violated([]string{p.name}, "%s runs %d handlers, and %d are allowed", p.name, p.excess.n,
			p.most(slack+p.inc.window()))
		p.excess = sized{}
	}
}

// atWork is the number of running handlers that count. Abandoned handlers do not count, nor those of a consumer that is
// ending.
func (p *consumer) atWork() (n int) {
	for s := range p.calls {
		if !s.abandoned && !p.closing {
			n++
		}
	}
	return n
}

// untold is the number of running handlers that may have been abandoned, although the consumer has not said so. The
// caller holds c.mu.
func (c *checker) untold(p *consumer) int {
	calls := map[*handlerCall]bool{}
	for _, h := range p.handles {
		if h.running && !h.call.abandoned && !p.closing && c.overdue(h) {
			calls[h.call] = true
		}
	}
	return len(calls)
}

// shelf checks how many deliveries wait because of held retries. A held retry blocks its lane, so the deliveries behind
// it are counted, too. The consumer has had time to leave what exceeds the bound to the service. Messages that the
// service would dead-letter by itself are held despite the bound. The caller holds c.mu.
func (c *checker) shelf(p *consumer) {
	n, size := 0, 0
	for h := range p.kept {
		switch {
		case h.running, h.letGo, h.unclear, h.lost, h.failed, h.deleted, h.m.rejected,
			!time.Now().Before(h.ended.Add(h.retry)): // a retry that is due takes a place again
			delete(p.kept, h)
			continue
		case time.Since(h.ended) < slack:
			continue
		}
		n, size = n+1, size+h.size
		for behind := range p.open {
			if c.plan.ordered && behind.m.key == h.m.key && behind.fresh() && behind.since.Equal(h.since) {
				n, size = n+1, size+behind.size
			}
		}
	}
	if n > 0 {
		c.w.tally.add(countShelf, 1)
	}
	bytes := p.inc.options.MaxBytes
	if p.fleet != nil {
		bytes = p.fleet.bytes
	}
	if bytes == 0 {
		bytes = usualBytes
	}
	if n > shelfSize || int64(size) > bytes/shelfPart {
		c.violated([]string{p.name},
			"%s has %d deliveries of %d bytes on its shelf; %d deliveries and %d bytes are allowed", p.name, n, size,
			shelfSize, bytes/shelfPart)
	}
}

const (
	// At most shelfSize deliveries, and one part in shelfPart of all bytes, may be on the shelf.
	shelfSize, shelfPart = 1000, 4
	// usualBytes is the default of MaxBytes.
	usualBytes = 64 << 20
)

// shares checks that no tenant exceeds its share of a process. The caller holds c.mu.
func (c *checker) shares(p *consumer, h *delivery) {
	most := p.inc.options.MaxPerTenant
	if most == 0 || h.m.key == "" {
		return
	}
	c.w.tally.add(countShared, 1)
	if n := c.runningOf(p, h.m.key); n > most {
		c.violated([]string{h.m.label},
			"%s handles %d deliveries of the tenant %s at the same time, and %d are allowed", p.name, n, h.m.key, most)
	}
}

// runningOf is how many deliveries of a key a process handles. The next one may start before the consumer says that it
// has abandoned a handler. The caller holds c.mu.
func (c *checker) runningOf(p *consumer, key string) (n int) {
	for other := range c.lines[key].running {
		if other.of == p && !other.call.abandoned && !c.overdue(other) {
			n++
		}
	}
	return n
}

// counted checks the number of an attempt. It is at most the number of receives that the service has counted, minus
// those that this process released without an attempt, plus the retries that it has held. If the process held the
// message twice at the same time, the number is not checked.
func (c *checker) counted(p *consumer, h *delivery, d *godwit.Delivery) {
	if c.chaos() || p.twice[h.id] || h.lost { // the lost delivery was counted before the next one was released
		return
	}
	if most := max(1, h.count-p.untouched[h.id]+p.retried[h.id]); d.Attempt < 1 || d.Attempt > most {
		c.violated([]string{h.m.label},
			"%s starts %s as attempt %d, and at most %d is right: %d receives, %d releases and %d held retries", p.name,
			h.m.label, d.Attempt, most, h.count, p.untouched[h.id], p.retried[h.id])
	}
}

// breakerChanged records that a breaker has opened or closed.
func (c *checker) breakerChanged(p *consumer, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.crashed {
		return
	}
	c.w.trace.note("the breaker of %s is open: %v", p.name, open)
	p.succeeded = time.Time{}
	if p.breakerOpen = open; open {
		p.openedAt = time.Now()
		c.w.tally.add(countOpened, 1)
	} else {
		p.closedAt = time.Now()
		c.w.tally.add(countClosed, 1)
	}
}

// fails records that a policy is called for a failure, and checks that the delivery counts all failures in this
// consumer.
func (c *checker) fails(p *consumer, d *godwit.Delivery) {
	c.entry(p, d, func(h *delivery) {
		h.asked++
		p.failures[h.id]++
		if want := h.failures + 1; d.Failures != want || d.Failures > p.failures[h.id] {
			c.violated([]string{h.m.label}, "%s counts %d failures of %s; %d are its own, after %d before",
				p.name, d.Failures, h.m.label, p.failures[h.id], h.failures)
		}
	})
}

// countedAgain checks attempt and failures of a delivery that starts again in the same process. A retry adds an
// attempt; a start without a verdict does not. The verdicts of iterators are unknown, so they are not checked.
func (c *checker) countedAgain(p *consumer, h *delivery, d *godwit.Delivery) {
	if p.inc.pull == pullNot && h.begun > 0 {
		c.w.tally.add(countHeldAgain, 1)
		attempt := h.attempt
		if h.held {
			attempt++
		}
		if d.Attempt != attempt || d.Failures != h.failures+h.asked {
			c.violated([]string{h.m.label},
				"%s starts %s again as attempt %d with %d failures; want attempt %d with %d failures", p.name,
				h.m.label, d.Attempt, d.Failures, attempt, h.failures+h.asked)
		}
	}
	h.attempt, h.failures, h.asked, h.held, h.answered = d.Attempt, d.Failures, 0, false, false
}

// breakerStillOpen checks that a breaker has closed after a handler succeeded. The caller holds c.mu.
func (c *checker) breakerStillOpen(p *consumer) {
	if !p.succeeded.IsZero() && p.succeeded.Before(time.Now()) {
		c.violated([]string{p.name}, "a handler of %s succeeded %v ago, and its breaker is still open",
			p.name, time.Since(p.succeeded))
		p.succeeded = time.Time{}
	}
}

// answers checks that a delivery of a batch ends with its own part of the handler's error.
func (c *checker) answers(p *consumer, h *delivery, err error) {
	if !h.answered {
		return
	}
	h.answered = false // it may end again without a call of the handler, if there is no room for its body
	c.w.tally.add(countEntries, 1)
	if err != h.entry {
		c.violated([]string{h.m.label}, "%s ends %s of a batch with the error %v; the handler returned %v for it",
			p.name, h.m.label, err, h.entry)
	}
}

// breakerCounts checks that a failure does not count as an attempt while the breaker is open. The caller holds c.mu.
func (c *checker) breakerCounts(p *consumer, h *delivery, v godwit.Verdict) {
	if p.breakerOpen && p.openedAt.Before(time.Now()) && (v.Action == godwit.ActionRetry ||
		v.Action == godwit.ActionReject) {
		c.violated([]string{h.m.label}, "%s has an open breaker, and a failure of %s ends with %v", p.name, h.m.label,
			v.Action)
	}
}

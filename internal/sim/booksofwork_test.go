package sim

import (
	"errors"
	"time"

	"github.com/godwitmq/godwit"
)

// ahead is how many deliveries a consumer may hold beyond those its handlers work on.
const ahead = 10

// heldBelow: on an ordered channel a shorter retry waits in the process, under its lease.
const heldBelow = 5 * time.Minute

// hooks enter what a consumer says about itself.
func (b *books) hooks(p *member) godwit.Hooks {
	return godwit.Hooks{
		Received: func(d *godwit.Delivery) { b.came(p, d) },
		Ended:    func(d *godwit.Delivery, v godwit.Verdict, err error, _ time.Duration) { b.ended(p, d, v, err) },
		GivenBack: func(d *godwit.Delivery) {
			b.entry(p, d, func(h *holding) {
				b.w.tally.add(countGivenBack, 1)
				b.w.trace.note("%s gives %s back", p.name, h.m.label)
				h.letGo = true
				delete(p.open, h)
			})
		},
		LeaseLost: func(d *godwit.Delivery) { b.entry(p, d, func(h *holding) { b.leaseLost(p, h) }) },
		SettleFailed: func(d *godwit.Delivery, err error) {
			b.entry(p, d, func(h *holding) { b.settleFailed(p, h, err) })
		},
		// On a channel without order a handler that ignores its context is dead-lettered while it runs.
		Abandoned: func(d *godwit.Delivery, _ []byte) {
			b.entry(p, d, func(h *holding) {
				b.w.tally.add(struckIgnored, 1)
				if !b.w.plan.ordered {
					h.m.rejected = true
					delete(p.open, h)
				}
			})
		},
		Unsettled: func(*godwit.Delivery) { b.w.tally.add(struckUnsettled, 1) },
	}
}

// entry finds a delivery of a process that is not dead and calls f with the books locked.
func (b *books) entry(p *member, d *godwit.Delivery, f func(h *holding)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := p.by[d]; h != nil && !p.crashed {
		f(h)
	}
}

func (b *books) came(p *member, d *godwit.Delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := labelOf(string(d.Body))
	came := p.waiting[d.ID]
	if len(came) == 0 {
		b.complain([]string{name}, "%s has a delivery of %q that never came to it", p.name, name)
		return
	}
	h := came[0]
	p.waiting[d.ID] = came[1:]
	h.came = true
	b.w.tally.add(countReceives, 1)
	p.by[d] = h
	p.open[h] = true
	if most := p.inc.options.Concurrency + ahead; len(p.open) > most && !p.crashed {
		b.complain([]string{p.name}, "%s holds %d deliveries, more than %d", p.name, len(p.open), most)
	}
}

// start enters a handler's start and says which it is of its message; 0: the process is dead, nothing started.
func (b *books) start(p *member, d *godwit.Delivery) (h *holding, nth int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h = p.by[d]
	if h == nil || p.crashed {
		return nil, 0
	}
	m := h.m
	m.starts++
	b.w.tally.add(countStarts, 1)
	b.w.trace.note("%s starts %s (%d)", p.name, m.label, m.starts)
	line := b.lines[m.key]
	if m.finished() {
		b.w.tally.add(countAgain, 1)
	}
	if b.w.plan.ordered {
		b.inOrder(p, h, line)
	}
	for other := range line.running {
		switch {
		case other == h || other.handle == h.handle:
			b.complain([]string{m.label}, "%s handles one delivery of %s twice at once", p.name, m.label)
		case !b.w.plan.ordered || m.index < other.m.index && m.starts > 1:
			// No order; or an earlier one came again, whose successor had every right to run.
		case b.holds(other):
			b.complain([]string{m.label, other.m.label}, "two handlers of one key: %s starts %s while %s works on %s under a good lease",
				p.name, m.label, other.of.name, other.m.label)
		}
	}
	h.running = true
	line.running[h] = true
	line.high = max(line.high, m.index)
	return h, m.starts
}

// inOrder checks that everything before a message that starts is finished for good.
func (b *books) inOrder(p *member, h *holding, line *keyLine) {
	m := h.m
	if m.starts == 1 && m.index < line.high {
		b.complain([]string{m.label, line.messages[line.high].label}, "out of order: %s starts %s for the first time after %s", p.name, m.label, line.messages[line.high].label)
	}
	for _, before := range line.messages[:m.index] {
		if (before.accepted || before.received) && !before.finished() {
			b.complain([]string{m.label, before.label}, "out of order: %s starts %s while %s is not finished", p.name, m.label, before.label)
			return
		}
	}
}

// outcome is what became of a handler, as far as it decides by itself.
type outcome int

const (
	outUndecided outcome = iota // its policy will
	outDone
	outRejected
	outRetried
	outReleased
)

// returned enters a handler's return.
func (b *books) returned(h *holding, what outcome, after time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h.of.crashed {
		return // it never came to that
	}
	h.running = false
	delete(b.lines[h.m.key].running, h)
	b.w.trace.note("%s returns from %s: %d", h.of.name, h.m.label, what)
	switch what {
	case outDone:
		b.w.tally.add(countFinished, 1)
		h.m.success, b.done[h.id] = true, true
	case outRejected:
		h.m.rejected = true
	case outRetried:
		b.retries(h, after)
	}
	if h.of.inc.pull != pullNot {
		h.ended = time.Now()
		delete(h.of.open, h)
	}
}

// ended enters the verdict on a handler's return.
func (b *books) ended(p *member, d *godwit.Delivery, v godwit.Verdict, err error) {
	b.entry(p, d, func(h *holding) {
		h.ended = time.Now()
		delete(p.open, h)
		b.w.trace.note("%s ends %s: %v", p.name, h.m.label, v)
		switch v.Action {
		case godwit.Reject:
			h.m.rejected = true
		case godwit.Drop:
			h.m.dropped = true
		case godwit.Retry:
			b.retries(h, v.After)
		case godwit.Done, godwit.Stop:
		}
	})
	if errors.Is(err, errInterrupted) {
		b.w.tally.add(struckInterrupted, 1)
	}
}

// retries enters that the service keeps a message for a while, unless it waits in the process.
func (b *books) retries(h *holding, after time.Duration) {
	if b.w.plan.ordered && after < heldBelow {
		return
	}
	h.letGo, h.retry, h.ended = true, after, time.Now()
}

func (b *books) leaseLost(p *member, h *holding) {
	b.w.trace.note("%s loses its lease of %s", p.name, h.m.label)
	h.lost = true
	delete(p.open, h)
	if b.chaos() {
		return
	}
	if !b.excused(h) {
		b.complain([]string{h.m.label}, "%s lost its lease of %s although nothing kept it from renewing it", p.name, h.m.label)
	}
	b.w.tally.add(struckLapse, 1)
}

func (b *books) settleFailed(p *member, h *holding, err error) {
	b.w.trace.note("%s could not settle %s: %v", p.name, h.m.label, err)
	h.failed = true
	if !b.chaos() && !b.excused(h) {
		b.complain([]string{h.m.label}, "%s could not settle %s although nothing kept it from that: %v", p.name, h.m.label, err)
	}
}

// dies enters a crash: what its handlers were doing has no end any more.
func (b *books) dies(p *member) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p.crashed = true
	b.w.trace.note("%s crashes", p.name)
	for _, h := range p.handles {
		if h.running {
			h.running = false
			delete(b.lines[h.m.key].running, h)
		}
	}
}

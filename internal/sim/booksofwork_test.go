package sim

import (
	"errors"
	"strings"
	"time"

	"github.com/godwitmq/godwit"
)

// ahead is how many deliveries a consumer may hold beyond those its handlers work on.
const ahead = 10

// recentHandlers is how many of the last handlers say how fast a consumer is.
const recentHandlers = 20

// pollGrace is how much longer than it should a poll may take.
const pollGrace = 15 * time.Second

// heldBelow: a shorter retry waits in the process, under its lease, as long as that has room for what waits.
const heldBelow = 5 * time.Minute

// hooks enter what a consumer says about itself.
func (b *books) hooks(p *member) godwit.Hooks {
	return godwit.Hooks{
		Received: func(d *godwit.Delivery) { b.came(p, d) },
		Ended:    func(d *godwit.Delivery, v godwit.Verdict, err error, took time.Duration) { b.ended(p, d, v, err, took) },
		GivenBack: func(d *godwit.Delivery) {
			b.entry(p, d, func(h *holding) {
				b.w.tally.add(countGivenBack, 1)
				b.w.trace.note("%s gives %s back", p.name, h.m.label)
				h.letGo, h.back = true, true
				p.untouched[h.id]++
				p.leaves(h)
			})
		},
		// A handler that wants a message again that the queue is about to give up gets a reject with that reason.
		Rejected: func(d *godwit.Delivery, err error) {
			b.entry(p, d, func(h *holding) { h.m.rejected = h.m.rejected || strings.Contains(err.Error(), "maxReceiveCount") })
		},
		LeaseLost: func(d *godwit.Delivery) { b.entry(p, d, func(h *holding) { b.leaseLost(p, h) }) },
		SettleFailed: func(d *godwit.Delivery, err error) {
			b.entry(p, d, func(h *holding) { b.settleFailed(p, h, err) })
		},
		// On a channel without order a handler that ignores its context is dead-lettered while it runs.
		Abandoned: func(d *godwit.Delivery, _ []byte) {
			b.entry(p, d, func(h *holding) {
				b.w.tally.add(struckIgnored, 1)
				b.abandoned(p, h.stint)
			})
		},
		Unsettled: func(*godwit.Delivery) { b.w.tally.add(struckUnsettled, 1) },
		State: func(_, to godwit.State) {
			if to == godwit.StateExiting {
				b.closes(p)
			}
		},
		Breaker: func(open bool, _ error) { b.broke(p, open) },
		Resized: func(from, to int) { b.resized(p, from, to) },
		Shutdown: func(r godwit.Report) {
			if p.fleet != nil { // it has no other way to say it
				b.over(p, r, nil)
			}
		},
	}
}

// abandoned enters that the worker of a handler was replaced. The caller holds b.mu.
func (b *books) abandoned(p *member, s *stint) {
	s.abandoned = true
	if b.plan.ordered {
		return
	}
	for _, h := range p.handles {
		if h.stint == s && h.running {
			h.m.rejected = true
			p.leaves(h)
		}
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
	if h.again {
		b.complain([]string{name}, "%s has %s again, which it had deleted %v before",
			p.name, name, time.Since(p.finished[h.id]))
	}
	if h.m.unwanted {
		b.complain([]string{name}, "%s has %s, which its filter refuses", p.name, name)
	}
	b.w.tally.add(countReceives, 1)
	p.by[d] = h
	p.twice[h.id] = p.twice[h.id] || p.holdsAnother(h)
	p.open[h] = true
	p.moved[h.m.key] = time.Now()
	b.shelf(p)
	n, of := 0, map[string]int{}
	share := p.inc.options.MaxPerTenant
	for h := range p.open {
		if !p.shelved[h.m.key].Before(time.Now()) { // what waits behind a retry stands on a shelf, and may come off it during a poll
			continue
		}
		if of[h.m.key]++; share > 0 && h.m.key != "" && of[h.m.key] > share { // and so does a tenant's surplus
			continue
		}
		n++
	}
	handlers := p.most(maxPoll+pollGrace) * p.inc.batchSize()
	if most := handlers + ahead + p.onTheirWay(handlers); n > most && !p.crashed {
		b.complain([]string{p.name}, "%s holds %d deliveries, more than %d", p.name, n, most)
	}
}

// holdsAnother says whether a process has another receive of the same message in hand. The caller holds b.mu.
func (p *member) holdsAnother(h *holding) bool {
	for other := range p.open {
		if other.id == h.id {
			return true
		}
	}
	return false
}

// start is one delivery in the hands of a handler.
type start struct {
	*holding
	nth int // start of its message
}

// begin enters a handler's start with some deliveries; nil: the process is dead, nothing started.
func (b *books) begin(p *member, ds ...*godwit.Delivery) (starts []start) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.crashed {
		return nil
	}
	s := &stint{of: p, left: len(ds), began: time.Now()}
	for _, d := range ds {
		h := p.by[d]
		if h == nil {
			return nil // which is in the complaints already
		}
		starts = append(starts, start{h, b.start(p, h, d, s)})
	}
	p.stints[s] = true
	b.atOnce(p)
	b.took(p)
	if p.paused && p.changed.Before(time.Now()) && p.inc.pull == pullNot {
		b.complain([]string{p.name}, "%s is paused and starts %s", p.name, starts[0].m.label)
	}
	return starts
}

// start enters one delivery's part of a handler's start, and says which it is of its message. The caller holds b.mu.
func (b *books) start(p *member, h *holding, d *godwit.Delivery, s *stint) (nth int) {
	m := h.m
	b.counted(p, h, d)
	b.countedAgain(p, h, d)
	b.stillBroken(p)
	b.aged(p, m, d)
	b.prompt(p, m, d)
	h.stint = s
	h.begun++
	h.retry, h.unclear = 0, false
	m.starts++
	b.w.tally.add(countStarts, 1)
	b.w.trace.note("%s starts %s (%d)", p.name, m.label, m.starts)
	line := b.lines[m.key]
	if m.finished() {
		b.w.tally.add(countAgain, 1)
	}
	if b.plan.ordered {
		b.inOrder(p, h, line)
	}
	for other := range line.running {
		switch {
		case other == h || other.handle == h.handle:
			b.complain([]string{m.label}, "%s handles one delivery of %s twice at once", p.name, m.label)
		case !b.plan.ordered || other.stint == s || m.index < other.m.index && m.starts > 1:
			// No order; or a batch; or an earlier one came again, whose successor had every right to run.
		case other.m.finished():
			// The verdict on it was reached before its lease was lost: its successor had every right to run.
		case h.lost && p.inc.pull == pullBatch:
			// It was in its caller's hands with others, and nothing tells a caller who has not yet got to it.
		case b.holds(other):
			b.complain([]string{m.label, other.m.label}, "two handlers of one key: %s starts %s while %s works on %s under a good lease",
				p.name, m.label, other.of.name, other.m.label)
		}
	}
	h.running = true
	line.running[h] = true
	line.high = max(line.high, m.index)
	b.shares(p, h)
	return m.starts
}

// aged checks how old a message is when it first starts, in a world in which nothing stands in its way.
func (b *books) aged(p *member, m *message, d *godwit.Delivery) {
	if age := time.Since(d.SentAt); b.plan.kind == worldCalm && m.starts == 0 && age > calmTolerance {
		b.complain([]string{m.label, p.name}, "%s starts %s at the age of %v, with %d handlers; %v is tolerated", p.name, m.label, age, p.most(0), calmTolerance)
	}
}

// prompt checks that a key without a failure does not wait for those that do.
func (b *books) prompt(p *member, m *message, d *godwit.Delivery) {
	if b.plan.kind != worldWaiting || m.starts > 0 || b.plan.about("key waits", m.key).chance(waitingKeys) {
		return
	}
	b.w.tally.add(countPrompt, 1)
	if age := time.Since(d.SentAt); age > promptStart {
		b.complain([]string{m.label, p.name}, "%s starts %s at the age of %v, although only other keys wait for retries",
			p.name, m.label, age)
	}
}

const (
	// waitingKeys is the share of keys whose messages fail once, in worlds for that.
	waitingKeys = 0.5
	// promptStart is how old a message of another key may be there when it first starts.
	promptStart = 15 * time.Second
)

// inOrder checks that everything before a message that starts is finished for good, or stands before it in one batch.
func (b *books) inOrder(p *member, h *holding, line *keyLine) {
	m := h.m
	if m.starts == 1 && m.index < line.high {
		b.complain([]string{m.label, line.messages[line.high].label}, "out of order: %s starts %s for the first time after %s", p.name, m.label, line.messages[line.high].label)
	}
	for _, before := range line.messages[:m.index] {
		if before.pending() && !line.together(before, h) {
			b.complain([]string{m.label, before.label}, "out of order: %s starts %s while %s is not finished", p.name, m.label, before.label)
			return
		}
	}
}

// together says whether a message runs in one batch with a holding.
func (l *keyLine) together(m *message, h *holding) bool {
	for other := range l.running {
		if other.m == m && other.stint == h.stint {
			return true
		}
	}
	return false
}

// outcome is what became of a handler, as far as it decides by itself.
type outcome int

const (
	outUndecided outcome = iota // its policy will
	outDone
	outRejected
	outRetried
	outReleased
	outUnhandled // one before it in its batch has failed: whatever was done with it, it comes again
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
	if h.stint.left--; h.stint.left == 0 {
		delete(h.of.stints, h.stint)
		h.of.freed = time.Now()
	}
	b.w.trace.note("%s returns from %s: %d", h.of.name, h.m.label, what)
	switch what {
	case outDone:
		b.w.tally.add(countFinished, 1)
		h.m.success, b.done[h.id] = true, true
	case outRejected:
		h.m.rejected = true
	case outReleased:
		b.nearLimit(h)
	case outRetried:
		b.retries(h, after)
	}
	if h.of.inc.pull != pullNot {
		h.ended = time.Now()
		h.of.leaves(h)
		h.of.worked(time.Since(h.stint.began))
	}
}

// ended enters the verdict on a handler's return.
func (b *books) ended(p *member, d *godwit.Delivery, v godwit.Verdict, err error, took time.Duration) {
	b.entry(p, d, func(h *holding) {
		h.ended = time.Now()
		p.leaves(h)
		p.worked(took)
		b.w.trace.note("%s ends %s: %v", p.name, h.m.label, v)
		b.stillBroken(p)
		b.answers(p, h, err)
		if v.Action == godwit.ActionDone && err == nil && p.inc.batch == nil && p.broken && p.brokeAt.Before(time.Now()) {
			p.healed = time.Now() // of a batch, others may have failed after this one
		}
		h.held = v.Action == godwit.ActionRetry
		if errors.Is(err, errDown) && took < p.inc.options.ProcessingTimeout {
			b.burnt(p, h, v)
		}
		switch v.Action {
		case godwit.ActionReject:
			h.m.rejected = true
		case godwit.ActionDrop:
			h.m.dropped = true
		case godwit.ActionRetry:
			b.retries(h, v.After)
		case godwit.ActionDone, godwit.ActionStop:
		}
	})
	if errors.Is(err, errInterrupted) {
		b.w.tally.add(struckInterrupted, 1)
	}
}

// retries enters that a message comes again in a while: from the process, which renews its lease meanwhile, or from the service, as
// the next change of its visibility tells.
func (b *books) retries(h *holding, after time.Duration) {
	if h.retry > 0 && h.ended.Equal(time.Now()) {
		return // the handler's own word, which its verdict repeats
	}
	b.nearLimit(h)
	h.retry, h.ended, h.letGo = max(after, 1), time.Now(), after >= heldBelow
	if !h.letGo {
		h.of.retried[h.id]++
		h.of.kept[h] = true
		h.of.shelved[h.m.key] = time.Now().Add(after + maxPoll + pollGrace)
	}
}

// nearLimit enters a handler's release or retry of a message that the service itself is about to dead-letter: the
// consumer may reject it instead. The caller holds b.mu.
func (b *books) nearLimit(h *holding) {
	most := b.w.server.SQS().Queue(b.plan.queueName()).Model().Config().MaxReceives
	if most > 0 && h.count >= most-most/10 {
		h.m.rejected = true
	}
}

func (b *books) leaseLost(p *member, h *holding) {
	b.w.trace.note("%s loses its lease of %s", p.name, h.m.label)
	if h.fresh() {
		p.wasted++
	}
	h.lost = true
	p.leaves(h)
	if b.chaos() {
		return
	}
	if time.Since(h.since) > leaseTotal-2*time.Minute {
		b.w.tally.add(countHalfDay, 1)
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

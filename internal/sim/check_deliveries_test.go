package sim

import (
	"cmp"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/godwitmq/godwit"
)

const (
	// ahead is how many deliveries a consumer may hold in addition to those that its handlers have. Where order is
	// kept, it is how many lanes, each with up to perReceive messages.
	ahead      = 10
	perReceive = 10
)

// recentHandlers is how many of the latest handlers are used to estimate a consumer's speed.
const recentHandlers = 20

// pollGrace is how much longer than its wait a poll may take.
const pollGrace = 15 * time.Second

// heldBelow is the delay from which a retry is left to the service. A shorter retry is held in the process, if its
// shelf has room.
const heldBelow = 5 * time.Minute

// hooks report what a consumer does to the checker.
func (c *checker) hooks(p *consumer) godwit.Hooks {
	return godwit.Hooks{
		Received: func(d *godwit.Delivery) { c.came(p, d) },
		Ended: func(d *godwit.Delivery, v godwit.Verdict, err error,
			took time.Duration,
		) {
			c.ended(p, d, v, err, took)
		},
		Released: func(d *godwit.Delivery) {
			c.entry(p, d, func(h *delivery) {
				c.w.tally.add(countReleased, 1)
				c.w.trace.note("%s releases %s", p.name, h.m.label)
				if !h.letGo { // otherwise its request came before this hook, and no longer counts as a held retry
					p.untouched[h.id]++
				}
				h.letGo, h.released = true, true
				delete(p.left, h.id)
				p.leaves(h)
			})
		},
		// A release or retry of a message that the queue would dead-letter becomes a reject with that reason.
		Rejected: func(d *godwit.Delivery, err error) {
			c.entry(p, d, func(h *delivery) {
				h.m.rejected = h.m.rejected ||
					strings.Contains(err.Error(), "maxReceiveCount")
				if h.begun == 0 { // its body could not be read, so no handler ends
					p.leaves(h)
				}
			})
		},
		LeaseLost: func(d *godwit.Delivery) { c.entry(p, d, func(h *delivery) { c.leaseLost(p, h) }) },
		SettleFailed: func(d *godwit.Delivery, err error) {
			c.entry(p, d, func(h *delivery) { c.settleFailed(p, h, err) })
		},
		Expired: func(d *godwit.Delivery) { c.entry(p, d, func(h *delivery) { c.tellsExpired(p, h) }) },
		// On a channel without order, a delivery whose handler ignores its context is rejected while the handler runs.
		Abandoned: func(d *godwit.Delivery, _ []byte) {
			c.entry(p, d, func(h *delivery) {
				c.w.tally.add(seenIgnored, 1)
				c.abandoned(p, h.call)
			})
		},
		Unsettled: func(*godwit.Delivery) { c.w.tally.add(seenUnsettled, 1) },
		State: func(_, to godwit.State) {
			if to == godwit.StateExiting {
				c.closes(p)
			}
		},
		Breaker: func(open bool, _ error) { c.breakerChanged(p, open) },
		Resized: func(from, to int) { c.resized(p, from, to) },
		Shutdown: func(r godwit.Report) {
			if p.fleet != nil { // a fleet's report comes only by this hook
				c.over(p, r, nil)
			}
		},
	}
}

// abandoned records that the worker of a handler was replaced. The caller holds c.mu.
func (c *checker) abandoned(p *consumer, s *handlerCall) {
	s.abandoned = true
	if c.plan.ordered {
		return
	}
	for _, h := range p.handles {
		if h.call == s && h.running {
			h.m.rejected = true
			p.leaves(h)
		}
	}
}

// abandonedUntold records that a handler was abandoned before the consumer has said so: it tells its hooks after it has
// rejected the delivery, and the request may be on its way by then. The caller holds c.mu.
func (c *checker) abandonedUntold(p *consumer, label string) {
	for _, h := range p.handles {
		if h.m.label == label && h.running && c.overdue(h) {
			c.abandoned(p, h.call)
			return
		}
	}
}

// overdue reports whether a running handler may have been abandoned. Its processing timeout begins with the reading of
// the body from the store, at the earliest when the delivery is received.
func (c *checker) overdue(h *delivery) bool {
	began := h.call.began
	if c.w.plan.store {
		began = h.since
	}
	return time.Since(began) >= h.of.inc.options.ProcessingTimeout+abandonAfter
}

// abandonAfter is how long a handler has to return after its processing timeout has canceled it.
const abandonAfter = time.Second

// entry calls f with a delivery of a process that has not crashed. It holds the lock.
func (c *checker) entry(p *consumer, d *godwit.Delivery, f func(h *delivery)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := p.known(d); h != nil && !p.crashed {
		f(h)
	}
}

// known is what is known about a delivery. A message that is handled again while an earlier handler, which does not
// return, has its delivery, gets another one.
func (p *consumer) known(d *godwit.Delivery) *delivery {
	if h := p.by[d]; h != nil {
		return h
	}
	var last *delivery
	for _, h := range p.by {
		if h.id == d.ID && (last == nil || h.since.After(last.since)) {
			last = h
		}
	}
	if last != nil {
		p.by[d] = last
	}
	return last
}

func (c *checker) came(p *consumer, d *godwit.Delivery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := labelOf(string(d.Body))
	came := p.waiting[d.ID]
	if len(came) == 0 {
		c.violated([]string{name}, "%s has a delivery of %q that its backend has not received", p.name, name)
		return
	}
	h := came[0]
	p.waiting[d.ID] = came[1:]
	h.came = true
	if h.again {
		c.violated([]string{name}, "%s receives %s, which it deleted %v ago",
			p.name, name, time.Since(p.finished[h.id]))
	}
	if h.m.unwanted {
		c.violated([]string{name}, "%s receives %s, which its filter does not select", p.name, name)
	}
	c.w.tally.add(countReceives, 1)
	p.by[d] = h
	p.twice[h.id] = p.twice[h.id] || p.holdsAnother(h) || p.left[h.id]
	p.open[h] = true
	p.moved[h.m.key] = time.Now()
	c.shelf(p)
	n, of := 0, map[string]int{}
	for h := range p.open {
		// Deliveries behind a held retry are on the shelf, and may leave it during a poll.
		if !p.shelved[h.m.key].Before(time.Now()) {
			continue
		}
		// So are deliveries beyond a tenant's share and rate.
		if of[h.m.key]++; h.m.key != "" && (of[h.m.key] > p.share() || h.fresh() && p.spent(h.m.key)) {
			continue
		}
		n++
	}
	handlers := p.most(maxPoll+pollGrace) * p.inc.batchSize()
	most := handlers + ahead + p.onTheirWay(handlers)
	if c.plan.ordered { // a place is for the messages that a poll brings of a key
		most *= perReceive
	}
	if n > most && !p.crashed && !p.fetchesAgain() {
		c.violated([]string{p.name}, "%s holds %d deliveries, and %d are allowed", p.name, n, most)
	}
}

// share is how many deliveries of a tenant take places: the others wait on the shelf for those before them, or for the
// tenant's rate.
func (p *consumer) share() int {
	o := p.inc.options
	n := cmp.Or(o.MaxPerTenant, math.MaxInt)
	if rate := o.TenantRate; rate.Events > 0 {
		n = min(n, cmp.Or(rate.Burst, max(1, rate.Events/10)))
	}
	return n
}

// spent reports whether deliveries of a tenant may be waiting for its rate, because some have started just now.
func (p *consumer) spent(key string) bool {
	return p.inc.options.TenantRate.Events > 0 && time.Since(p.begun[key]) < time.Second
}

// holdsAnother reports whether a process holds another receive of the same message. The caller holds c.mu.
func (p *consumer) holdsAnother(h *delivery) bool {
	for other := range p.open {
		if other.id == h.id {
			return true
		}
	}
	return false
}

// start is a delivery that a handler gets.
type start struct {
	*delivery
	nth int // the number of the start, over all receives of the message
}

// begin records that a handler starts with some deliveries. It returns nil if the process has crashed.
func (c *checker) begin(p *consumer, ds ...*godwit.Delivery) (starts []start) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.crashed {
		return nil
	}
	s := &handlerCall{of: p, left: len(ds), began: time.Now()}
	for _, d := range ds {
		h := p.known(d)
		if h == nil {
			return nil // a violation has been reported
		}
		starts = append(starts, start{h, c.start(p, h, d, s)})
	}
	p.calls[s] = true
	c.atOnce(p)
	c.took(p, starts[0].delivery)
	if p.paused && p.changed.Before(time.Now()) && p.inc.pull == pullNot && !p.fetches() {
		c.violated([]string{p.name}, "%s is paused and starts %s", p.name, starts[0].m.label)
	}
	return starts
}

// start records one delivery of a handler call, and returns the number of the message's start. The caller holds c.mu.
func (c *checker) start(p *consumer, h *delivery, d *godwit.Delivery, s *handlerCall) (nth int) {
	m := h.m
	c.counted(p, h, d)
	c.countedAgain(p, h, d)
	c.breakerStillOpen(p)
	c.aged(p, m, d)
	c.prompt(p, m, d)
	c.startsInTime(p, h)
	h.call = s
	h.begun++
	p.begun[m.key] = time.Now()
	h.retry, h.unclear = 0, false
	m.starts++
	c.w.tally.add(countStarts, 1)
	c.w.trace.note("%s starts %s (%d)", p.name, m.label, m.starts)
	line := c.lines[m.key]
	if m.finished() {
		c.w.tally.add(countAgain, 1)
	}
	if c.plan.ordered {
		c.inOrder(p, h, line)
	}
	for other := range line.running {
		switch {
		case other == h || other.handle == h.handle:
			c.violated([]string{m.label}, "%s handles one delivery of %s twice at the same time", p.name, m.label)
		case !c.plan.ordered || other.call == s || m.index < other.m.index && m.starts > 1:
			// There is no order, or both are in one batch, or this one is an earlier message that is delivered again,
			// so that the later one may run.
		case other.m.finished():
			// The other message was finished before its lease ended, so that this one may start.
		case h.lost && p.inc.pull == pullBatch:
			// The caller of the iterator still had it in a batch, and does not know that its lease has ended.
		case c.holds(other):
			c.violated([]string{m.label, other.m.label},
				"two handlers of one key: %s starts %s while %s handles %s, whose lease has not ended", p.name, m.label,
				other.of.name, other.m.label)
		}
	}
	h.running = true
	line.running[h] = true
	line.high = max(line.high, m.index)
	c.shares(p, h)
	return m.starts
}

// aged checks the age of a message when it first starts, in a world without faults.
func (c *checker) aged(p *consumer, m *message, d *godwit.Delivery) {
	if age := time.Since(d.SentAt); c.plan.kind == worldCalm && m.starts == 0 && age > calmTolerance {
		c.violated([]string{m.label, p.name}, "%s starts %s %v after it was sent, with %d handlers; %v is allowed",
			p.name, m.label, age, p.most(0), calmTolerance)
	}
}

// prompt checks that keys without failures do not wait for keys with held retries.
func (c *checker) prompt(p *consumer, m *message, d *godwit.Delivery) {
	if c.plan.kind != worldWaiting || m.starts > 0 || c.plan.about("key waits", m.key).chance(waitingKeys) {
		return
	}
	c.w.tally.add(countPrompt, 1)
	if age := time.Since(d.SentAt); age > promptStart {
		c.violated([]string{m.label, p.name},
			"%s starts %s %v after it was sent, although only other keys wait for retries", p.name, m.label, age)
	}
}

const (
	// waitingKeys is the share of keys whose messages fail once, in the worlds for this check.
	waitingKeys = 0.5
	// promptStart is the most time from the send to the first start of a message of another key there.
	promptStart = 15 * time.Second
)

// inOrder checks that all earlier messages of the key are finished, or precede the message in its batch.
func (c *checker) inOrder(p *consumer, h *delivery, line *keyLine) {
	m := h.m
	if m.starts == 1 && m.late {
		c.late(p, m, line)
	} else if m.starts == 1 && m.index < line.high {
		c.violated([]string{m.label, line.messages[line.high].label},
			"out of order: %s starts %s for the first time after %s", p.name, m.label, line.messages[line.high].label)
	}
	for _, before := range line.messages[:m.index] {
		if !before.pending() || before.late || line.together(before, h) {
			continue
		}
		if c.expiredUntold(p, before); before.pending() {
			c.violated([]string{m.label, before.label}, "out of order: %s starts %s while %s is not finished", p.name,
				m.label, before.label)
			return
		}
	}
}

// late checks that no more messages went ahead of a late one than there were behind it in its request.
func (c *checker) late(p *consumer, m *message, line *keyLine) {
	const behind = 9
	ahead := 0
	for _, other := range line.messages[m.index+1:] {
		if other.starts > 0 && !other.late {
			ahead++
		}
	}
	if ahead > 0 {
		c.w.tally.add(countLate, 1)
	}
	if ahead > behind {
		c.violated([]string{m.label}, "%s starts %s after %d later messages of its key; a request holds %d behind it",
			p.name, m.label, ahead, behind)
	}
}

// together reports whether a message runs in the same batch as a delivery.
func (l *keyLine) together(m *message, h *delivery) bool {
	for other := range l.running {
		if other.m == m && other.call == h.call {
			return true
		}
	}
	return false
}

// outcome is what a handler has decided about its delivery.
type outcome int

const (
	outUndecided outcome = iota // the policy decides
	outDone
	outRejected
	outRetried
	outReleased
	// an earlier message of its batch and key has failed, so it is delivered again whatever the handler did
	outUnhandled
)

// returned records that a handler has returned.
func (c *checker) returned(h *delivery, what outcome, after time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.of.crashed {
		return // a crashed process does not get this far
	}
	h.running = false
	delete(c.lines[h.m.key].running, h)
	if h.call.left--; h.call.left == 0 {
		delete(h.of.calls, h.call)
		h.of.freed = time.Now()
	}
	c.w.trace.note("%s returns from %s: %d", h.of.name, h.m.label, what)
	switch what {
	case outDone:
		c.w.tally.add(countFinished, 1)
		h.m.success, c.done[h.id] = true, true
	case outRejected:
		h.m.rejected = true
	case outReleased:
		h.of.left[h.id] = h.of.inc.pull == pullBatch
		c.nearLimit(h)
	case outRetried:
		h.would = after
		c.retries(h, after)
	}
	if h.of.inc.pull != pullNot {
		h.ended = time.Now()
		h.of.leaves(h)
		h.of.worked(time.Since(h.call.began))
	}
}

// ended records the verdict on a delivery.
func (c *checker) ended(p *consumer, d *godwit.Delivery, v godwit.Verdict, err error, took time.Duration) {
	c.entry(p, d, func(h *delivery) {
		h.ended = time.Now()
		p.leaves(h)
		p.worked(took)
		c.w.trace.note("%s ends %s: %v", p.name, h.m.label, v)
		c.breakerStillOpen(p)
		c.answers(p, h, err)
		c.endsInTime(p, h, v, err)
		if v.Action == godwit.ActionDone && err == nil && p.inc.batch == nil && p.breakerOpen &&
			p.openedAt.Before(time.Now()) {
			// Not for batches, in which deliveries after this one may have failed.
			p.succeeded = time.Now()
		}
		h.held = v.Action == godwit.ActionRetry
		if errors.Is(err, errDown) && took < p.inc.options.ProcessingTimeout {
			c.breakerCounts(p, h, v)
		}
		switch v.Action {
		case godwit.ActionReject:
			h.m.rejected = true
		case godwit.ActionDrop:
			h.m.dropped = true
		case godwit.ActionRetry:
			c.retries(h, v.After)
		case godwit.ActionDone, godwit.ActionStop:
		}
	})
	if errors.Is(err, errInterrupted) {
		c.w.tally.add(seenInterrupted, 1)
	}
}

// retries records a retry. The process holds it and renews its lease, or the service keeps it, which the next change of
// its visibility shows.
func (c *checker) retries(h *delivery, after time.Duration) {
	if h.retry > 0 && h.ended.Equal(time.Now()) {
		return // recorded when the handler called Retry
	}
	c.nearLimit(h)
	h.retry, h.ended, h.letGo = max(after, 1), time.Now(), after >= heldBelow
	if !h.letGo {
		h.of.retried[h.id]++
		h.of.kept[h] = true
		h.of.shelved[h.m.key] = time.Now().Add(after + maxPoll + pollGrace)
	}
}

// nearLimit records a release or retry of a message that the service is about to dead-letter: the consumer may reject
// it instead. The caller holds c.mu.
func (c *checker) nearLimit(h *delivery) {
	most := c.w.server.SQS().Queue(c.plan.queueName()).Model().Config().MaxReceives
	if most > 0 && h.count >= most-most/10 {
		h.m.rejected = true
	}
}

func (c *checker) leaseLost(p *consumer, h *delivery) {
	c.w.trace.note("%s loses its lease of %s", p.name, h.m.label)
	if h.fresh() {
		p.wasted++
	}
	h.lost = true
	p.leaves(h)
	if c.chaos() {
		return
	}
	if time.Since(h.since) > leaseTotal-2*time.Minute {
		c.w.tally.add(countHalfDay, 1)
	}
	if !c.excused(h) {
		c.violated([]string{h.m.label}, "%s lost its lease of %s although nothing prevented a renewal", p.name,
			h.m.label)
	}
	c.w.tally.add(seenLapse, 1)
}

func (c *checker) settleFailed(p *consumer, h *delivery, err error) {
	c.w.trace.note("%s could not settle %s: %v", p.name, h.m.label, err)
	h.failed = true
	if !c.chaos() && !c.excused(h) {
		c.violated([]string{h.m.label}, "%s could not settle %s although nothing prevented it: %v", p.name, h.m.label,
			err)
	}
}

// dies records a crash: the running handlers have no result.
func (c *checker) dies(p *consumer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.crashed = true
	c.w.trace.note("%s crashes", p.name)
	for _, h := range p.handles {
		if h.running {
			h.running = false
			delete(c.lines[h.m.key].running, h)
		}
	}
}

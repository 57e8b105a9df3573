package sim

import (
	"time"

	"github.com/godwitmq/godwit"
)

// calls makes the calls of the process's plan to its consumers, until the process ends or the time of faults is over.
func (r *run) calls(begun time.Time) {
	for _, c := range r.ps[0].inc.calls {
		select {
		case <-r.done:
			return
		case <-time.After(time.Until(begun.Add(c.at))):
		}
		of := c.of % len(r.ps)
		p, consumer := r.ps[of], r.cs[of]
		// After the time of faults, paused consumers are resumed, and no other calls are made.
		over := time.Since(r.w.trace.begun) > r.w.plan.lasts
		switch {
		case c.what == callResume:
			p.checker.resumes(p)
			consumer.Resume()
		case c.what == callLook:
			p.checker.look(p)
		case over:
		case c.what == callPause:
			p.checker.pauses(p)
			consumer.Pause()
		case c.what == callResize:
			r.resize(p, consumer, c.n)
		}
	}
}

func (r *run) resize(p *consumer, c *godwit.Consumer, n int) {
	p.checker.resizes(p, n)
	if err := c.SetConcurrency(n); err != nil {
		r.w.fail("%s: %v", p.name, err)
	}
}

// pauses records that a consumer is about to be paused, possibly for the second time.
func (c *checker) pauses(p *consumer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.crashed || p.closing {
		return
	}
	c.w.trace.note("%s pauses", p.name)
	if p.paused {
		c.w.tally.add(calledPauseAgain, 1)
		return
	}
	p.paused, p.changed = true, time.Now()
	c.w.tally.add(calledPause, 1)
	if c.gathers(p) {
		c.w.tally.add(calledPauseGathering, 1)
	}
}

// gathers reports whether a handler of a process waits for more deliveries of its batch. The caller holds c.mu.
func (c *checker) gathers(p *consumer) bool {
	if p.inc.window() == 0 || len(p.calls) >= p.most(0) {
		return false
	}
	for h := range p.open {
		if h.fresh() {
			return true
		}
	}
	return false
}

func (c *checker) resumes(p *consumer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !p.paused {
		return
	}
	c.w.trace.note("%s resumes", p.name)
	p.paused, p.changed = false, time.Now()
}

// look checks a consumer that has been paused, or resumed, for a while.
func (c *checker) look(p *consumer) {
	all := c.w.server.SQS().Queue(c.plan.queueName()).Model().Messages()
	c.mu.Lock()
	defer c.mu.Unlock()
	wait := p.inc.pollEnds() + settleIn
	since := time.Since(p.changed)
	troubled := !p.trouble.Before(p.changed.Add(-p.inc.lease() - wait)) // faults may delay what it did then
	if p.crashed || p.closing || p.changed.IsZero() || since < wait || troubled {
		return
	}
	if !p.paused {
		c.goesOn(p)
		return
	}
	// an iterator's caller has several deliveries, and the checker knows only of the current one
	if p.inc.pull == pullBatch {
		return
	}
	c.w.tally.add(countLooks, 1)
	for _, v := range all {
		h := p.handles[v.Handle]
		if v.State.String() != "in flight" || !receivedBy(v.Receives, p) {
			continue
		}
		switch {
		case h != nil && c.behindRunning(h): // no other process can get it before the running one ends
		case h != nil && (h.running || h.away(v.Until) || time.Since(h.ended) < slack):
		case h != nil && time.Since(c.disturbed[h.id]) < time.Minute: // a repeated verdict of another process hid it
		default:
			label := c.w.labelOf(v.Body)
			c.violated([]string{label, p.name}, "%s has been paused for %v and still holds %s, which is %s", p.name,
				since, label, h.standing())
		}
	}
}

// behindRunning reports whether the holder of a delivery handles another one of its key, on an ordered channel.
func (c *checker) behindRunning(h *delivery) bool {
	for other := range c.lines[h.m.key].running {
		if c.plan.ordered && other.of == h.of {
			return true
		}
	}
	return false
}

// goesOn checks that a resumed consumer has requested messages since, unless it has deliveries. Deliveries behind a
// handler without a lease count, even if their own lease has ended. The caller holds c.mu.
func (c *checker) goesOn(p *consumer) {
	if len(p.open) > 0 || len(p.calls) > 0 || p.breakerOpen || !p.closedAt.Before(p.changed) {
		return
	}
	if p.fleet != nil && p.fleet.bytes > 0 { // the other consumers may hold all bytes of the fleet
		return
	}
	c.w.tally.add(countGoesOn, 1)
	if p.asked.Before(p.changed) {
		c.violated([]string{p.name}, "%s was resumed %v ago and has not requested messages since", p.name,
			time.Since(p.changed))
	}
}

package sim

import (
	"time"

	"github.com/godwitmq/godwit"
)

// calls does to a consumer what its plan says, until its process ends or the time of trouble is over.
func (r *run) calls(begun time.Time) {
	for _, c := range r.ps[0].inc.calls {
		select {
		case <-r.done:
			return
		case <-time.After(time.Until(begun.Add(c.at))):
		}
		of := c.of % len(r.ps)
		p, consumer := r.ps[of], r.cs[of]
		over := time.Since(r.w.trace.begun) > r.w.plan.lasts // what is paused may go on, and that is all
		switch {
		case c.what == callResume:
			p.books.resumes(p)
			consumer.Resume()
		case c.what == callLook:
			p.books.look(p)
		case over:
		case c.what == callPause:
			p.books.pauses(p)
			consumer.Pause()
		case c.what == callResize:
			r.resize(p, consumer, c.n)
		}
	}
}

func (r *run) resize(p *member, c *godwit.Consumer, n int) {
	p.books.resizes(p, n)
	if err := c.SetConcurrency(n); err != nil {
		r.w.fail("%s: %v", p.name, err)
	}
}

// pauses enters that a process is about to be paused, maybe once more.
func (b *books) pauses(p *member) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.crashed || p.closing {
		return
	}
	b.w.trace.note("%s pauses", p.name)
	if p.paused {
		b.w.tally.add(calledPauseAgain, 1)
		return
	}
	p.paused, p.changed = true, time.Now()
	b.w.tally.add(calledPause, 1)
	if b.gathers(p) {
		b.w.tally.add(calledPauseGathering, 1)
	}
}

// gathers says whether a handler of a process waits for more of its batch. The caller holds b.mu.
func (b *books) gathers(p *member) bool {
	if p.inc.window() == 0 || len(p.stints) >= p.most(0) {
		return false
	}
	for h := range p.open {
		if h.fresh() {
			return true
		}
	}
	return false
}

func (b *books) resumes(p *member) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !p.paused {
		return
	}
	b.w.trace.note("%s resumes", p.name)
	p.paused, p.changed = false, time.Now()
}

// look looks at a process that has been paused, or has gone on, for a while.
func (b *books) look(p *member) {
	all := b.w.server.SQS().Queue(b.plan.queueName()).Model().Messages()
	b.mu.Lock()
	defer b.mu.Unlock()
	wait := p.inc.pollEnds() + settleIn
	since := time.Since(p.changed)
	troubled := !p.trouble.Before(p.changed.Add(-p.inc.lease() - wait)) // what it did then may still be repeated
	if p.crashed || p.closing || p.changed.IsZero() || since < wait || troubled {
		return
	}
	if !p.paused {
		b.goesOn(p)
		return
	}
	if p.inc.pull == pullBatch { // its loop has several in hand, of which the books see one at a time
		return
	}
	b.w.tally.add(countLooks, 1)
	for _, v := range all {
		h := p.handles[v.Handle]
		if v.State.String() != "in flight" || !receivedBy(v.Receives, p) {
			continue
		}
		switch {
		case h != nil && b.behindRunning(h): // nobody else could have it before that ends
		case h != nil && (h.running || h.away(v.Until) || time.Since(h.ended) < slack):
		case h != nil && time.Since(b.meddled[h.id]) < time.Minute: // somebody else's repeated verdict hid it
		default:
			b.complain([]string{labelOf(v.Body), p.name}, "%s has been paused for %v and still keeps %s; it is %s", p.name, since, labelOf(v.Body), h.standing())
		}
	}
}

// behindRunning says that another of a delivery's key is being handled by its holder, where order is kept.
func (b *books) behindRunning(h *holding) bool {
	for other := range b.lines[h.m.key].running {
		if b.plan.ordered && other.of == h.of {
			return true
		}
	}
	return false
}

// goesOn checks that a process that was resumed has asked for messages since, unless it has something to do. Behind a
// handler that goes on without its lease, what is lost as well takes places. The caller holds b.mu.
func (b *books) goesOn(p *member) {
	if len(p.open) > 0 || len(p.stints) > 0 || p.broken || !p.mended.Before(p.changed) {
		return
	}
	if p.fleet != nil && p.fleet.bytes > 0 { // the others may hold all the bytes that they have together
		return
	}
	b.w.tally.add(countGoesOn, 1)
	if p.asked.Before(p.changed) {
		b.complain([]string{p.name}, "%s was resumed %v ago and has not asked for anything since", p.name, time.Since(p.changed))
	}
}

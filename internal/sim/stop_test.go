package sim

import (
	"errors"
	"strings"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// stopped checks what a process leaves behind that has stopped by itself, and that its report adds up.
func (b *books) stopped(p *member, r godwit.Report, err error) {
	left := b.w.server.SQS().Queue(b.plan.queueName()).Model().Messages()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.w.trace.note("%s has stopped", p.name)
	p.closing, p.over = true, true
	b.exceeded(p)
	if n := p.sizes[len(p.sizes)-1].n; b.plan.kind == worldCalm && n > p.floor {
		b.complain([]string{p.name}, "%s had nothing to do for minutes, and still has %d handlers, more than %d", p.name, n, p.floor)
	}
	troubled := p.troubled()
	unseen := false // Close tells the settle errors that the loop has not seen, however old
	for _, h := range p.handles {
		unseen = unseen || h.failed && p.inc.pull != pullNot
	}
	if !troubled && !unseen {
		b.allows(p, err)
	}
	for _, v := range left {
		if v.State.String() != "in flight" || !receivedBy(v.Receives, p) {
			continue
		}
		h := p.handles[v.Handle]
		name := labelOf(v.Body)
		switch {
		case h != nil && h.away(v.Until): // it is left to the service
		case h != nil && time.Since(b.meddled[h.id]) < time.Minute: // somebody else's repeated verdict hid it
			b.w.tally.add(countHeldAtStop, 1)
		case troubled && (h == nil || !h.came || h.failed || h.lost): // a lost answer, a verdict that did not get through
			b.w.tally.add(countHeldAtStop, 1)
		default:
			b.complain([]string{name, p.name}, "%s has stopped and left %s invisible until %v; it is %s", p.name, name, v.Until.Sub(b.w.trace.begun), h.standing())
		}
	}
	b.addsUp(p, r)
}

// troubled says that faults may explain what a consumer could not do at its end. The caller holds b.mu.
func (p *member) troubled() bool { return time.Since(p.trouble) < time.Minute+p.inc.lease() }

// allows checks why a process has ended. The caller holds b.mu.
func (b *books) allows(p *member, err error) {
	if err != nil && !errors.Is(err, errFatal) && !errors.Is(err, godwit.ErrAbandoned) {
		b.complain([]string{p.name}, "%s stopped with %v", p.name, err)
	}
}

// receivedBy says whether the latest receive of a message was a process's.
func receivedBy(receives []queue.Receipt, p *member) bool {
	return strings.HasPrefix(receives[len(receives)-1].By+" ", p.name+" ")
}

// addsUp checks a report: every delivery has one end. Retries that were held and lost leases have no exact share.
func (b *books) addsUp(p *member, r godwit.Report) {
	if r.Leaked != 0 {
		b.complain([]string{p.name}, "the books of %s do not balance: its log tells what is left", p.name)
	}
	ends := r.Handled + r.Rejected + r.GivenBack + r.Unsettled
	if r.Received < ends || r.Received > ends+r.Retried+r.LeaseLost {
		b.complain([]string{p.name}, "the report of %s does not add up: %+v", p.name, r)
	}
	running := 0
	for _, h := range p.handles {
		if h.running {
			running++
		}
	}
	if p.inc.pull == pullNot && r.StillRunning > running || running > 0 && p.inc.pull == pullNot && r.StillRunning == 0 && r.Abandoned == 0 {
		b.complain([]string{p.name}, "%s reports %d handlers that still run; there are %d", p.name, r.StillRunning, running)
	}
}

// standing is what the books know of a receive, in words.
func (h *holding) standing() string {
	switch {
	case h == nil:
		return "a receive whose answer never came"
	case !h.came:
		return "a receive that its backend kept from the consumer"
	case h.running:
		return "with a handler"
	case h.letGo && h.retry > 0:
		return "a retry that is not yet due"
	case h.letGo:
		return "a delivery that was given back"
	case h.failed:
		return "a delivery whose verdict was not taken"
	case h.lost:
		return "a delivery whose lease was lost"
	default:
		return "a delivery without an end"
	}
}

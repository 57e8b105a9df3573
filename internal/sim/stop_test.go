package sim

import (
	"errors"
	"strings"
	"time"

	"github.com/godwitmq/godwit"
)

// stopped checks what a process leaves behind that has stopped by itself, and that its report adds up.
func (b *books) stopped(p *member, r godwit.Report, err error) {
	left := b.w.server.SQS().Queue(b.w.plan.queueName()).Model().Messages()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.w.trace.note("%s has stopped", p.name)
	p.over = true
	troubled := time.Since(p.trouble) < time.Minute+p.inc.lease()
	unseen := false // Close tells the settle errors that the loop has not seen, however old
	for _, h := range p.handles {
		unseen = unseen || h.failed && p.inc.pull != pullNot
	}
	if err != nil && !errors.Is(err, errFatal) && !errors.Is(err, godwit.ErrAbandoned) && !troubled && !unseen {
		b.complain([]string{p.name}, "%s stopped with %v", p.name, err)
	}
	for _, v := range left {
		if v.State.String() != "in flight" || !strings.HasPrefix(v.Receives[len(v.Receives)-1].By+" ", p.name+" ") {
			continue
		}
		h := p.handles[v.Handle]
		name := labelOf(v.Body)
		late := slack
		if h != nil && p.trouble.After(h.ended) {
			late += time.Minute
		}
		switch {
		case h != nil && h.letGo && h.retry > 0 && !v.Until.After(h.ended.Add(h.retry+late)):
			// Left to the service. A verdict that is repeated after a lost answer counts its delay anew.
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

// addsUp checks a report: every delivery has one end. Retries that were held and lost leases have no exact share.
func (b *books) addsUp(p *member, r godwit.Report) {
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

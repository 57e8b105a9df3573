package sim

import (
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
	if err != nil && !strings.Contains(err.Error(), "fatal") && !strings.Contains(err.Error(), godwit.ErrAbandoned.Error()) && !troubled {
		b.complain([]string{p.name}, "%s stopped with %v", p.name, err)
	}
	late := slack
	if troubled {
		late += time.Minute
	}
	for _, v := range left {
		if v.State.String() != "in flight" || !strings.HasPrefix(v.Receives[len(v.Receives)-1].By+" ", p.name+" ") {
			continue
		}
		h := p.handles[v.Handle]
		name := labelOf(v.Body)
		switch {
		case h != nil && h.letGo && h.retry > 0 && !v.Until.After(h.ended.Add(h.retry+late)):
			// Left to the service. A verdict that is repeated after a lost answer counts its delay anew.
		case troubled && (h == nil || !h.came || h.failed || h.lost): // a lost answer, a verdict that did not get through
			b.w.tally.add(countHeldAtStop, 1)
		default:
			b.complain([]string{name, p.name}, "%s has stopped and left %s invisible until %v", p.name, name, v.Until.Sub(b.w.trace.begun))
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

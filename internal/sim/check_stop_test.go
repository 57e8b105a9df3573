package sim

import (
	"errors"
	"strings"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// stopped checks the messages that a stopped process has left, and its report.
func (c *checker) stopped(p *consumer, r godwit.Report, err error) {
	left := c.w.server.SQS().Queue(c.plan.queueName()).Model().Messages()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.w.trace.note("%s has stopped", p.name)
	p.closing, p.over = true, true
	c.exceeded(p)
	if n := p.sizes[len(p.sizes)-1].n; c.plan.kind == worldCalm && n > p.floor {
		c.violated([]string{p.name}, "%s had no messages for minutes, and still has %d handlers instead of %d", p.name,
			n, p.floor)
	}
	troubled := p.troubled()
	unseen := false // Close returns settle errors that the loop has not seen, however old they are
	for _, h := range p.handles {
		unseen = unseen || h.failed && p.inc.pull != pullNot
	}
	if !troubled && !unseen {
		c.allows(p, err)
	}
	for _, v := range left {
		if v.State.String() != "in flight" || !receivedBy(v.Receives, p) {
			continue
		}
		h := p.handles[v.Handle]
		name := c.w.labelOf(v.Body)
		switch {
		case h != nil && h.away(v.Until): // the service keeps a retry
		case h != nil && time.Since(c.disturbed[h.id]) < time.Minute: // a repeated verdict of another process hid it
			c.w.tally.add(countHeldAtStop, 1)
		// an answer was lost, or a verdict was not accepted
		case troubled && (h == nil || !h.came || h.failed || h.lost):
			c.w.tally.add(countHeldAtStop, 1)
		default:
			c.violated([]string{name, p.name}, "%s has stopped and left %s invisible until %v; it is %s", p.name, name,
				v.Until.Sub(c.w.trace.begun), h.standing())
		}
	}
	c.addsUp(p, r)
}

// troubled reports whether faults may explain what a consumer has left. The caller holds c.mu.
func (p *consumer) troubled() bool { return time.Since(p.trouble) < time.Minute+p.inc.lease() }

// allows checks the error with which a process has ended. The caller holds c.mu.
func (c *checker) allows(p *consumer, err error) {
	if err != nil && !errors.Is(err, errFatal) && !errors.Is(err, godwit.ErrAbandoned) {
		c.violated([]string{p.name}, "%s stopped with the error %v", p.name, err)
	}
}

// receivedBy reports whether a process made the latest receive of a message.
func receivedBy(receives []queue.Receipt, p *consumer) bool {
	return strings.HasPrefix(receives[len(receives)-1].By+" ", p.name+" ")
}

// addsUp checks a report: every delivery has one end. Held retries and lost leases may count twice.
func (c *checker) addsUp(p *consumer, r godwit.Report) {
	if r.Leaked != 0 {
		c.violated([]string{p.name}, "%s reports leaked deliveries: see its log", p.name)
	}
	ends := r.Handled + r.Rejected + r.Released + r.Unsettled
	if r.Received < ends || r.Received > ends+r.Retried+r.LeaseLost {
		c.violated([]string{p.name}, "the numbers in the report of %s do not match: %+v", p.name, r)
	}
	running := 0
	for _, h := range p.handles {
		if h.running {
			running++
		}
	}
	most := running
	if running > 0 { // deliveries whose bodies could not be read wait for the handler of their batch
		most *= p.inc.batchSize()
	}
	if p.inc.pull == pullNot && r.StillRunning > most || running > 0 && p.inc.pull == pullNot &&
		r.StillRunning == 0 && r.Abandoned == 0 {
		c.violated([]string{p.name}, "%s reports %d running handlers, and there are %d", p.name, r.StillRunning,
			running)
	}
}

// standing describes the state of a delivery.
func (h *delivery) standing() string {
	switch {
	case h == nil:
		return "a receive whose answer was lost"
	case !h.came:
		return "a delivery that the backend discarded"
	case h.running:
		return "being handled"
	case h.letGo && h.retry > 0:
		return "a retry before its time"
	case h.letGo:
		return "a released delivery"
	case h.failed:
		return "a delivery whose verdict was not accepted"
	case h.lost:
		return "a delivery that lost its lease"
	default:
		return "a delivery without an end"
	}
}

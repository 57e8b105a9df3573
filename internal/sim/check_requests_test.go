package sim

import (
	"time"

	"github.com/godwitmq/godwit"
)

// asked records a request before the server gets it.
func (c *checker) asked(caller, action string, r *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.members[caller]
	if p == nil {
		return
	}
	switch {
	case action == actRecv && r.queue() == c.plan.queueName():
		p.asked = time.Now()
	case action == actSend && r.queue() == c.plan.deadName():
		for i := range r.Entries {
			c.sendsDeadLetter(p, c.w.labelOf(r.Entries[i].Body))
		}
	case action == actDelete && r.queue() == c.plan.queueName():
		for i := range r.Entries {
			c.deletes(p, p.handles[r.Entries[i].Handle])
		}
	case action == actChange && r.queue() == c.plan.queueName():
		for i := range r.Entries {
			c.changes(p.handles[r.Entries[i].Handle], time.Duration(r.Entries[i].Timeout)*time.Second)
		}
	}
}

// changes records a change of visibility that is sent. A second release or retry of the same receive may reach the
// message when another process holds it.
func (c *checker) changes(h *delivery, away time.Duration) {
	if h == nil {
		return
	}
	c.total(h, away)
	if h.released && away > 0 {
		c.releasesLater(h, away)
	}
	c.keeps(h, away)
	if c.plan.ordered {
		return
	}
	if c.last[h.id] != h || h.changed {
		c.disturbed[h.id] = time.Now()
		c.w.tally.add(countDisturbed, 1)
	}
	h.changed = h.letGo
}

// total checks that no consumer keeps a message for longer than SQS allows one receiver, and that it does not request a
// change again and again near the end of that time.
func (c *checker) total(h *delivery, away time.Duration) {
	now := time.Now()
	if now.Add(away).After(h.since.Add(leaseTotal + slack)) {
		c.violated([]string{h.m.label}, "%s asks for %v more for %s, which it has held for %v: more than %v in total",
			h.of.name, away, h.m.label, now.Sub(h.since), leaseTotal)
	}
	if h.minute.Before(now.Add(-time.Minute)) {
		h.minute, h.asks = now, 0
	}
	if h.asks++; h.asks == asksAMinute && len(c.w.plan.faults) == 0 {
		c.violated([]string{h.m.label}, "%s has changed the visibility of %s %d times within a minute",
			h.of.name, h.m.label, h.asks)
	}
}

const (
	// leaseTotal is how long SQS leaves a message to one receiver.
	leaseTotal = 12 * time.Hour
	// asksAMinute is more than the number of renewals of the shortest lease.
	asksAMinute = 40
)

// keeps records that a change of visibility leaves a retry to the service. If the retry's delay is as long as the
// lease, the change may be a renewal instead.
func (c *checker) keeps(h *delivery, away time.Duration) {
	lease := h.of.inc.lease()
	switch {
	case h.letGo, h.running, h.retry == 0:
	case away != lease:
		h.letGo = true
		h.of.retried[h.id]--
	case (h.retry - lease).Abs() <= time.Second:
		h.unclear = true
	}
}

// releasesLater checks a message that is released for some time: one beyond its tenant's share or rate, or one that
// failed while the breaker was open.
func (c *checker) releasesLater(h *delivery, away time.Duration) {
	if h.away(time.Now().Add(away)) {
		return // the rest of a retry's delay
	}
	h.retry, h.ended = away, time.Now()
	o := &h.of.inc.options
	tenants := o.MaxPerTenant > 0 || o.TenantRate != (godwit.Rate{})
	switch {
	case c.chaos(): // the checker cannot tell two receives of one message apart
	case away == h.of.inc.lease(): // a renewal that was in flight
	case h.of.fetchesAgain() && away <= longestFetchPause: // its body could not be read
	case away > longestRelease, h.begun == 0 && !tenants, h.begun > 0 && o.BreakAfter == 0:
		c.violated([]string{h.m.label}, "%s releases %s for %v", h.of.name, h.m.label, away)
	case h.begun == 0:
		c.w.tally.add(countReleasedLater, 1)
	default:
		c.w.tally.add(countReleasedOpen, 1)
	}
}

// longestRelease is the longest time for which a released message stays invisible.
const longestRelease = 2*time.Minute + time.Second

// finishedCopy reports whether a process has finished another copy of a message, with the same body in the store.
func (p *consumer) finishedCopy(h *delivery) bool {
	if h.size > 0 || !h.m.success {
		return false
	}
	for id := range h.m.ids {
		if id != h.id && !p.finished[id].IsZero() {
			return true
		}
	}
	return false
}

// sendsDeadLetter checks a copy that is sent to the dead letters: a verdict must have rejected the message.
func (c *checker) sendsDeadLetter(p *consumer, label string) {
	c.w.trace.note("%s rejects %s", p.name, label)
	c.abandonedUntold(p, label)
	m := c.messages[label]
	if c.plan.expiry.dead {
		c.expiredUntold(p, m)
	}
	if m != nil && (m.success || m.dropped) && c.w.plan.store && !c.plan.ordered {
		return // a second copy, whose body was deleted with the first
	}
	if m == nil || !m.rejected {
		c.violated([]string{label}, "%s sends a copy of %s to the dead letters, and no verdict has rejected it", p.name,
			label)
	}
}

// deletes checks a delete that is sent: the message must have been handled, dropped, discarded by the filter, or copied
// to the dead letters.
func (c *checker) deletes(p *consumer, h *delivery) {
	if h == nil {
		c.violated(nil, "%s deletes a message that it has not received", p.name)
		return
	}
	c.w.trace.note("%s deletes %s", p.name, h.m.label)
	if p.finished[h.id].IsZero() {
		p.finished[h.id] = time.Now()
	}
	if !c.plan.expiry.dead {
		c.expiredUntold(p, h.m)
	}
	if !c.done[h.id] && !h.m.dropped && h.m.copies == 0 && !h.m.unwanted && !p.finishedCopy(h) {
		c.violated([]string{h.m.label}, "%s deletes %s before it is finished", p.name, h.m.label)
	}
}

// answered records an answer that reached its caller.
func (c *checker) answered(caller, action string, r *request, got *response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.members[caller]
	if p == nil {
		return
	}
	switch {
	case action == actRecv && r.queue() == c.plan.queueName():
		for _, m := range got.Messages {
			c.receives(p, c.w.labelOf(m.Body), m.MessageID, m.Handle, m.Attributes.Count, sizeOf(m.Body),
				time.UnixMilli(m.Attributes.Sent))
		}
	case action == actSend && r.queue() == c.plan.deadName():
		for i := range r.Entries {
			if m := c.messages[c.w.labelOf(r.Entries[i].Body)]; m != nil && got.has(r.Entries[i].ID) {
				m.copies++
			}
		}
	case action == actDelete && r.queue() == c.plan.queueName():
		for i := range r.Entries {
			if h := p.handles[r.Entries[i].Handle]; h != nil && got.has(r.Entries[i].ID) {
				h.deleted = true
			}
		}
	}
}

func (r *response) has(id string) bool {
	for i := range r.Successful {
		if r.Successful[i].ID == id {
			return true
		}
	}
	return false
}

// receives records that a process has received a message, and checks how its last holder lost it.
func (c *checker) receives(p *consumer, label, id, handle string, count, size int, sent time.Time) {
	m := c.messages[label]
	if m == nil {
		c.violated(nil, "%s received %q, which was not sent", p.name, label)
		return
	}
	c.w.trace.note("%s receives %s", p.name, label)
	m.received, m.ids[id] = true, true
	last := c.last[id]
	if last != nil && last.handle == handle {
		return // the answer to a repeated request
	}
	if last != nil && !last.letGo && !last.unclear && !last.lost && !last.deleted && !last.of.crashed && !last.of.over {
		switch {
		case c.chaos():
			c.w.tally.add(seenDuplicate, 1)
		case !last.came && !last.of.trouble.Before(last.since):
			// The backend discarded it as finished and could not delete it: it is delivered again when its lease ends.
			c.w.tally.add(countFinishedAgain, 1)
		case !c.excused(last):
			c.violated([]string{label},
				"the lease of %s ended although nothing prevented %s from renewing it; %s has received it", label,
				last.of.name, p.name)
		default:
			c.w.tally.add(seenLapse, 1)
		}
	}
	h := &delivery{m: m, id: id, of: p, handle: handle, since: time.Now(), sent: sent, count: count, size: size}
	if at, ever := c.expiresAt(h); ever && (m.gone.IsZero() || at.Before(m.gone)) {
		m.gone = at
	}
	h.again = !p.finished[id].IsZero()
	if m.unwanted && c.w.plan.topicGone == 0 { // a new subscription has no filter for a moment
		c.violated([]string{label}, "%s receives %s, which the filter does not select", p.name, label)
	}
	c.last[id], p.handles[handle] = h, h
	p.waiting[id] = append(p.waiting[id], h)
}

// holds reports whether a delivery's lease has not ended, as the server knows it.
func (c *checker) holds(h *delivery) bool {
	q := c.w.server.SQS().Queue(c.plan.queueName())
	for _, v := range q.Model().Messages() {
		if v.Handle == h.handle {
			return v.State.String() == "in flight" && v.Until.After(time.Now())
		}
	}
	return false
}

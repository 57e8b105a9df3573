package sim

import "time"

// asked enters a request before it reaches the server.
func (b *books) asked(caller, action string, r *request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.members[caller]
	if p == nil {
		return
	}
	switch {
	case action == actRecv && r.queue() == b.plan.queueName():
		p.asked = time.Now()
	case action == actSend && r.queue() == b.plan.deadName():
		for i := range r.Entries {
			b.buries(p, labelOf(r.Entries[i].Body))
		}
	case action == actDelete && r.queue() == b.plan.queueName():
		for i := range r.Entries {
			b.deletes(p, p.handles[r.Entries[i].Handle])
		}
	case action == actChange && r.queue() == b.plan.queueName():
		for i := range r.Entries {
			b.changes(p.handles[r.Entries[i].Handle], time.Duration(r.Entries[i].Timeout)*time.Second)
		}
	}
}

// changes enters a change of visibility on its way. A second one that lets go of a message may reach it in other hands.
func (b *books) changes(h *holding, away time.Duration) {
	if h == nil {
		return
	}
	b.total(h, away)
	if h.back && away > 0 {
		b.sendsAway(h, away)
	}
	b.keeps(h, away)
	if b.plan.ordered {
		return
	}
	if b.last[h.id] != h || h.changed {
		b.meddled[h.id] = time.Now()
		b.w.tally.add(countMeddled, 1)
	}
	h.changed = h.letGo
}

// total checks that nobody asks for more than SQS leaves a message to one receiver, nor again and again for what is left
// of that.
func (b *books) total(h *holding, away time.Duration) {
	now := time.Now()
	if now.Add(away).After(h.since.Add(leaseTotal + slack)) {
		b.complain([]string{h.m.label}, "%s asks for %v more of %s, which it has had for %v: more than %v in all",
			h.of.name, away, h.m.label, now.Sub(h.since), leaseTotal)
	}
	if h.minute.Before(now.Add(-time.Minute)) {
		h.minute, h.asks = now, 0
	}
	if h.asks++; h.asks == asksAMinute && len(b.w.plan.storms) == 0 {
		b.complain([]string{h.m.label}, "%s has changed the visibility of %s %d times within a minute",
			h.of.name, h.m.label, h.asks)
	}
}

const (
	// leaseTotal is how long SQS leaves a message to one receiver.
	leaseTotal = 12 * time.Hour
	// asksAMinute is more than the renewals of the shortest lease.
	asksAMinute = 40
)

// keeps enters that a change of visibility leaves a retry to the service. One as long as a lease may be a renewal.
func (b *books) keeps(h *holding, away time.Duration) {
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

// sendsAway checks a message that is given back for a while: one beyond its tenant's share, or while a dependency is
// down.
func (b *books) sendsAway(h *holding, away time.Duration) {
	if h.away(time.Now().Add(away)) {
		return // the rest of a retry's delay
	}
	h.retry, h.ended = away, time.Now()
	switch {
	case b.chaos(): // of two receives of one message, the books cannot tell which is which
	case away == h.of.inc.lease(): // a renewal that was already on its way
	case away > awayAtMost, h.begun == 0 && h.of.inc.options.MaxPerTenant == 0, h.begun > 0 && h.of.inc.options.BreakAfter == 0:
		b.complain([]string{h.m.label}, "%s gives %s back for %v", h.of.name, h.m.label, away)
	case h.begun == 0:
		b.w.tally.add(countSentAway, 1)
	default:
		b.w.tally.add(countAwayBroken, 1)
	}
}

// awayAtMost is for how long at most a message that was given back stays away.
const awayAtMost = 2*time.Minute + time.Second

// buries checks a copy on its way to the dead letters: a handler has failed, or its time was up.
func (b *books) buries(p *member, label string) {
	b.w.trace.note("%s buries %s", p.name, label)
	if m := b.messages[label]; m == nil || !m.rejected {
		b.complain([]string{label}, "untouched work is dead-lettered: %s sends a copy of %s, on which nobody has reached that verdict", p.name, label)
	}
}

// deletes checks a delete on its way: only what was handled, dropped, or stands in the dead letters.
func (b *books) deletes(p *member, h *holding) {
	if h == nil {
		b.complain(nil, "%s deletes what never came to it", p.name)
		return
	}
	b.w.trace.note("%s deletes %s", p.name, h.m.label)
	if p.finished[h.id].IsZero() {
		p.finished[h.id] = time.Now()
	}
	if !b.done[h.id] && !h.m.dropped && h.m.copies == 0 && !h.m.unwanted {
		b.complain([]string{h.m.label}, "deleted before success: %s deletes %s", p.name, h.m.label)
	}
}

// answered enters an answer that reached its caller.
func (b *books) answered(caller, action string, r *request, got *response) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.members[caller]
	if p == nil {
		return
	}
	switch {
	case action == actRecv && r.queue() == b.plan.queueName():
		for _, m := range got.Messages {
			b.receives(p, labelOf(m.Body), m.MessageID, m.Handle, m.Attributes.Count, len(m.Body))
		}
	case action == actSend && r.queue() == b.plan.deadName():
		for i := range r.Entries {
			if m := b.messages[labelOf(r.Entries[i].Body)]; m != nil && got.has(r.Entries[i].ID) {
				m.copies++
			}
		}
	case action == actDelete && r.queue() == b.plan.queueName():
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

// receives enters that a message came into a process, and asks how its last holder let it out of hand.
func (b *books) receives(p *member, label, id, handle string, count, size int) {
	m := b.messages[label]
	if m == nil {
		b.complain(nil, "%s received %q, which nobody sent", p.name, label)
		return
	}
	b.w.trace.note("%s receives %s", p.name, label)
	m.received, m.ids[id] = true, true
	last := b.last[id]
	if last != nil && last.handle == handle {
		return // the same receive, asked for again
	}
	if last != nil && !last.letGo && !last.unclear && !last.lost && !last.deleted && !last.of.crashed && !last.of.over {
		switch {
		case b.chaos():
			b.w.tally.add(struckDuplicate, 1)
		case !last.came && !last.of.trouble.Before(last.since):
			// Its backend knew it as finished and could not delete it: it comes again when its lease ends.
			b.w.tally.add(countFinishedAgain, 1)
		case !b.excused(last):
			b.complain([]string{label}, "the lease of %s under %s ran out although nothing kept that from renewing it: now %s has it", label, last.of.name, p.name)
		default:
			b.w.tally.add(struckLapse, 1)
		}
	}
	h := &holding{m: m, id: id, of: p, handle: handle, since: time.Now(), count: count, size: size}
	h.again = !p.finished[id].IsZero()
	if m.unwanted && b.w.plan.topicGone == 0 { // a subscription that was just made again has no filter for a while
		b.complain([]string{label}, "%s receives %s, which the filter of its subscription refuses", p.name, label)
	}
	b.last[id], p.handles[handle] = h, h
	p.waiting[id] = append(p.waiting[id], h)
}

// holds asks the server whether a holding's lease is good now.
func (b *books) holds(h *holding) bool {
	q := b.w.server.SQS().Queue(b.plan.queueName())
	for _, v := range q.Model().Messages() {
		if v.Handle == h.handle {
			return v.State.String() == "in flight" && v.Until.After(time.Now())
		}
	}
	return false
}

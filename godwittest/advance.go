package godwittest

import (
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"
)

// Advance lets time pass. In a bubble it sleeps, and everything that is due happens. Outside of one it moves the server's
// clock, which ends delays and waits for retries, and nothing of the process: so no delivery may be held, since its lease
// would end behind its consumer's back. What becomes visible on the way is waited for until it is held no more. A delivery
// that is held for longer than a second fails the test.
func (h *Harness) Advance(d time.Duration) {
	h.t.Helper()
	if d < 0 {
		h.t.Fatalf("advance by %v: time does not go back", d)
	}
	if h.bubble {
		time.Sleep(d)
		synctest.Wait()
		return
	}
	h.aws("to advance outside of a bubble")
	if held := h.move(d); len(held) > 0 {
		h.t.Fatalf("advance by %v: the server's clock cannot move while deliveries are held, since their leases "+
			"would end: let their handlers return, "+
			"or run the test in a testing/synctest bubble\n%s", d, strings.Join(held, "\n"))
	}
}

// move moves the server's clock from one thing that is due to the next; it returns what is held and stops that.
func (h *Harness) move(d time.Duration) (held []string) {
	end := h.Now().Add(d)
	for {
		if held := h.halt(); len(held) > 0 {
			return held
		}
		now := h.Now()
		to := h.nextDue(now, end)
		if to.After(now) {
			h.Server().Advance(to.Sub(now))
		}
		h.journal.halt(false)
		if !to.Before(end) {
			h.await(grace, func() bool { return !h.wanted() && !h.onTheWay() })
			return nil
		}
	}
}

// halt keeps consumers from receiving once nothing is held and they have taken what is there for them; else it returns what
// is held. A consumer that does not take what is there, because it is paused, say, is not waited for longer than grace.
func (h *Harness) halt() (held []string) {
	h.await(grace, func() bool {
		h.journal.halt(true)
		// In the order in which a message goes, so that none slips by between two looks.
		quiet := !h.wanted() && !h.onTheWay()
		if held = h.held(); quiet && len(held) == 0 {
			return true
		}
		h.journal.halt(false)
		return false
	})
	if len(held) == 0 {
		h.journal.halt(true)
	}
	return held
}

// nextDue is when the next message becomes visible, or the end.
func (h *Harness) nextDue(now, end time.Time) time.Time {
	to := end
	for _, q := range h.Server().SQS().Queues() {
		for _, v := range q.Model().Messages() {
			if v.Until.After(now) && v.Until.Before(to) {
				to = v.Until
			}
		}
	}
	return to
}

// onTheWay says whether a poll has left the server's line and its answer is not here yet.
func (h *Harness) onTheWay() bool {
	polls := 0
	for _, q := range h.Server().SQS().Queues() {
		polls -= q.Model().Stats().Waiters
	}
	return polls+h.journal.polls() > 0
}

// wanted says whether something is there that a consumer may receive.
func (h *Harness) wanted() bool {
	for _, q := range h.Server().SQS().Queues() {
		if q.Model().Stats().Visible > 0 && h.journal.receives(h.aws("to advance").channelOf(q.Name())) {
			return true
		}
	}
	return false
}

// held lists the deliveries that consumers hold, by what the server knows as well.
func (h *Harness) held() []string {
	return h.journal.holds(func(channel, id string) bool {
		return slices.ContainsFunc(h.Left(channel), func(l Left) bool { return l.ID == id && l.State == "in flight" })
	})
}

// halt says whether the clock moves.
func (j *journal) halt(yes bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.moving == yes {
		return
	}
	j.moving = yes
	if !yes {
		j.change()
	}
}

// receives says whether a channel has a receiver that is open.
func (j *journal) receives(channel string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.channel(channel).receivers > 0
}

// receivers counts those that are open.
func (j *journal) receivers() (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range j.log {
		n += c.receivers
	}
	return n
}

// polls counts the Receive calls that run.
func (j *journal) polls() (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range j.log {
		n += c.polls
	}
	return n
}

// holds lists the deliveries that are held; in flight is asked without the lock.
func (j *journal) holds(inFlight func(channel, id string) bool) []string {
	j.mu.Lock()
	type one struct{ channel, id, line string }
	var all []one
	for _, h := range j.held {
		why := "waits in its consumer"
		switch {
		case h.m.runs():
			why = "a handler has it"
		case h.told:
			why = "the service has not taken its verdict"
		case h.retry:
			why = "its consumer holds it for a retry"
		}
		line := fmt.Sprintf("  %s: %s, received %v ago: %s", h.m.Channel, short(h.m.Body),
			j.now().Sub(h.since).Round(time.Millisecond), why)
		all = append(all, one{h.m.Channel, h.m.ID, line})
	}
	j.mu.Unlock()
	var lines []string
	for _, o := range all {
		if inFlight(o.channel, o.id) {
			lines = append(lines, o.line)
		}
	}
	slices.Sort(lines)
	return lines
}

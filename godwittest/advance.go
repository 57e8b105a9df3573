package godwittest

import (
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"
)

// Advance lets time pass. In a bubble it sleeps, and everything that becomes due happens. Outside a bubble it moves the
// server's clock, which ends delays and waits for retries, but does not affect timers of the process. Therefore no
// delivery may be held, because its lease would end while its consumer still holds it. Advance waits for messages that
// become visible on the way until they are not held any more. If a delivery is held for longer than a second, the test
// fails.
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

// move moves the server's clock from one due time to the next. If a delivery is held, it stops and returns which.
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
			h.await(h.grace(), func() bool { return !h.wanted() && !h.onTheWay() })
			return nil
		}
	}
}

// halt stops consumers from receiving when nothing is held and they have taken the messages that are available for
// them; otherwise it returns which deliveries are held. It waits at most for grace for a consumer that does not
// receive, for example because it is paused.
func (h *Harness) halt() (held []string) {
	h.await(h.grace(), func() bool {
		h.journal.halt(true)
		// In the order in which a message moves, so that none is missed between two checks.
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

// nextDue returns when the next message becomes visible, or end.
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

// onTheWay reports whether the server has answered a poll whose answer has not arrived yet.
func (h *Harness) onTheWay() bool {
	polls := 0
	for _, q := range h.Server().SQS().Queues() {
		polls -= q.Model().Stats().Waiters
	}
	return polls+h.journal.polls() > 0
}

// wanted reports whether a message is available that a consumer may receive.
func (h *Harness) wanted() bool {
	for _, q := range h.Server().SQS().Queues() {
		if q.Model().Stats().Visible > 0 && h.journal.receives(h.aws("to advance").channelOf(q.Name())) {
			return true
		}
	}
	return false
}

// held lists the deliveries that consumers hold; it also asks the server.
func (h *Harness) held() []string {
	return h.journal.holds(func(channel, id string) bool {
		return slices.ContainsFunc(h.Left(channel), func(l Left) bool { return l.ID == id && l.State == "in flight" })
	})
}

// halt stops or allows receiving.
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

// receives reports whether a channel has an open receiver.
func (j *journal) receives(channel string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.channel(channel).receivers > 0
}

// receivers counts the open receivers.
func (j *journal) receivers() (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range j.log {
		n += c.receivers
	}
	return n
}

// polls counts the running Receive calls.
func (j *journal) polls() (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range j.log {
		n += c.polls
	}
	return n
}

// holds lists the held deliveries. It calls inFlight without the lock.
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
			why = "the service has not accepted its verdict"
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

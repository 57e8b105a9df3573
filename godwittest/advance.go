package godwittest

import (
	"slices"
	"strings"
	"testing/synctest"
	"time"
)

// clock moves the time of a test.
type clock struct{ *waiter }

// Advance lets time pass. In a bubble it sleeps, and everything that becomes due happens. Outside a bubble it moves the
// server's clock, which ends delays and waits for retries, but does not affect timers of the process. Therefore no
// delivery may be held, because its lease would end while its consumer still holds it. Advance waits for messages that
// become visible on the way until they are not held any more. If a delivery is held for longer than a second, the test
// fails. Delays that SQS does not keep (docs/later.md) end by timers of the process: test them in a bubble.
func (c *clock) Advance(d time.Duration) {
	c.t.Helper()
	if d < 0 {
		c.t.Fatalf("advance by %v: time does not go back", d)
	}
	if c.bubble {
		time.Sleep(d)
		synctest.Wait()
		return
	}
	c.aws("to advance outside of a bubble")
	if held := c.move(d); len(held) > 0 {
		c.t.Fatalf("advance by %v: the server's clock cannot move while deliveries are held, since their leases "+
			"would end: let their handlers return, "+
			"or run the test in a testing/synctest bubble\n%s", d, strings.Join(held, "\n"))
	}
}

// move moves the server's clock from one due time to the next. If a delivery is held, it stops and returns which.
func (c *clock) move(d time.Duration) (held []string) {
	end := c.Now().Add(d)
	for {
		if held := c.halt(); len(held) > 0 {
			return held
		}
		now := c.Now()
		to := c.nextDue(now, end)
		if to.After(now) {
			c.Server().Advance(to.Sub(now))
		}
		c.journal.gate.resume()
		if !to.Before(end) {
			c.await(c.grace(), func() bool { return !c.wanted() && !c.onTheWay() })
			return nil
		}
	}
}

// halt stops consumers from receiving when nothing is held and they have taken the messages that are available for
// them; otherwise it returns which deliveries are held. It waits at most for grace for a consumer that does not
// receive, for example because it is paused.
func (c *clock) halt() (held []string) {
	c.await(c.grace(), func() bool {
		c.journal.gate.halt()
		// In the order in which a message moves, so that none is missed between two checks.
		quiet := !c.wanted() && !c.onTheWay()
		if held = c.held(); quiet && len(held) == 0 {
			return true
		}
		c.journal.gate.resume()
		return false
	})
	if len(held) == 0 {
		c.journal.gate.halt()
	}
	return held
}

// nextDue returns when the next message becomes visible, or end.
func (c *clock) nextDue(now, end time.Time) time.Time {
	to := end
	for _, q := range c.Server().SQS().Queues() {
		for _, v := range q.Model().Messages() {
			if v.Until.After(now) && v.Until.Before(to) {
				to = v.Until
			}
		}
	}
	return to
}

// onTheWay reports whether the server has answered a poll whose answer has not arrived yet.
func (c *clock) onTheWay() bool {
	polls := 0
	for _, q := range c.Server().SQS().Queues() {
		polls -= q.Model().Stats().Waiters
	}
	return polls+c.journal.gate.total(c.journal.gate.polls) > 0
}

// wanted reports whether a message is available that a consumer may receive.
func (c *clock) wanted() bool {
	for _, q := range c.Server().SQS().Queues() {
		if q.Model().Stats().Visible > 0 && c.journal.gate.receives(c.aws("to advance").channelOf(q.Name())) {
			return true
		}
	}
	return false
}

// held lists the deliveries that consumers hold; it also asks the server.
func (c *clock) held() []string {
	return c.journal.holds(func(channel, id string) bool {
		return slices.ContainsFunc(c.Left(channel), func(l Left) bool { return l.ID == id && l.State == "in flight" })
	})
}

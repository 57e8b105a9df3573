package engine

import (
	"time"

	"github.com/godwitmq/godwit/driver"
)

const (
	// thriftPart and thriftMost bound the pause between two polls: a part of the tolerated delay, and at most as long
	// as an open poll takes, so that a pause does not look like a stall.
	thriftPart = 20
	thriftMost = 20 * time.Second
	// thriftFull is how much of a poll a pause should fill. Other pollers would join after a full poll.
	thriftFull = 0.8
	// thriftWeight is the weight of the earlier rate in the moving average.
	thriftWeight = 4
)

// thrift makes pauses between polls, so that each returns more messages. A service that keeps a poll open answers as
// soon as there is one message, so messages that come one by one would cost a request each. Guarded by the fleet's
// lock.
type thrift struct {
	tolerance time.Duration // 0: no pauses
	rate      float64       // messages that come in a nanosecond, a moving average
	at        moment        // of the last answer
	wait      time.Duration // until the next poll
}

// polled is called with the answer of a poll that requested want messages.
func (t *thrift) polled(got []driver.Delivery, want int, delay time.Duration, clock clock) {
	if t.tolerance == 0 {
		return
	}
	now, before := clock.now(), t.at
	t.at, t.wait = now, 0
	if before == noMoment {
		return // the rate is unknown
	}
	rate := float64(len(got)) / float64(max(now.since(before), time.Millisecond))
	if t.rate == 0 {
		t.rate = rate
	}
	t.rate += (rate - t.rate) / thriftWeight
	most := min(t.tolerance/thriftPart, thriftMost)
	switch {
	case len(got) == 0, len(got) >= want, oldest(got, delay, clock.time(now)) > t.tolerance/2-most:
		return
	}
	if fill := thriftFull * float64(want) / t.rate; fill < float64(most) {
		most = time.Duration(fill)
	}
	t.wait = most
}

// oldest is the age of the oldest message that was not received before. Messages that were received before have waited
// for their next attempt.
func oldest(got []driver.Delivery, delay time.Duration, now time.Time) (age time.Duration) {
	for i := range got {
		if got[i].Received <= 1 && !got[i].SentAt.IsZero() {
			age = max(age, now.Sub(got[i].SentAt)-delay)
		}
	}
	return age
}

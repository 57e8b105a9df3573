package engine

import (
	"time"

	"github.com/godwitmq/godwit/driver"
)

const (
	// thriftPart and thriftMost bound the pause between two polls: such a part of the delay that is tolerated, and no
	// longer than an open poll takes, so that a pause never looks like a stall.
	thriftPart = 20
	thriftMost = 20 * time.Second
	// thriftFull is the part of a poll that a pause is to fill. A poll that comes back full has others join it.
	thriftFull = 0.8
	// thriftWeight is the weight of what is known of the rate, against what is new.
	thriftWeight = 4
)

// thrift makes pauses between polls, so that each brings more. A service that keeps a poll open answers as soon as
// there is one message, so messages that come one by one would cost a request each. Guarded by the fleet's lock.
type thrift struct {
	tolerance time.Duration // 0: there are no pauses
	rate      float64       // messages a nanosecond that come, smoothed
	at        moment        // of the last answer
	wait      time.Duration // until the next poll
}

// polled takes in the answer of a poll that asked for so many messages.
func (t *thrift) polled(got []driver.Delivery, want int, delay time.Duration, clock clock) {
	if t.tolerance == 0 {
		return
	}
	now, before := clock.now(), t.at
	t.at, t.wait = now, 0
	if before == noMoment {
		return // nothing is known of the rate
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

// oldest is the age of the oldest message that was not received before: an older one waits for its next attempt.
func oldest(got []driver.Delivery, delay time.Duration, now time.Time) (age time.Duration) {
	for i := range got {
		if got[i].Received <= 1 && !got[i].SentAt.IsZero() {
			age = max(age, now.Sub(got[i].SentAt)-delay)
		}
	}
	return age
}

package engine

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// The first delivery of each lane can start, the others wait behind it, and each has a place that its poll had
// reserved.
func TestAcceptedDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := bareSession(t, driver.ReceiveLimits{}, &Config{})
		f, rest := s.flow, 10
		s.pollers.tryReserve(rest)
		size := s.pollers.accept([]driver.Delivery{
			{OrderKey: "a", Body: []byte("12")}, {OrderKey: "a", Body: []byte("3")}, {OrderKey: "b"}, {}, {},
		}, &pollHand{}, &rest, &Poll{})
		if size != 3 || rest != 5 || f.places.reserved != 5 || f.places.taken != 5 || f.count.Received != 5 {
			t.Errorf("%d bytes; %d places are left to the poll; %d are reserved and %d taken; %d received",
				size, rest, f.places.reserved, f.places.taken, f.count.Received)
		}
		if next := f.queue.head.laneNext; f.queue.n != 4 || next == nil || next.state != behind {
			t.Errorf("%d of 5 can start; behind the first is %v", f.queue.n, next)
		}
	})
}

// The lock is released between the deliveries of a large poll. On a log it is not: the first of a lane could fail
// before the rest of the lane is there.
func TestHowManyAreAcceptedAtOnce(t *testing.T) {
	for behind, want := range map[driver.Behind][]int{
		driver.BehindReleases: {acceptAtOnce, 100 - acceptAtOnce}, driver.BehindFollows: {100},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, _ := bareSession(t, driver.ReceiveLimits{Behind: behind}, &Config{})
			var groups []int
			s.cfg.Own = func(its []*Item, in []driver.Delivery) {
				if len(its) != len(in) {
					t.Errorf("%d items for %d deliveries", len(its), len(in))
				}
				groups = append(groups, len(its))
			}
			rest := 100
			s.pollers.accept(make([]driver.Delivery, rest), &pollHand{}, &rest, &Poll{})
			if !slices.Equal(groups, want) {
				t.Errorf("behind a retry %v: accepted in groups of %v, want %v", behind, groups, want)
			}
		})
	}
}

// What the engine needs of a delivery is copied: its lane, its delay, its first failure, and why it is undecodable.
func TestWhatAnItemHasOfItsDelivery(t *testing.T) {
	bad, now := errors.New("bad"), time.Now()
	for _, c := range []struct {
		name    string
		channel driver.Channel
		in      driver.Delivery
		lane    bool
		delay   time.Duration
		err     error
	}{
		{name: "plain", delay: time.Minute},
		{name: "with an order key", in: driver.Delivery{OrderKey: "k"}, lane: true, delay: time.Minute},
		{name: "ordered", channel: driver.Channel{Ordered: true}, lane: true, delay: time.Minute},
		{name: "a delay of its own", in: driver.Delivery{SentAt: now, Due: now.Add(time.Hour)}, delay: time.Hour},
		{name: "undecodable", in: driver.Delivery{Err: bad}, delay: time.Minute, err: bad},
		{
			name: "an undecodable dead letter", channel: driver.Channel{DeadLetter: true},
			in: driver.Delivery{Err: bad}, delay: time.Minute,
		},
	} {
		s, _ := bareSession(t, driver.ReceiveLimits{}, &Config{Channel: c.channel, Delay: time.Minute})
		c.in.FirstFailure = now
		it := &Item{in: s}
		s.pollers.fill(it, &c.in)
		if lane := it.lane != 0; lane != c.lane || it.can&hasLane != 0 != lane || it.delay != c.delay ||
			!errors.Is(it.Err, c.err) || !it.FirstFailure().Equal(now) {
			t.Errorf("%s: lane %v, delay %v, error %v, first failure %v", c.name, lane, it.delay, it.Err,
				it.FirstFailure())
		}
	}
}

package engine

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// A delivery can be settled by the one who has it in hand, once, and not with a lost lease or for another message.
func TestWhoMaySettleAnItem(t *testing.T) {
	for _, c := range []struct {
		state state
		want  error
	}{
		{queued, ErrSettled},
		{running, nil},
		{kept, nil},
		{abandoned, nil},
		{shelved, ErrSettled},
		{settling, ErrSettled},
		{lost, ErrLeaseLost},
	} {
		f := bare(driver.ReceiveLimits{}, &Config{})
		it := kind{}.arrive(f)
		gen := it.gen
		kind{}.to(t, f, it, c.state)
		it.lost.Store(c.state == lost)
		if err := it.InHand(gen); !errors.Is(err, c.want) {
			t.Errorf("%v: %v, want %v", c.state, err, c.want)
		}
		if err := it.InHand(gen - 1); !errors.Is(err, ErrSettled) {
			t.Errorf("%v, for the message before: %v", c.state, err)
		}
	}
}

// Only the caller of this generation can keep an item.
func TestKeepingAnItem(t *testing.T) {
	f := bare(driver.ReceiveLimits{}, &Config{})
	f.talk.obs = deaf{}
	it := kind{}.arrive(f)
	kind{}.to(t, f, it, running)
	if it.Keep(it.gen - 1); it.state != running {
		t.Errorf("kept for another message: %v", it.state)
	}
	if it.Keep(it.gen); it.state != kept {
		t.Errorf("not kept: %v", it.state)
	}
}

// What an item has read counts in the budget until it is gone, and not for the message after it.
func TestAnItemGrows(t *testing.T) {
	f := bare(driver.ReceiveLimits{}, &Config{})
	f.talk.obs = deaf{}
	it := kind{}.arrive(f)
	before, gen := f.places.bytes.held, it.gen
	kind{}.to(t, f, it, running)
	it.Grow(gen-1, 100)
	it.Grow(gen, 50)
	it.Grow(gen, -20)
	if grown := f.places.bytes.held - before; grown != 30 {
		t.Errorf("the budget has %d bytes more, want 30", grown)
	}
	f.fleet.mu.Lock()
	f.move(it, evFinish)
	f.fleet.mu.Unlock()
	if it.Grow(gen, 10); f.places.bytes.held != 0 {
		t.Errorf("%d bytes are held when the item is gone", f.places.bytes.held)
	}
}

// A reused item has nothing of the message before but its session, and another generation.
func TestAReusedItem(t *testing.T) {
	var l items
	taken := map[*Item]bool{}
	for range itemsAtOnce + 1 {
		taken[l.take()] = true
	}
	if len(taken) != itemsAtOnce+1 {
		t.Errorf("%d different items of %d", len(taken), itemsAtOnce+1)
	}
	it, in := l.take(), &Session{}
	gen := it.gen
	it.in, it.ID, it.Owner, it.Failures, it.lane = in, "a", 1, 2, 7
	it.lost.Store(true)
	l.put(it)
	if again := l.take(); again != it || it.gen == gen || it.in != in || it.ID != "" || it.Owner != nil ||
		it.Failures != 0 || it.lane != 0 || it.lost.Load() {
		t.Errorf("generation %d after %d: %+v", it.gen, gen, it)
	}
}

// An item is near the limit when a tenth of the receives is left.
func TestNearTheLimitOfReceives(t *testing.T) {
	for _, c := range []struct {
		most     int
		received int32
		want     bool
	}{{100, 89, false}, {100, 90, true}, {5, 4, false}, {5, 5, true}, {0, 1000, false}} {
		f := bare(driver.ReceiveLimits{MaxReceives: c.most}, &Config{})
		it := &Item{in: &Session{flow: f}, use: use{received: c.received}}
		if it.NearLimit() != c.want {
			t.Errorf("received %d times of %d: near is %v", c.received, c.most, !c.want)
		}
	}
}

// Items follow each other in a lane: items of another source, or without a lane, do not.
func TestItemsThatFollow(t *testing.T) {
	one, other := newSource(), newSource()
	before := &Item{use: use{lane: 7, src: one}}
	for _, c := range []struct {
		it   *Item
		want bool
	}{
		{&Item{use: use{lane: 7, src: one}}, true},
		{&Item{use: use{lane: 7, src: other}}, false},
		{&Item{use: use{lane: 9, src: one}}, false},
	} {
		if c.it.Follows(before) != c.want {
			t.Errorf("lane %d of the same source %v: follows is %v", c.it.lane, c.it.src == one, !c.want)
		}
	}
	if (&Item{use: use{src: one}}).Follows(&Item{use: use{src: one}}) {
		t.Error("items without a lane follow each other")
	}
}

// The first failure is the recorded one, and before any failure it is now.
func TestTheFirstFailure(t *testing.T) {
	f := bare(driver.ReceiveLimits{}, &Config{})
	it := &Item{in: &Session{flow: f}}
	if since := time.Since(it.FirstFailure()); since < 0 || since > time.Minute {
		t.Errorf("without a failure: %v ago", since)
	}
	at := time.Now().Add(-time.Hour)
	if it.first = f.clock.of(at); !it.FirstFailure().Equal(at) {
		t.Errorf("%v, want %v", it.FirstFailure(), at)
	}
}

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

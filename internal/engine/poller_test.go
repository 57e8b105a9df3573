package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// The pause after a failed poll follows the outage, is bounded, and is partly random.
func TestThePauseAfterAFailedPoll(t *testing.T) {
	for outage, most := range map[time.Duration]time.Duration{
		0: pollAgainLeast, 8 * time.Second: 2 * time.Second, time.Hour: pollAgainMost,
	} {
		seen := map[time.Duration]bool{}
		for range 100 {
			pause := pollPause(outage)
			if seen[pause] = true; pause < most/2 || pause >= most {
				t.Errorf("an outage of %v: %v, want %v to %v", outage, pause, most/2, most)
			}
		}
		if len(seen) < 50 {
			t.Errorf("an outage of %v: only %d different pauses of 100", outage, len(seen))
		}
	}
}

// A poll requests as many messages as the service, the places and the options allow, and one for a probe.
func TestHowManyMessagesAPollRequests(t *testing.T) {
	for _, c := range []struct {
		batch, window, option int
		probing               bool
		want                  int
	}{
		{10, 20, 0, false, 10},
		{10, 4, 0, false, 4},
		{10, 0, 0, false, 1},
		{10, 20, 3, false, 3},
		{10, 20, 30, false, 10},
		{10, 20, 0, true, 1},
	} {
		s, _ := bareSession(t, driver.ReceiveLimits{Batch: c.batch, Window: c.window}, &Config{BatchSize: c.option})
		if c.probing {
			s.flow.breaker = &breaker{state: breakerProbing}
		}
		if n := s.pollers.want(); n != c.want {
			t.Errorf("%+v: %d", c, n)
		}
	}
}

// The first poller waits until its places are free. An additional one leaves when the last poll was not full.
func TestWhoWaitsForPlaces(t *testing.T) {
	for name, c := range map[string]struct {
		first, full bool
		free        time.Duration // when the places are free
		ok          bool
		took        time.Duration
	}{
		"the first":                {true, false, time.Second, true, time.Second},
		"another":                  {false, true, time.Second, true, time.Second},
		"another that is not used": {false, false, time.Second, false, 0},
		"the end":                  {true, false, time.Hour, false, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, _ := bareSession(t, driver.ReceiveLimits{}, &Config{})
			p, f := s.pollers, s.flow
			p.full = c.full
			if f.places.size = 10; !p.tryReserve(8) || p.tryReserve(3) {
				t.Fatal("want 8 of 10 places, and not 11")
			}
			time.AfterFunc(c.free, func() {
				f.lock()
				f.places.unreserve(8)
				f.unlock()
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			begun := time.Now()
			if ok := p.reserve(ctx, 5, c.first); ok != c.ok || time.Since(begun) != c.took {
				t.Errorf("%s: %v after %v, want %v after %v", name, ok, time.Since(begun), c.ok, c.took)
			}
			if len(p.turn) > 0 {
				t.Errorf("%s: it is still its turn", name)
			}
		})
	}
}

// However a poll ends, its places are returned, except those that deliveries have taken. The next poll follows after a
// while, unless the poll has returned messages.
func TestHowAPollEnds(t *testing.T) {
	panics := func([]*Item, []driver.Delivery) { panic("oops") }
	for name, c := range map[string]struct {
		took  time.Duration
		got   int
		err   error
		own   func([]*Item, []driver.Delivery)
		full  bool
		taken int
		most  time.Duration // until the poller continues
	}{
		"full":          {time.Second, 5, nil, nil, true, 5, time.Second},
		"not full":      {time.Second, 2, nil, nil, false, 2, time.Second},
		"empty at once": {0, 0, nil, nil, false, 0, EmptyPollEvery},
		"empty":         {time.Second, 0, nil, nil, false, 0, time.Second},
		"failed":        {0, 0, errors.New("down"), nil, false, 0, pollAgainLeast},
		"panicked":      {0, 2, nil, panics, false, 0, 0},
		"hung":          {time.Hour, 0, nil, nil, false, 0, 20*time.Second + pollGrace + pollAgainLeast},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, service := bareSession(t, driver.ReceiveLimits{}, &Config{})
			s.cfg.Receiver.Wait = 20 * time.Second
			if c.own != nil {
				s.cfg.Own = c.own
			}
			service.receive = func(ctx context.Context, _ int) ([]driver.Delivery, error) {
				select {
				case <-time.After(c.took):
				case <-ctx.Done():
				}
				return make([]driver.Delivery, c.got), c.err
			}
			p, places, full := s.pollers, &s.flow.places, false
			p.tryReserve(5)
			var hand pollHand
			defer hand.drop()
			begun := time.Now()
			s.guard(func() { full = p.once(s.polls, driver.Ask{Max: 5}, &hand) })
			if took := time.Since(begun); full != c.full || took > c.most || took < c.most/2 {
				t.Errorf("%s: full %v after %v, want %v after %v", name, full, took, c.full, c.most)
			}
			if places.reserved != 0 || places.polls != 0 || places.taken != c.taken {
				t.Errorf("%s: %d places are reserved for %d polls, and %d taken", name, places.reserved, places.polls,
					places.taken)
			}
			if failing := !p.failing.IsZero(); failing != (c.err != nil || name == "hung") {
				t.Errorf("%s: polls fail: %v", name, failing)
			}
		})
	}
}

// Pollers join while polls are full, as many as the service allows, and leave when polls are not full.
func TestPollersJoinAndLeave(t *testing.T) {
	for _, most := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			s, service := bareSession(t, driver.ReceiveLimits{Batch: 10, Window: 200, Polls: most}, &Config{})
			here, open, peak := make(chan struct{}, 100), make(chan struct{}, 100), 0
			for range 100 {
				here <- struct{}{}
			}
			service.receive = func(ctx context.Context, n int) (got []driver.Delivery, err error) {
				open <- struct{}{}
				time.Sleep(time.Second)
				for ; n > 0 && len(here) > 0; n-- {
					<-here
					got = append(got, driver.Delivery{})
				}
				<-open
				return got, ctx.Err()
			}
			s.Poll()
			for range 100 {
				time.Sleep(100 * time.Millisecond)
				peak = max(peak, len(open))
			}
			time.Sleep(20*time.Second + 50*time.Millisecond)
			if left, n := len(open), s.Counts().Received; peak != most || left != 1 || n != 100 {
				t.Errorf("%d polls at once of %d, at last %d; %d deliveries", peak, most, left, n)
			}
			s.Stop(nil)
			s.pollers.wg.Wait()
		})
	}
}

// A pause lets most of a poll's messages arrive, within its bounds. There is no pause if it would be useless, or too
// late.
func TestPausesThatSaveRequests(t *testing.T) { synctest.Test(t, testPauses) }

func testPauses(t *testing.T) {
	clock := newClock()
	poll := func(n int, received int32, age time.Duration) []driver.Delivery {
		got := make([]driver.Delivery, n)
		for i := range got {
			got[i] = driver.Delivery{SentAt: time.Now().Add(-age), Received: received}
		}
		return got
	}
	for _, c := range []struct {
		name      string
		tolerance time.Duration
		got       []driver.Delivery
		passed    time.Duration // since the answer before
		want      time.Duration
	}{
		{"a hundred a second", 2 * time.Minute, poll(1, 1, 0), 10 * time.Millisecond, 80 * time.Millisecond},
		{"one a second", 2 * time.Minute, poll(1, 1, 0), time.Second, 6 * time.Second},
		{"one in ten minutes, and much is tolerated", 24 * time.Hour, poll(1, 1, 0), 10 * time.Minute, thriftMost},
		{"not asked for", 0, poll(1, 1, 0), time.Second, 0},
		{"nothing comes", 2 * time.Minute, nil, time.Second, 0},
		{"a full poll", 2 * time.Minute, poll(10, 1, 0), time.Second, 0},
		{"an old message", 2 * time.Minute, poll(1, 1, 55*time.Second), time.Second, 0},
		{
			"an old message that waited for its next attempt", 2 * time.Minute, poll(1, 2, time.Hour), time.Second,
			6 * time.Second,
		},
	} {
		th := thrift{tolerance: c.tolerance, at: clock.now() - moment(c.passed)}
		if th.polled(c.got, 10, 0, clock); th.wait != c.want {
			t.Errorf("%s: a pause of %v, want %v", c.name, th.wait, c.want)
		}
	}
	first := thrift{tolerance: time.Minute}
	if first.polled(poll(1, 1, 0), 10, 0, clock); first.wait != 0 {
		t.Errorf("a pause of %v while the rate is unknown", first.wait)
	}
}

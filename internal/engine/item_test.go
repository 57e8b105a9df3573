package engine

import (
	"errors"
	"testing"
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
	l.giveBack(it)
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
		it := &Item{in: &Session{flow: f}, received: c.received}
		if it.NearLimit() != c.want {
			t.Errorf("received %d times of %d: near is %v", c.received, c.most, !c.want)
		}
	}
}

// Items follow each other in a lane: those of another source, or without a lane, do not.
func TestItemsThatFollow(t *testing.T) {
	one, other := newSource(), newSource()
	before := &Item{lane: 7, src: one}
	for _, c := range []struct {
		it   *Item
		want bool
	}{{&Item{lane: 7, src: one}, true}, {&Item{lane: 7, src: other}, false}, {&Item{lane: 9, src: one}, false}} {
		if c.it.Follows(before) != c.want {
			t.Errorf("lane %d of the same source %v: follows is %v", c.it.lane, c.it.src == one, !c.want)
		}
	}
	if (&Item{src: one}).Follows(&Item{src: one}) {
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

package engine

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Next returns at once what can start, at most as many as requested. It rejects what is undecodable, waits if there is
// nothing, and returns when the session must end or an error waits for the caller.
func TestWhatNextReturns(t *testing.T) {
	never := func() bool { return false }
	for name, c := range map[string]struct {
		letters string
		later   string // those that come after a second
		failed  func() bool
		want    string
		took    time.Duration
		rejects int
	}{
		"at most as many":      {letters: "uvwxy", failed: never, want: "uvw"},
		"what is there":        {letters: "uv", later: "w", failed: never, want: "uv"},
		"it waits":             {later: "uv", failed: never, want: "uv", took: time.Second},
		"undecodable":          {letters: "!u", failed: never, want: "u", rejects: 1},
		"the end":              {failed: never, took: time.Minute},
		"an error comes first": {letters: "u", failed: func() bool { return true }},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, service := bareSession(t, driver.ReceiveLimits{SettleBatch: 10}, &Config{})
			defer s.WakeWhenDone()()
			for _, it := range arriveAll(s, c.letters) {
				if it.ID == "!" {
					it.Err = errors.New("undecodable")
				}
			}
			time.AfterFunc(time.Second, func() {
				s.flow.lock()
				arriveAll(s, c.later)
				s.flow.unlock()
			})
			time.AfterFunc(time.Minute, func() { s.Stop(nil) })
			begun := time.Now()
			its := s.Next(3, c.failed)
			if took := time.Since(begun); ids(its) != c.want || took != c.took {
				t.Errorf("%s: %q after %v, want %q after %v", name, ids(its), took, c.want, c.took)
			}
			time.Sleep(2 * time.Second)
			if n := service.of(driver.Reject); n != c.rejects {
				t.Errorf("%s: %d are rejected", name, n)
			}
		})
	}
}

// An item of an iteration is settled or taken back once, and not after its lease was lost or for another message.
func TestAnItemOfAnIterationEndsOnce(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(it *Item, gen uint32) error
		want error
		sent int // settlements
	}{
		"settled": {func(it *Item, gen uint32) error { return it.Settle(gen, Verdict{}) }, nil, 1},
		"twice": {func(it *Item, gen uint32) error {
			return errors.Join(it.Settle(gen, Verdict{}), it.Settle(gen, Verdict{}))
		}, ErrSettled, 1},
		"settled, and not taken back": {func(it *Item, gen uint32) error {
			if err := it.Settle(gen, Verdict{}); err != nil || it.TakeBack(gen) {
				return errors.New("both")
			}
			return nil
		}, nil, 1},
		"taken back": {func(it *Item, gen uint32) error {
			if !it.TakeBack(gen) {
				return errors.New("not taken back")
			}
			return nil
		}, nil, 1},
		"taken back, and not settled": {func(it *Item, gen uint32) error {
			it.TakeBack(gen)
			return it.Settle(gen, Verdict{})
		}, ErrSettled, 1},
		"lost": {func(it *Item, gen uint32) error {
			it.in.flow.lock()
			it.in.flow.lose(it)
			it.in.flow.unlock()
			return it.Settle(gen, Verdict{})
		}, ErrLeaseLost, 0},
		"another message": {func(it *Item, gen uint32) error { return it.Settle(gen-1, Verdict{}) }, ErrSettled, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, service := bareSession(t, driver.ReceiveLimits{SettleBatch: 10}, &Config{})
			arriveAll(s, "x")
			it := s.Next(1, func() bool { return false })[0]
			gen := it.gen
			if err := c.end(it, gen); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
			s.flow.settler.Close(t.Context())
			if n := service.of(driver.Done) + service.of(driver.Release); n != c.sent {
				t.Errorf("%s: %d settlements, want %d", name, n, c.sent)
			}
			if has := name == "another message"; (s.flow.running > 0) != has || (it.gen == gen) != has {
				t.Errorf("%s: %d count as running, generation %d of %d", name, s.flow.running, it.gen, gen)
			}
		})
	}
}

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// The settlements of a lane that is released, and of all but its head.
const (
	rest = "release b, release c"
	all  = "release a, " + rest
)

// settled closes the settler of a session, and returns all settlements, sorted by their letters: the action, the letter
// of the item, and the delay.
func settled(s *Session, service *fakeService) string {
	s.flow.settler.Close(context.Background())
	all := slices.Concat(service.batches...)
	slices.SortFunc(all, func(a, b driver.Settlement) int { return cmp.Compare(a.Handle.Seq, b.Handle.Seq) })
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = fmt.Sprintf("%v %c", one.Action, rune(one.Handle.Seq))
		if one.After > 0 {
			texts[i] += fmt.Sprint(" ", one.After)
		}
	}
	return strings.Join(texts, ", ")
}

// Each verdict has its settlement, and its consequences for the two items behind it in its lane.
func TestVerdictsAreCarriedOut(t *testing.T) {
	no := errors.New("no")
	holds := driver.ReceiveLimits{RetryMax: time.Hour, HoldBelow: 10 * time.Second}
	follows, goesOn := holds, holds
	follows.Behind, goesOn.Behind = driver.BehindFollows, driver.BehindGoesOn
	most := driver.ReceiveLimits{RetryMin: time.Minute, RetryMax: time.Hour}
	minute := Verdict{Action: ActionRetry, After: time.Minute, Reason: no}
	for name, c := range map[string]struct {
		v       Verdict
		lim     driver.ReceiveLimits
		want    string // settlements
		a, next state
	}{
		"done":            {Verdict{}, holds, "done a", gone, queued},
		"dropped":         {Verdict{Action: ActionDrop}, holds, "done a", gone, queued},
		"rejected":        {Verdict{Action: ActionReject, After: 0, Reason: no}, holds, "reject a", gone, queued},
		"released":        {Verdict{Action: ActionRelease}, holds, all, gone, gone},
		"stopped":         {Verdict{Action: ActionStop, After: 0, Reason: no}, holds, all, gone, gone},
		"could not begin": {Verdict{Action: ActionHold, After: time.Hour}, holds, "", shelved, behind},
		"a short retry":   {Verdict{Action: ActionRetry, After: time.Second, Reason: no}, holds, "", shelved, behind},
		"a retry":         {minute, holds, "retry a 1m0s, " + rest, gone, gone},
		"a retry, and the lane follows": {
			minute, follows, "retry a 1m0s, retry b 1m0s, retry c 1m0s", gone, gone,
		},
		"a retry, and the lane goes on": {minute, goesOn, "retry a 1m0s", gone, queued},
		"longer than the service keeps": {
			Verdict{Action: ActionRetry, After: 2 * time.Hour, Reason: no}, goesOn, "retry a 1h0m0s", gone, queued,
		},
		"shorter than it keeps": {
			Verdict{Action: ActionRetry, After: time.Second, Reason: no}, most, "", shelved, behind,
		},
		"it keeps none": {minute, driver.ReceiveLimits{}, "", shelved, behind},
	} {
		synctest.Test(t, func(t *testing.T) {
			c.lim.SettleBatch = 10
			s, service := bareSession(t, c.lim, &Config{Channel: driver.Channel{Ordered: true}})
			its := arriveAll(s, "abc")
			its[0].Attempt = 1
			st := starts(s)
			ends(s, st, c.v)
			if got := settled(s, service); got != c.want {
				t.Errorf("%s: settled %s; want %s", name, got, c.want)
			}
			if its[0].state != c.a || its[1].state != c.next || c.a == shelved && its[0].held&hasShelf == 0 {
				t.Errorf("%s: the item is %v, the next one %v; want %v, %v", name, its[0].state, its[1].state, c.a,
					c.next)
			}
		})
	}
}

// A verdict on an item that is no longer in hand changes nothing. One on a lost item ends it, and releases its lane.
func TestLateVerdicts(t *testing.T) {
	for from, want := range map[state]string{queued: "", shelved: "", lost: rest} {
		synctest.Test(t, func(t *testing.T) {
			s, service := bareSession(t, driver.ReceiveLimits{SettleBatch: 10}, &Config{})
			its := arriveAll(s, "abc")
			kind{lane: 'a'}.to(t, s.flow, its[0], from)
			s.runner.conclude(its[0], Verdict{}, nil)
			got := settled(s, service)
			if got != want || from == lost && its[0].state != gone || s.flow.count.Handled > 0 {
				t.Errorf("%v: settled %q, want %q; it is %v", from, got, want, its[0].state)
			}
		})
	}
}

// A released item stays where it cannot be released: on a log, and near the limit of receives; it starts again later. A
// stop releases it, too.
func TestReleasesThatHaveToWait(t *testing.T) {
	for name, c := range map[string]struct {
		lim      driver.ReceiveLimits
		received int32 // of the last one of the lane
		stops    bool
		want     string
	}{
		"a queue":                    {want: all},
		"a log":                      {lim: driver.ReceiveLimits{Keeps: true}},
		"a log's end":                {lim: driver.ReceiveLimits{Keeps: true}, stops: true, want: all},
		"at the limit of receives":   {lim: driver.ReceiveLimits{MaxReceives: 10}, received: 10},
		"at the limit, and it stops": {driver.ReceiveLimits{MaxReceives: 10}, 10, true, all},
		"at the limit, it stops, and the service keeps delays": {
			driver.ReceiveLimits{MaxReceives: 10, RetryMax: time.Hour}, 10, true, "retry a 30s, release b, release c",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			c.lim.SettleBatch = 10
			s, service := bareSession(t, c.lim, &Config{Channel: driver.Channel{Ordered: true}})
			its := arriveAll(s, "abc")
			its[2].received, its[0].Attempt = c.received, 1
			st := starts(s)
			if c.stops {
				s.Stop(nil)
			}
			ends(s, st, Verdict{Action: ActionRelease})
			if got := settled(s, service); got != c.want {
				t.Errorf("%s: settled %s; want %s", name, got, c.want)
			}
			if c.want != "" {
				return
			}
			time.Sleep(keptPause)
			if s.keeper.fire(s.flow.clock.now()); its[0].state != queued || its[0].Attempt != 1 {
				t.Errorf("%s: later it is %v, with attempt %d", name, its[0].state, its[0].Attempt)
			}
		})
	}
}

// A held retry that has to be released keeps the rest of its delay, if the service can keep it.
func TestAHeldRetryIsReleased(t *testing.T) {
	for name, c := range map[string]struct {
		lim  driver.ReceiveLimits
		dead bool
		want string
	}{
		"with the rest":   {driver.ReceiveLimits{RetryMax: time.Hour}, false, "retry a 40s, release b"},
		"at most so much": {driver.ReceiveLimits{RetryMax: 30 * time.Second}, false, "retry a 30s, release b"},
		"too short a rest": {
			driver.ReceiveLimits{RetryMin: time.Minute, RetryMax: time.Hour}, false, "release a, release b",
		},
		"it keeps no delays": {driver.ReceiveLimits{}, false, "release a, release b"},
		"a revoked source":   {driver.ReceiveLimits{RetryMax: time.Hour}, true, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			c.lim.SettleBatch = 10
			s, service := bareSession(t, c.lim, &Config{})
			its := arriveAll(s, "ab")
			s.flow.held.shelve(its[0], s.flow.clock.now().plus(time.Minute))
			time.Sleep(20 * time.Second)
			if its[0].src.dead = c.dead; c.dead {
				its[0].src.kill()
			}
			s.flow.lock()
			s.flow.releaseAll(nil)
			s.flow.unlock()
			if got := settled(s, service); got != c.want || its[0].state != gone || its[1].state != gone {
				t.Errorf("%s: settled %s, want %s; %v, %v", name, got, c.want, its[0].state, its[1].state)
			}
		})
	}
}

// Nothing is settled for items that lose their leases together, and what is behind them in their lane is released.
func TestLostTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, service := bareSession(t, driver.ReceiveLimits{SettleBatch: 10}, &Config{})
		its := arriveAll(s, "abc")
		s.flow.lock()
		s.flow.lose(its[0], its[2])
		s.flow.unlock()
		if got := settled(s, service); got != "release b" || s.flow.count.LeaseLost != 2 || s.flow.count.Unsettled > 0 {
			t.Errorf("settled %q, and %d are lost; want the release of b, and 2", got, s.flow.count.LeaseLost)
		}
	})
}

// finisher is a service that learns of done items at once.
type finisher struct{ finished []uint64 }

func (f *finisher) Finish(h driver.Handle) { f.finished = append(f.finished, h.Seq) }

// A done item of a log is finished at once, without a settlement, and the next of its lane can start.
func TestDoneOnALog(t *testing.T) {
	s, service := bareSession(t, driver.ReceiveLimits{SettleBatch: 10}, &Config{})
	log := &finisher{}
	s.flow.settler.finisher = log
	its := arriveAll(s, "ab")
	ends(s, starts(s), Verdict{})
	if len(log.finished) != 1 || log.finished[0] != 'a' || settled(s, service) != "" || its[1].state != queued ||
		s.flow.count.Handled != 1 {
		t.Errorf("finished %c, settled %q, the next one is %v", log.finished, settled(s, service), its[1].state)
	}
}

// A step is skipped if its item is used for another message by then, or does not wait any more.
func TestStepsThatAreLate(t *testing.T) {
	s, service := bareSession(t, driver.ReceiveLimits{SettleBatch: 10}, &Config{})
	its := arriveAll(s, "ab")
	f := s.flow
	f.lock()
	f.then(its[0], wayRelease)
	kind{lane: 'a'}.to(t, f, its[0], gone)
	again := arriveAll(s, "x")[0]
	f.then(its[1], wayRelease)
	kind{lane: 'a'}.to(t, f, its[1], running)
	f.unlock()
	if again != its[0] || again.state != queued || its[1].state != running || settled(s, service) != "" {
		t.Errorf("%v and %v; settled %q", again.state, its[1].state, settled(s, service))
	}
}

package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/internal/batch"
)

const (
	// settleLinger and settleLongest are how long a verdict waits for others to travel with, once there is traffic.
	settleLinger  = 2 * time.Millisecond
	settleLongest = 5 * time.Millisecond
	// settleLease is the part of a lease that a verdict may wait for others, when Config.SettleLinger is longer.
	settleLease = 10
	// settleCrowded is how long every verdict waits while tenants are at their share. They settle a few at a time,
	// which would cost a request for each few; and a verdict on its way holds up nobody.
	settleCrowded = 50 * time.Millisecond
	// settlesAtOnce is how many batches may be under way at least; a session with more handlers may have as many as
	// those, so that the round trip of a settle bounds nothing: what waits for an answer is bounded by the places.
	settlesAtOnce = 16
)

// settleAgain spaces the repetitions of what failed in passing.
var settleAgain = backoff.Curve{First: 100 * time.Millisecond, Max: 5 * time.Second}

// verdict is a settlement on its way, with the item it is about.
type verdict struct {
	it        *Item
	after     time.Duration
	death     *driver.Death
	attempt   int32
	action    driver.Action
	untouched bool // it goes back as if it had never been started
	waits     bool // for others to travel with
}

func verdictOn(it *Item, st driver.Settlement) verdict {
	return verdict{it: it, after: st.After, death: st.Death, attempt: st.Attempt, action: st.Action}
}

// settlement is what the backend is told.
func (v *verdict) settlement() driver.Settlement {
	return driver.Settlement{Handle: v.it.handle, Action: v.action, After: v.after, Attempt: v.attempt, Death: v.death}
}

// settler tells the service the verdicts, in batches as large as it takes. Its calls run on a context of their own,
// which shutdown does not cancel: only the end of the shutdown's whole budget does. Add may be called with the fleet's
// lock held.
type settler struct {
	*batch.Batcher[verdict]
	f        *flow
	finisher driver.Finisher // nil: what is done is settled like all else
	patience time.Duration   // how long a verdict waits that may
}

func newSettler(f *flow, r driver.Receiver) *settler {
	spare := sync.Pool{New: func() any { return new([]driver.Settlement) }} // a backend retains none
	s := &settler{f: f}
	if f.lim.SettleBatch > 1 { // else there is no saying when a batch is full
		s.patience = min(f.cfg.SettleLinger, f.lim.Lease/settleLease)
	}
	s.finisher, _ = r.(driver.Finisher)
	s.Batcher = batch.New(batch.Options[verdict]{
		Limit: f.lim.SettleBatch, AtOnce: s.atOnce(), Linger: settleLinger, Longest: settleLongest,
		Patience: func() time.Duration {
			if f.tenants.crowded() {
				return settleCrowded
			}
			return s.patience
		},
		Urgent: func(v verdict) bool { return !v.waits },
		Take: func(v verdict) bool {
			if !v.it.lost.Load() {
				v.it.told.Store(true)
				return true
			}
			s.answered(v, ErrLeaseLost) // someone else's by now: what we think of it does not count
			return false
		},
		Send: func(ctx context.Context, vs []verdict) error {
			buf := spare.Get().(*[]driver.Settlement)
			defer spare.Put(buf)
			ss := (*buf)[:0]
			for i := range vs {
				ss = append(ss, vs[i].settlement())
				if a := vs[i].action; a == driver.Release || a == driver.Retry {
					f.keeper.letGo(ctx, vs[i].it)
				}
			}
			defer clear(ss)
			*buf = ss
			f.cfg.Calls.BeginSettling(ss)
			err := r.Settle(ctx, ss)
			f.cfg.Calls.EndSettling(ss, err)
			return err
		},
		Again: func(v verdict, err error, try int) time.Duration {
			f.keeper.goOnRenewing(v.it)
			return againAfter(err, try)
		},
		Done:   s.answered,
		Landed: s.landed,
	})
	return s
}

// atOnce is how many batches may be under way: one for each handler, and enough for all that places ahead may bring
// during a round trip.
func (s *settler) atOnce() int {
	return max(settlesAtOnce, s.f.cfg.most(), s.f.places.ahead.most/max(1, s.f.lim.SettleBatch))
}

// tell queues a verdict. After the end of a session nobody is told any more, and the message comes again. The caller
// holds the lock.
func (s *settler) tell(v verdict) {
	v.waits = s.f.tenants.crowded() || v.waits && !s.f.stopping() && !s.f.places.tight()
	if !s.Add(v) {
		s.f.untold = append(s.f.untold, v)
	}
}

// landed takes in that the service has verdicts.
func (s *settler) landed(vs []verdict) {
	s.f.lock()
	for i := range vs {
		if v := &vs[i]; v.it.lost.Load() {
			s.refused(*v, ErrLeaseLost)
		} else {
			s.f.count.settled(v)
			s.f.move(v.it, evAnswer)
		}
	}
	s.f.unlock()
}

// answered takes in that the service has not taken a verdict.
func (s *settler) answered(v verdict, err error) {
	s.f.lock()
	s.refused(v, err)
	s.f.unlock()
}

// refused ends a verdict that the service has not taken: the message comes again.
func (s *settler) refused(v verdict, err error) {
	f := s.f
	if errors.Is(err, driver.ErrLost) || v.it.lost.Load() {
		f.markLost(v.it)
		err = ErrLeaseLost
	}
	f.count.Unsettled++
	f.talk.settleFailed(v.it, v.action, f.cfg.Error(v.action.String(), v.it.ID, err))
	f.move(v.it, evAnswer)
}

// againAfter repeats what failed in passing, for as long as the item is ours (Take sees to that).
func againAfter(err error, try int) time.Duration {
	if !driver.ClassOf(err).Passing() {
		return -1
	}
	wait := settleAgain.Jittered(try)
	var e *driver.Error
	if errors.As(err, &e) {
		wait = max(wait, e.After)
	}
	return wait
}

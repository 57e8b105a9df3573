package engine

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/internal/batch"
)

const (
	// settleLinger and settleLongest are how long a verdict waits for others, when there is traffic.
	settleLinger  = 2 * time.Millisecond
	settleLongest = 5 * time.Millisecond
	// settleLease is the part of a lease that bounds Config.SettleLinger.
	settleLease = 10
	// settleCrowded is how long every verdict waits while tenants use their share. They settle a few items at a time,
	// which would cost a request for each few, and a verdict in flight blocks nothing.
	settleCrowded = 50 * time.Millisecond
	// settlesAtOnce is how many batches may be in flight at least. A session with more handlers may have as many
	// batches as handlers, so that the round trip of a settlement is not a limit: the places bound what waits for an
	// answer.
	settlesAtOnce = 16
)

// settleAgain is the delay between repetitions after temporary errors.
var settleAgain = backoff.Curve{First: 100 * time.Millisecond, Max: 5 * time.Second}

// verdict is a settlement that is being sent, with its item.
type verdict struct {
	it        *Item
	after     time.Duration
	first     moment // the first failure, of a retry; noMoment: none
	death     *driver.Death
	attempt   int32
	action    driver.Action
	untouched bool // it is released as if it had never been started
	waits     bool // for others in its batch
	// lane is the item's lane if its order counts at the service, too; 0: it does not. The item may be of another
	// message when the verdict is answered.
	lane uint64
}

// settlement is what the backend gets.
func (v *verdict) settlement() driver.Settlement {
	st := driver.Settlement{Handle: v.it.handle, Action: v.action, After: v.after, Attempt: v.attempt, Death: v.death}
	if v.first != noMoment {
		st.FirstFailure = v.it.in.flow.clock.time(v.first)
	}
	return st
}

// settler reports verdicts to the service, in batches as large as it accepts. Its calls use a context of their own,
// which a shutdown cancels only at the end of its whole budget. Add may be called with the fleet's lock held.
type settler struct {
	*batch.Batcher[verdict]
	f        *flow
	finisher driver.Finisher // nil: done items are settled like all others
	patience time.Duration   // how long a verdict waits if it may wait
}

func newSettler(f *flow, r driver.Receiver) *settler {
	spare := sync.Pool{New: func() any { return new([]driver.Settlement) }} // backends do not keep it
	s := &settler{f: f}
	if f.lim.SettleBatch > 1 { // otherwise a batch is never full
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
		// Dead letters of a lane are in the order of its verdicts: its next item may fail while this one is on its way.
		Key:   func(v verdict) string { return strconv.FormatUint(v.lane, 36) },
		Keyed: func(v verdict) bool { return v.lane != 0 }, Together: true,
		Take: func(v verdict) bool {
			if !v.it.lost.Load() {
				v.it.told.Store(true)
				return true
			}
			s.answered(v, ErrLeaseLost) // another consumer may have it: the verdict does not count
			return false
		},
		Send: func(ctx context.Context, vs []verdict) error {
			told := Settling{Began: time.Now()}
			buf := spare.Get().(*[]driver.Settlement)
			defer spare.Put(buf)
			ss := (*buf)[:0]
			for i := range vs {
				ss = append(ss, vs[i].settlement())
				if f.cfg.TellOwners {
					told.Owners = append(told.Owners, vs[i].it.Owner)
				}
				if a := vs[i].action; a == driver.Release || a == driver.Retry {
					f.keeper.stopRenewing(ctx, vs[i].it)
				}
			}
			defer clear(ss)
			*buf = ss
			f.cfg.Calls.BeginSettling(ss)
			err := r.Settle(ctx, ss)
			f.cfg.Calls.EndSettling(ss, err)
			told.answered(vs, err)
			f.talk.obs.Settled(told)
			return err
		},
		Again: func(v verdict, err error, try int) time.Duration {
			f.keeper.renewAgain(v.it)
			return againAfter(err, try)
		},
		Done:   s.answered,
		Landed: s.landed,
	})
	return s
}

// atOnce is how many batches may be in flight: one for each handler, and enough for all items that the places ahead may
// bring during a round trip.
func (s *settler) atOnce() int {
	return max(settlesAtOnce, s.f.cfg.most(), s.f.places.ahead.most/max(1, s.f.lim.SettleBatch))
}

// tell queues a verdict. After the end of a session the verdict is refused, and the message is delivered again. The
// caller holds the lock.
func (s *settler) tell(v verdict) {
	if v.action == driver.Reject {
		v.lane = v.it.lane
	}
	v.waits = s.f.tenants.crowded() || v.waits && !s.f.stopping() && !s.f.places.tight()
	if !s.Add(v) {
		s.f.untold = append(s.f.untold, v)
	}
}

// landed is called when the service has accepted verdicts.
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

// answered is called when the service has not accepted a verdict.
func (s *settler) answered(v verdict, err error) {
	s.f.lock()
	s.refused(v, err)
	s.f.unlock()
}

// refused ends a verdict that the service has not accepted: the message is delivered again.
func (s *settler) refused(v verdict, err error) {
	f := s.f
	if errors.Is(err, driver.ErrLost) || v.it.lost.Load() {
		f.markLost(v.it)
		err = ErrLeaseLost
	}
	f.count.Unsettled++
	action := v.action
	err = f.cfg.Error(action.String(), v.it.ID, err)
	f.talk.about(v.it, func(o Observer, owner any) { o.SettleFailed(owner, action, err) })
	f.move(v.it, evAnswer)
}

// againAfter is the delay before a verdict with a temporary error is repeated, as long as the lease lasts (which Take
// checks).
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

package godwit

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
	// settleCrowded is how long it waits while tenants are at their share. They settle a few at a time, which would cost a
	// request for each few; and a verdict on its way holds up nobody.
	settleCrowded = 50 * time.Millisecond
	// settlesAtOnce bounds the batches under way: at five milliseconds each, 32,000 verdicts a second.
	settlesAtOnce = 16
)

// settleAgain spaces the repetitions of what failed in passing.
var settleAgain = backoff.Curve{First: 100 * time.Millisecond, Max: 5 * time.Second}

// verdict is a settlement on its way, with the delivery it is about.
type verdict struct {
	d         *Delivery
	after     time.Duration
	death     *driver.Death
	attempt   int32
	action    driver.Action
	untouched bool // it goes back as if it had never been started
}

func verdictOn(d *Delivery, st driver.Settlement) verdict {
	return verdict{d: d, after: st.After, death: st.Death, attempt: st.Attempt, action: st.Action}
}

// settlement is what the backend is told.
func (v *verdict) settlement() driver.Settlement {
	return driver.Settlement{Handle: v.d.handle, Action: v.action, After: v.after, Attempt: v.attempt, Death: v.death}
}

// settler tells the service the verdicts, in batches as large as it takes. Its calls run on a context of their own,
// which shutdown does not cancel: only the end of the shutdown's whole budget does.
type settler struct{ *batch.Batcher[verdict] }

func newSettler(s *session, r driver.Receiver, limit int) *settler {
	spare := sync.Pool{New: func() any { return new([]driver.Settlement) }} // a backend retains none
	return &settler{batch.New(batch.Options[verdict]{
		Limit: limit, AtOnce: settlesAtOnce, Linger: settleLinger, Longest: settleLongest,
		Patience: func() time.Duration {
			if s.tenants.crowded() {
				return settleCrowded
			}
			return 0
		},
		Take: func(v verdict) bool {
			if v.d.lost.Load() { // someone else's by now: what we think of it does not count
				s.settled(v, ErrLeaseLost)
				return false
			}
			v.d.told.Store(true)
			return true
		},
		Send: func(ctx context.Context, vs []verdict) error {
			buf := spare.Get().(*[]driver.Settlement)
			defer spare.Put(buf)
			ss := (*buf)[:0]
			for i := range vs {
				ss = append(ss, vs[i].settlement())
				if a := vs[i].action; a == driver.Release || a == driver.Retry {
					s.keeper.letGo(ctx, vs[i].d)
				}
			}
			defer clear(ss)
			*buf = ss
			s.health.calls.beginSettling(vs)
			err := r.Settle(ctx, ss)
			s.health.calls.endSettling(vs, err)
			return err
		},
		Again: func(v verdict, err error, try int) time.Duration {
			s.keeper.goOn(v.d)
			return againAfter(err, try)
		},
		Done: s.settled, Landed: s.landed,
	})}
}

// againAfter repeats what failed in passing, for as long as the delivery is ours (Take sees to that).
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

// tell queues verdicts, in order. After the end of a session nobody is told any more, and the messages come again.
func (s *session) tell(vs ...verdict) {
	if s.settler.Add(vs...) {
		return
	}
	for _, v := range vs {
		s.settled(v, ErrClosed)
	}
}

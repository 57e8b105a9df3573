package share

import (
	"context"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/records"
)

// verdict is what becomes of one record.
type verdict struct {
	i    int // the entry of the batch
	lock *lock
	st   driver.Settlement
	what ackType
}

// publish publishes copies of what is retried or rejected, and returns the verdicts that the broker may be told. The
// other verdicts are taken back, and their errors are noted in the call.
func (r *Receiver) publish(ctx context.Context, vs []verdict, c *call) (ready []verdict) {
	var later, dead []records.Copy
	var laterOf, deadOf []verdict
	for _, v := range vs {
		rec, st := v.lock.record, v.st
		switch {
		case v.lock.copied:
			ready = append(ready, v)
		case st.Action == driver.Release && v.lock.fresh():
			v.what = release
			ready = append(ready, v)
		case st.Action == driver.Release: // its copy has a count of its own
			later, laterOf = append(later, records.Copy{Record: rec, Due: time.Now()}), append(laterOf, v)
		case st.Action == driver.Retry:
			later = append(later, records.Copy{
				Record: rec, Due: time.Now().Add(st.After), Attempt: st.Attempt, FirstFailure: st.FirstFailure,
			})
			laterOf = append(laterOf, v)
		case st.Action == driver.Reject:
			dead = append(dead, records.Copy{Record: rec, Death: st.Death, Attempt: st.Attempt})
			deadOf = append(deadOf, v)
		default:
			ready = append(ready, v)
		}
	}
	take := func(of []verdict, answers []error) {
		for k, v := range of {
			if answers[k] != nil {
				c.fail(v.i, answers[k])
				v.lock.run.s.unclaim(v.lock)
				continue
			}
			v.lock.copied = true
			ready = append(ready, v)
		}
	}
	if len(later) > 0 {
		take(laterOf, r.c.Retry(ctx, later))
	}
	if len(dead) > 0 {
		take(deadOf, r.c.Reject(ctx, dead))
	}
	return ready
}

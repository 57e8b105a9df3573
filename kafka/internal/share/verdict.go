package share

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
)

// verdict is what becomes of one record.
type verdict struct {
	i      int // of the batch's entry
	of     *handed
	st     driver.Settlement
	status kgo.AckStatus
}

// publish publishes copies of what is retried or rejected, and returns the verdicts that the broker may be told.
func (r *Receiver) publish(ctx context.Context, vs []verdict, errs map[int]error) (ready []verdict) {
	var later, dead []Copy
	var laterOf, deadOf []verdict
	for _, v := range vs {
		rec, st := v.of.record, v.st
		switch st.Action {
		case driver.Release:
			if v.status = kgo.AckRelease; fresh(rec) {
				ready = append(ready, v)
				continue
			}
			v.status = kgo.AckAccept // its copy has a count of its own
			later, laterOf = append(later, Copy{Record: rec, Due: time.Now()}), append(laterOf, v)
		case driver.Retry:
			later, laterOf = append(later, Copy{Record: rec, Due: time.Now().Add(st.After), Attempt: st.Attempt}),
				append(laterOf, v)
		case driver.Reject:
			dead, deadOf = append(dead, Copy{Record: rec, Death: st.Death, Attempt: st.Attempt}), append(deadOf, v)
		default:
			ready = append(ready, v)
		}
	}
	take := func(of []verdict, answers []error) {
		for k, v := range of {
			if answers[k] != nil {
				errs[v.i] = answers[k]
			} else {
				ready = append(ready, v)
			}
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

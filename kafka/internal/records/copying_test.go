package records

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kgo"
)

var errRefused = errors.New("refused")

// A copy that is in a transaction when its caller leaves does not finish its message, and neither does a copy that is
// in none. If the copy is refused later, its message is copied again.
func TestCallerLeavesCopies(t *testing.T) {
	for _, c := range []struct {
		from    stage
		outcome error
		want    stage
	}{
		{from: moving, want: finished},
		{from: retrying, want: finished},
		{from: rejecting, want: finished},
		{from: moving, outcome: errRefused, want: delayed},
		{from: rejecting, outcome: errRefused, want: rejecting}, // until the partition's next owner gets it
	} {
		t.Run(fmt.Sprintf("%s, %v", c.from, c.outcome), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, e := newTestLedger(t)
				in, out := l.at(t, e, c.from), l.at(t, e, c.from)
				ctx, cancel := context.WithCancel(t.Context())
				got := make(chan []error)
				go func() { got <- l.Results.Put(ctx, []Copy{{m: in}, {m: out}}, make([]*kgo.Record, 2)) }()
				synctest.Wait()
				var batch []*Result
				l.Results.queue, batch = l.Results.queue[1:], l.Results.queue[:1]
				cancel()
				errs := <-got
				if !errors.Is(errs[0], ErrInTransaction) || !errors.Is(errs[1], context.Canceled) {
					t.Errorf("got %v, want that the first one is in a transaction, and the second one in none", errs)
				}
				if in.stage != c.from || out.stage != c.from || len(l.Results.queue) != 0 {
					t.Errorf("now %s and %s, and %d results wait", in.stage, out.stage, len(l.Results.queue))
				}
				if c.outcome == nil {
					l.Results.Seal(batch, nil)
				} else {
					r := batch[0]
					l.Results.end(r)
					r.Answer(c.outcome)
				}
				if in.stage != c.want {
					t.Errorf("after the transaction: %s, want %s", in.stage, c.want)
				}
			})
		})
	}
}

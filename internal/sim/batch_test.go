package sim

import (
	"context"
	"time"

	"github.com/godwitmq/godwit"
)

// ending is the result of one delivery of a batch.
type ending struct {
	what     outcome
	after    time.Duration
	err      error // its entry in the error that the handler returns
	answered bool  // the handler returned a result for this delivery
}

// batchHandler is the handler of a process that handles batches. Each message of a batch has its own behavior. The
// behavior of the first one decides what happens to the batch as a whole.
func (w *world) batchHandler(p *consumer) godwit.BatchHandler {
	return func(ctx context.Context, ds []*godwit.Delivery) error {
		starts := p.checker.begin(p, ds...)
		if starts == nil {
			return errCut
		}
		behaviors := make([]behavior, len(ds))
		for i, s := range starts {
			behaviors[i] = w.draw(s)
		}
		ends := make([]ending, len(ds))
		// Also when the handler panics.
		defer func() {
			for i, s := range starts {
				s.entry, s.answered = ends[i].err, ends[i].answered
				p.checker.returned(s.delivery, ends[i].what, ends[i].after)
			}
		}()
		whole := wholeBatch(behaviors)
		if !work(ctx, &whole, p) {
			return errInterrupted
		}
		if whole.kind == seenPanic {
			w.tally.add(seenAllFailed, 1)
			panic(errBusiness)
		}
		return w.batch(ds, starts, behaviors, ends)
	}
}

// wholeBatch is the behavior for a batch as a whole: the behavior of the first message, with the longest duration of
// all.
func wholeBatch(behaviors []behavior) behavior {
	whole := behaviors[0]
	for i := range behaviors {
		if behaviors[i].kind != seenIgnored {
			whole.time = max(whole.time, behaviors[i].time)
		}
	}
	return whole
}

// batch decides the result of each delivery by its own behavior. On an ordered channel, the deliveries after a failed
// one of the same key are not handled, whatever the handler returns for them.
func (w *world) batch(ds []*godwit.Delivery, starts []start, behaviors []behavior, ends []ending) error {
	failed := &godwit.HandleBatchError{Errs: map[int]error{}}
	stuck := map[string]bool{} // order keys with a failed delivery
	for i, d := range ds {
		do, end := &behaviors[i], &ends[i]
		if do.kind == seenSelf || do.kind == seenRelease {
			failed.Errs[i] = w.bySelf(d, do, &end.what, &end.after)
		} else if err := do.err(); err != nil {
			failed.Errs[i] = err
		} else {
			end.what = outDone
		}
		if key := starts[i].m.key; stuck[key] {
			*end = ending{what: outUnhandled}
			w.tally.add(seenUnhandled, 1)
		} else if end.what != outDone && starts[i].of.checker.plan.ordered {
			stuck[key] = true
		}
	}
	for i := range ends {
		ends[i].err, ends[i].answered = failed.Errs[i], true
	}
	switch {
	case len(failed.Errs) == 0:
		return nil
	case len(failed.Errs) == len(ds) && behaviors[0].kind == seenFailure:
		w.tally.add(seenAllFailed, 1)
		for i := range ends {
			ends[i].err = errBusiness
		}
		return errBusiness
	}
	w.tally.add(seenSomeFailed, 1)
	return failed
}

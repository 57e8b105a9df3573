package sim

import (
	"context"
	"time"

	"github.com/godwitmq/godwit"
)

// ending is what becomes of one delivery of a batch.
type ending struct {
	what     outcome
	after    time.Duration
	err      error // in the handler's answer, if
	answered bool  // it answered for this one
}

// batchHandler is what a process runs that handles batches. Each message of a batch has its own deed; the first of them
// decides what happens to all of it.
func (w *world) batchHandler(p *member) godwit.BatchHandler {
	return func(ctx context.Context, ds []*godwit.Delivery) error {
		starts := p.books.begin(p, ds...)
		if starts == nil {
			return errCut
		}
		deeds := make([]deed, len(ds))
		for i, s := range starts {
			deeds[i] = w.does(s)
		}
		ends := make([]ending, len(ds)) // all undecided
		defer func() {                  // also when it panics
			for i, s := range starts {
				s.entry, s.answered = ends[i].err, ends[i].answered
				p.books.returned(s.holding, ends[i].what, ends[i].after)
			}
		}()
		whole := wholeDeed(deeds)
		if !work(ctx, &whole, p) {
			return errInterrupted
		}
		if whole.kind == struckPanic {
			w.tally.add(struckAllFailed, 1)
			panic(errBusiness)
		}
		return w.batch(ds, starts, deeds, ends)
	}
}

// wholeDeed is what a handler does with all of a batch: it takes as long as the longest of its deeds.
func wholeDeed(deeds []deed) deed {
	whole := deeds[0]
	for i := range deeds {
		if deeds[i].kind != struckIgnored {
			whole.time = max(whole.time, deeds[i].time)
		}
	}
	return whole
}

// batch ends each delivery by its own deed. Behind one that failed, those of its key are not handled whatever the handler
// does with them: it does not know.
func (w *world) batch(ds []*godwit.Delivery, starts []start, deeds []deed, ends []ending) error {
	failed := &godwit.HandleBatchError{Errs: map[int]error{}}
	stuck := map[string]bool{} // order keys of which one has failed
	for i, d := range ds {
		do, end := &deeds[i], &ends[i]
		dropped := do.kind == struckDrop
		if do.kind == struckSelf || do.kind == struckRelease {
			failed.Errs[i] = w.bySelf(d, do, &end.what, &end.after)
		} else if err := do.err(); err != nil {
			failed.Errs[i] = err
		} else {
			end.what = outDone
		}
		if key := starts[i].m.key; stuck[key] {
			*end = ending{what: outUnhandled}
			w.tally.add(struckUnhandled, 1)
		} else if end.what != outDone && !dropped && starts[i].of.books.plan.ordered {
			stuck[key] = true
		}
	}
	for i := range ends {
		ends[i].err, ends[i].answered = failed.Errs[i], true
	}
	switch {
	case len(failed.Errs) == 0:
		return nil
	case len(failed.Errs) == len(ds) && deeds[0].kind == struckFailure:
		w.tally.add(struckAllFailed, 1)
		for i := range ends {
			ends[i].err = errBusiness
		}
		return errBusiness
	}
	w.tally.add(struckSomeFailed, 1)
	return failed
}

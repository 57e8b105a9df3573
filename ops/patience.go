package ops

import (
	"context"
	"errors"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
)

// patience is how long calls are repeated after errors that may pass. It also bounds a single call, because a client of
// Kafka waits for its broker for as long as its caller does.
const patience = time.Minute

// pauses are the waits between two tries of a call.
var pauses = backoff.Curve{First: 100 * time.Millisecond, Max: 5 * time.Second}

// outcome is what came of a batch call that was made patiently.
type outcome struct {
	errs map[int]error // the last errors of the items that have failed, by index
	// unsure are the items of which an answer may have been lost, so that the call may have taken effect twice for
	// them.
	unsure map[int]bool
	// whole is the error of the last call, if it was not about single items; nil: it succeeded, or it was about them.
	whole error
}

// patiently makes a batch call, and repeats it with the items that fail for the moment.
func patiently[T any](ctx context.Context, items []T, call func(ctx context.Context, items []T) error) (o outcome) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	o.errs, o.unsure = map[int]error{}, map[int]bool{}
	left := make([]int, len(items))
	for i := range items {
		left[i] = i
	}
	for try := 1; ; try++ {
		some := make([]T, len(left))
		for k, i := range left {
			some[k] = items[i]
		}
		err := call(ctx, some)
		entries, single := errors.AsType[*driver.BatchError](err)
		if o.whole = err; single {
			o.whole = nil
		}
		var again []int
		for k, i := range left {
			one := err
			if single {
				one = entries.Errs[k]
			}
			delete(o.errs, i)
			if one == nil {
				continue
			}
			o.errs[i] = one
			class := driver.ClassOf(one)
			o.unsure[i] = o.unsure[i] || class == driver.Transient
			if class.Passing() && !errors.Is(one, driver.ErrLost) {
				again = append(again, i)
			}
		}
		left = again
		if len(left) == 0 || backoff.Sleep(ctx, pauses.Jittered(try)) != nil {
			return o
		}
	}
}

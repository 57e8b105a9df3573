package calling

import (
	"context"
	"errors"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
)

// Patience is how long calls are repeated after errors that may pass. It also bounds a single call, because a client of
// Kafka waits for its broker for as long as its caller does.
const Patience = time.Minute

// Pauses are the waits between two tries of a call.
var Pauses = backoff.Curve{First: 100 * time.Millisecond, Max: 5 * time.Second}

// Outcome is what came of a batch call that was made patiently.
type Outcome struct {
	Errs map[int]error // the last errors of the items that have failed, by index
	// Unsure are the items of which an answer may have been lost, so that the call may have taken effect twice for
	// them.
	Unsure map[int]bool
	// Whole is the error of the last call, if it was not about single items; nil: it succeeded, or it was about them.
	Whole error
}

// Patiently makes a batch call, and repeats it with the items that fail for the moment.
func Patiently[T any](ctx context.Context, items []T, call func(ctx context.Context, items []T) error) (o Outcome) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	o.Errs, o.Unsure = map[int]error{}, map[int]bool{}
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
		if o.Whole = err; single {
			o.Whole = nil
		}
		var again []int
		for k, i := range left {
			one := err
			if single {
				one = entries.Errs[k]
			}
			delete(o.Errs, i)
			if one == nil {
				continue
			}
			o.Errs[i] = one
			class := driver.ClassOf(one)
			o.Unsure[i] = o.Unsure[i] || class == driver.Transient
			if class.Passing() && !errors.Is(one, driver.ErrLost) {
				again = append(again, i)
			}
		}
		left = again
		if len(left) == 0 || backoff.Sleep(ctx, Pauses.Jittered(try)) != nil {
			return o
		}
	}
}

// Settle reports verdicts, and repeats those that fail for the moment. A delivery that is lost is no error: its message
// is delivered again, or is gone.
func Settle(ctx context.Context, r driver.Receiver, batch []driver.Settlement) error {
	told := Patiently(ctx, batch, r.Settle)
	for i := range batch {
		if err := told.Errs[i]; err != nil && !errors.Is(err, driver.ErrLost) {
			return err
		}
	}
	return nil
}

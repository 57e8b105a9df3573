package ops

import (
	"context"
	"errors"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
)

// patience is how long a call is repeated after errors that may pass.
const patience = time.Minute

// pauses are the waits between two tries of a call.
var pauses = backoff.Curve{First: 100 * time.Millisecond, Max: 5 * time.Second}

// settle reports verdicts, and repeats those that fail for the moment. A delivery that is lost is no error: its message
// is delivered again, or is gone.
func settle(ctx context.Context, r driver.Receiver, batch []driver.Settlement) error {
	for try, end := 1, time.Now().Add(patience); ; try++ {
		err := r.Settle(ctx, batch)
		if err == nil {
			return nil
		}
		again := batch
		if entries, ok := errors.AsType[*driver.BatchError](err); ok {
			again, err = nil, nil
			for i := range batch {
				switch one := entries.Errs[i]; {
				case one == nil, errors.Is(one, driver.ErrLost):
				case driver.ClassOf(one).Passing():
					again, err = append(again, batch[i]), one
				default:
					return one
				}
			}
			if err == nil {
				return nil
			}
		}
		if !driver.ClassOf(err).Passing() || time.Now().After(end) {
			return err
		}
		if over := backoff.Sleep(ctx, pauses.Jittered(try)); over != nil {
			return errors.Join(err, over)
		}
		batch = again
	}
}

package ops

import (
	"context"
	"errors"

	"github.com/godwitmq/godwit/driver"
)

// settle reports verdicts, and repeats those that fail for the moment. A delivery that is lost is no error: its message
// is delivered again, or is gone.
func settle(ctx context.Context, r driver.Receiver, batch []driver.Settlement) error {
	told := patiently(ctx, batch, r.Settle)
	for i := range batch {
		if err := told.errs[i]; err != nil && !errors.Is(err, driver.ErrLost) {
			return err
		}
	}
	return nil
}

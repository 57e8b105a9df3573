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

// finish settles messages that the walk holds, a batch at a time, and calls settled with the ids and the error of each;
// its own error ends it. A message that was received again meanwhile is settled with its newest handle as well: SQS
// deletes nothing with an older one.
func (w *walk) finish(ctx context.Context, ds []driver.Delivery, as driver.Settlement,
	settled func(ids []string, err error) error,
) error {
	open := make([]string, 0, len(ds))
	for i := range ds {
		open = append(open, ds[i].ID)
	}
	most := w.lim.SettleBatch
	if most == 0 {
		most = max(1, len(open))
	}
	for len(open) > 0 {
		some := open[:min(most, len(open))]
		open = open[len(some):]
		batch, handles := make([]driver.Settlement, len(some)), make([]driver.Handle, len(some))
		for i := range some {
			handles[i] = w.held.handle(some[i])
			batch[i] = as
			batch[i].Handle = handles[i]
		}
		if err := settled(some, settle(ctx, w.recv, batch)); err != nil {
			return err
		}
		open = append(open, w.held.drop(some, handles)...)
	}
	return nil
}

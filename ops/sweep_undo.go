package ops

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
)

// undoTries is how often a channel is made that the service refuses for a while. SQS reserves the name of a deleted
// queue for a minute.
const undoTries = 3

// UndoResult is what became of one channel of a journal.
type UndoResult struct {
	Channel string   `json:"channel"`
	Address string   `json:"address"`
	Made    []string `json:"made"`
	Found   []string `json:"found"` // exists already, and was not changed
	Problem string   `json:"error,omitempty"`
}

// Undo makes again what a sweep has deleted, from the text of its journal: queues with their attributes, policies, tags
// and subscriptions, and exchanges. Undo leaves existing channels as they are, so a second one changes nothing.
// Messages do not come back; there were none. The error says what could not be made, and does not stop the rest.
func Undo(ctx context.Context, b driver.Backend, journal []byte) ([]UndoResult, error) {
	do := driver.OperationsOf(b)
	if do.Restore == nil {
		return nil, errors.New("ops: this backend cannot make again what was deleted")
	}
	lines, err := readSweepJournal(journal)
	if err != nil {
		return nil, err
	}
	slices.Reverse(lines) // an exchange comes before its queues, and dead letters before theirs
	results, errs := make([]UndoResult, len(lines)), make([]error, len(lines))
	for made, pass := true, 0; made && ctx.Err() == nil; pass++ {
		made = false // sweeps that shared the journal may have mixed that order, so what failed is tried again
		for i, l := range lines {
			if pass > 0 && errs[i] == nil {
				continue
			}
			one, err := restore(ctx, do, l.Deleting)
			r := UndoResult{Channel: l.Channel, Address: l.Address, Found: one.Found}
			r.Made = append(results[i].Made, one.Made...)
			if errs[i] = err; err != nil {
				r.Problem = err.Error()
				errs[i] = fmt.Errorf("ops: undo %s: %w", l.Channel, err)
			}
			made = made || len(one.Made) > 0
			results[i] = r
		}
	}
	return results, errors.Join(errors.Join(errs...), ctx.Err())
}

func restore(ctx context.Context, do driver.Operations, data []byte) (r driver.Restored, err error) {
	for n := 1; ; n++ {
		one, err := do.Restore(ctx, data)
		r.Made = append(r.Made, one.Made...)
		r.Found = one.Found
		later, _ := errors.AsType[*driver.Error](err)
		if err == nil || n == undoTries || later == nil || later.After == 0 {
			return r, err
		}
		if backoff.Sleep(ctx, later.After) != nil {
			return r, errors.Join(err, ctx.Err())
		}
	}
}

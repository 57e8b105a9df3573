package snssqs

import (
	"context"
	"fmt"

	"github.com/godwitmq/godwit/driver"
)

// discards are messages of one receive that are deleted instead of being returned, each with the reason.
type discards struct {
	ms      []*message
	reasons []driver.DiscardReason
}

func (d *discards) add(m *message, why driver.DiscardReason) {
	d.ms, d.reasons = append(d.ms, m), append(d.reasons, why)
}

// discard deletes messages that are finished already or that the filter does not want, and tells the core. One that
// cannot be deleted comes again, and is told when it is gone.
func (r *receiver) discard(d *discards) error {
	if len(d.ms) == 0 {
		return nil
	}
	which := make([]int, len(d.ms))
	for i := range which {
		which[i] = i
	}
	errs := map[int]error{}
	collect(errs, which, r.delete(context.Background(), d.ms)) // they are received, whatever has ended meanwhile
	for _, why := range []driver.DiscardReason{driver.DiscardFiltered, driver.DiscardFinished} {
		var ids []string
		for i, m := range d.ms {
			if d.reasons[i] == why && errs[i] == nil {
				ids = append(ids, deref(m.MessageId))
			}
		}
		if len(ids) > 0 && r.o.Events.Discarded != nil {
			r.o.Events.Discarded(driver.Discarded{Reason: why, Count: len(ids), IDs: ids})
		}
	}
	if err := batchError(errs); err != nil {
		return fmt.Errorf("delete what is finished, or not wanted by the filter: %w", err)
	}
	return nil
}

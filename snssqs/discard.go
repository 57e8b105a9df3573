package snssqs

import (
	"context"
	"fmt"

	"github.com/godwitmq/godwit/driver"
)

// discards are the messages of one receive that are deleted instead of returned, each with the reason.
type discards struct {
	ms      []*message
	reasons []driver.DiscardReason
}

func (d *discards) add(m *message, why driver.DiscardReason) {
	d.ms, d.reasons = append(d.ms, m), append(d.reasons, why)
}

// discard deletes messages that are already finished or that the filter does not select, and reports them to the core.
// A message that cannot be deleted is delivered again, and is reported when it is deleted.
func (r *receiver) discard(d *discards) error {
	if len(d.ms) == 0 {
		return nil
	}
	which := make([]int, len(d.ms))
	for i := range which {
		which[i] = i
	}
	errs := map[int]error{}
	// Not the caller's context: the messages were received, whatever has ended meanwhile.
	collect(errs, which, r.delete(context.Background(), d.ms))
	for _, why := range []driver.DiscardReason{driver.DiscardFiltered, driver.DiscardFinished} {
		var ids []string
		var gone []driver.Location
		for i, m := range d.ms {
			if d.reasons[i] == why && errs[i] == nil {
				ids = append(ids, deref(m.MessageId))
				gone = r.objects.of(m, gone)
			}
		}
		r.objects.remove(gone)
		if len(ids) > 0 && r.o.Events.Discarded != nil {
			r.o.Events.Discarded(driver.Discarded{Reason: why, Count: len(ids), IDs: ids})
		}
	}
	if err := batchError(errs); err != nil {
		return fmt.Errorf("delete messages that are finished or that the filter does not select: %w", err)
	}
	return nil
}

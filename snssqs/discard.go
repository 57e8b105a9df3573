package snssqs

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// discards are the messages of one receive that are deleted instead of returned, each with the reason.
type discards struct {
	ms      []*wire.Message
	reasons []driver.DiscardReason
}

func (d *discards) add(m *wire.Message, why driver.DiscardReason) {
	d.ms, d.reasons = append(d.ms, m), append(d.reasons, why)
}

// discard deletes messages that are already finished or that the filter does not select, and reports them to the core.
// A message that cannot be deleted is delivered again, and is reported with the error.
func (r *receiver) discard(d *discards) {
	if len(d.ms) == 0 {
		return
	}
	which := make([]int, len(d.ms))
	for i := range which {
		which[i] = i
	}
	errs := map[int]error{}
	// Not the caller's context: the messages were received, whatever has ended meanwhile.
	client.Collect(errs, which, r.delete(context.Background(), d.ms))
	for _, why := range []driver.DiscardReason{driver.DiscardFiltered, driver.DiscardFinished} {
		var ids, left []string
		var gone []driver.Location
		var failed error
		for i, m := range d.ms {
			switch {
			case d.reasons[i] != why:
			case errs[i] != nil:
				left, failed = append(left, aws.ToString(m.MessageId)), errs[i]
			default:
				ids = append(ids, aws.ToString(m.MessageId))
				gone = r.objects.of(m, gone)
			}
		}
		r.objects.remove(gone)
		r.discarded(driver.Discarded{Reason: why, Count: len(left), IDs: left, Err: failed})
		r.discarded(driver.Discarded{Reason: why, Count: len(ids), IDs: ids})
	}
}

func (r *receiver) discarded(d driver.Discarded) {
	if d.Count > 0 && r.o.Events.Discarded != nil {
		r.o.Events.Discarded(d)
	}
}

package snssqs

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// deadLetters copies the rejected messages of a channel to its dead letters.
type deadLetters struct {
	decoder     *wire.Decoder
	of          *estate.Queue // the channel's
	provisioner *estate.Provisioner
	requests    *requests
}

// copy copies rejected messages to the dead letters and returns those that have a copy. A message that was
// copied by an earlier call, whose delete failed, is not copied again.
func (d *deadLetters) copy(ctx context.Context, batch []driver.Settlement, which []int,
	errs map[int]error,
) (stand []int) {
	var open []int
	for _, i := range which {
		if batch[i].Handle.Ref.(*wire.Message).Copied.Load() {
			stand = append(stand, i)
		} else {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return stand
	}
	q, err := d.provisioner.DeadLetters(ctx, d.decoder.From, d.of)
	if err != nil {
		for _, i := range open {
			errs[i] = err
		}
		return stand
	}
	entries := make([]types.SendMessageBatchRequestEntry, len(open))
	for k, i := range open {
		entries[k] = d.decoder.DeadLetter(batch[i].Handle.Ref.(*wire.Message), batch[i].Death, q.MaxBytes())
	}
	for first := 0; first < len(open); {
		n := wire.Fitting(entries[first:], client.MaxBytes)
		some := open[first : first+n]
		client.Collect(errs, some, d.send(ctx, q, entries[first:first+n]))
		for _, i := range some {
			if errs[i] == nil {
				batch[i].Handle.Ref.(*wire.Message).Copied.Store(true)
				stand = append(stand, i)
			}
		}
		first += n
	}
	return stand
}

// send sends copies to the dead letters. If the dead-letter queue is missing, it is created again, once.
func (d *deadLetters) send(ctx context.Context, q *estate.Queue, entries []types.SendMessageBatchRequestEntry) error {
	for i := range entries {
		entries[i].Id = client.EntryID(i)
	}
	err := d.requests.send(ctx, q, entries, new(batchIDs))
	if driver.ClassOf(err) != driver.NotFound {
		return err
	}
	d.provisioner.ForgetDeadLetters(d.decoder.From)
	if q, again := d.provisioner.DeadLetters(ctx, d.decoder.From, d.of); again == nil {
		return d.requests.send(ctx, q, entries, new(batchIDs))
	}
	return err
}

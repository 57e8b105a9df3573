package snssqs

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// copyRejected copies rejected messages to the dead letters and returns those that have a copy. A message that was
// copied by an earlier call, whose delete failed, is not copied again.
func (r *receiver) copyRejected(ctx context.Context, batch []driver.Settlement, which []int,
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
	q, err := r.deadLetters(ctx)
	if err != nil {
		for _, i := range open {
			errs[i] = err
		}
		return stand
	}
	entries := make([]types.SendMessageBatchRequestEntry, len(open))
	for k, i := range open {
		entries[k] = r.DeadLetter(batch[i].Handle.Ref.(*wire.Message), batch[i].Death, q.maxBytes())
	}
	for first := 0; first < len(open); {
		n := wire.Fitting(entries[first:], client.MaxBytes)
		some := open[first : first+n]
		client.Collect(errs, some, r.copyOut(ctx, q, entries[first:first+n]))
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

// copyOut sends copies to the dead letters. If the dead-letter queue is missing, it is created again, once.
func (r *receiver) copyOut(ctx context.Context, q *queue, entries []types.SendMessageBatchRequestEntry) error {
	for i := range entries {
		entries[i].Id = client.EntryID(i)
	}
	err := r.b.sendBatch(ctx, q, entries, new(batchIDs))
	if driver.ClassOf(err) != driver.NotFound {
		return err
	}
	r.b.forget(r.dead())
	if q, again := r.deadLetters(ctx); again == nil {
		return r.b.sendBatch(ctx, q, entries, new(batchIDs))
	}
	return err
}

// deadLetters returns the queue for rejected messages. If it is missing, it is created again, provided that the
// consumer of this process may provision it.
func (r *receiver) deadLetters(ctx context.Context) (*queue, error) {
	if r.From.DeadLetter {
		return nil, client.Permanent("channel %s has no dead letters of its own", r.From)
	}
	q, err := r.b.known(ctx, r.dead())
	spec, ours := r.provisions()
	if driver.ClassOf(err) != driver.NotFound || !ours || spec.NoDeadLetters {
		return q, err
	}
	spec.Again = true
	if err := r.b.Ensure(ctx, spec); err != nil {
		return nil, err
	}
	return r.b.known(ctx, r.dead())
}

func (r *receiver) dead() driver.Channel {
	ch := r.From
	ch.DeadLetter = true
	return ch
}

package snssqs

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// Settle deletes finished messages, changes the visibility of retries and released messages, and copies rejected
// messages before it deletes them. It makes one request for each of these.
func (r *receiver) Settle(ctx context.Context, batch []driver.Settlement) error {
	errs := map[int]error{}
	var finish, change, reject []int
	for i := range batch {
		switch batch[i].Action {
		case driver.Done:
			finish = append(finish, i)
		case driver.Release, driver.Retry:
			change = append(change, i)
		case driver.Reject:
			reject = append(reject, i)
		default:
			errs[i] = fmt.Errorf("settle: %s is not an action that SQS supports", batch[i].Action)
		}
	}
	if len(reject) > 0 {
		finish = append(finish, r.letters.copy(ctx, batch, reject, errs)...)
	}
	for _, i := range finish { // before the delete: whether or not that succeeds, the work is done
		r.finished.note(batch[i].Handle.Ref.(*wire.Message), batch[i].Action == driver.Reject || batch[i].KeepBody)
	}
	handles := func(which []int) []*wire.Message {
		ms := make([]*wire.Message, len(which))
		for k, i := range which {
			ms[k] = batch[i].Handle.Ref.(*wire.Message)
		}
		return ms
	}
	client.Collect(errs, finish, r.delete(ctx, handles(finish)))
	r.deleteObjects(batch, finish, errs)
	client.Collect(errs, change, r.reschedule(ctx, handles(change), func(k int) time.Duration {
		if batch[change[k]].Action == driver.Release {
			return 0
		}
		return batch[change[k]].After
	}))
	return client.BatchError(errs)
}

// deleteObjects deletes the bodies in the store whose messages are done and were deleted. The body of a rejected
// message is its dead letter's, and that of a forwarded one is its copy's.
func (r *receiver) deleteObjects(batch []driver.Settlement, finish []int, errs map[int]error) {
	if r.objects == nil {
		return
	}
	var gone []driver.Location
	for _, i := range finish {
		if batch[i].Action == driver.Done && !batch[i].KeepBody && errs[i] == nil {
			gone = r.objects.of(batch[i].Handle.Ref.(*wire.Message), gone)
		}
	}
	r.objects.remove(gone)
}

// Extend makes messages invisible for the duration by, counted from now, at most until SQS's total is used up. A
// message that has used it up is lost, because SQS would make it visible at once.
func (r *receiver) Extend(ctx context.Context, hs []driver.Handle, by time.Duration) (time.Time, error) {
	asked := time.Now()
	errs := map[int]error{}
	var which []int
	var ms []*wire.Message
	for i := range hs {
		m := hs[i].Ref.(*wire.Message)
		left := m.Asked.Add(leaseTotal).Sub(asked).Truncate(time.Second) // SQS counts in whole seconds
		if left < time.Second {
			errs[i] = client.Permanent("%w: SQS lets one receiver keep a message for %v in total", driver.ErrLost,
				maxVisibility)
			continue
		}
		which, ms, by = append(which, i), append(ms, m), min(by, left)
	}
	client.Collect(errs, which, r.reschedule(ctx, ms, func(int) time.Duration { return by }))
	return asked.Add(by), client.BatchError(errs)
}

// delete deletes messages, unless another program does.
func (r *receiver) delete(ctx context.Context, ms []*wire.Message) error {
	if len(ms) == 0 || r.handed {
		return nil
	}
	a := client.NewBatch("delete", len(ms))
	entries := make([]types.DeleteMessageBatchRequestEntry, 0, len(ms))
	for i, m := range ms {
		if m.Settleable(i, "delete", a) {
			e := types.DeleteMessageBatchRequestEntry{Id: client.EntryID(i), ReceiptHandle: m.ReceiptHandle}
			entries = append(entries, e)
		}
	}
	if len(entries) == 0 {
		return a.Err()
	}
	in := &sqs.DeleteMessageBatchInput{QueueUrl: &r.queue.URL, Entries: entries}
	out, err := r.clients.SQS.DeleteMessageBatch(ctx, in, client.Once, r.queue.At())
	if err != nil {
		return client.Failed(err, "sqs:DeleteMessage")
	}
	for _, s := range out.Successful {
		a.Accepted(s.Id)
	}
	for _, f := range out.Failed {
		a.Refused(f.Id, f.Code, f.Message, f.SenderFault)
	}
	return a.Err()
}

// reschedule makes each message visible again after its time, at most until SQS's total is used up.
func (r *receiver) reschedule(ctx context.Context, ms []*wire.Message, after func(i int) time.Duration) error {
	if len(ms) == 0 {
		return nil
	}
	a := client.NewBatch("change visibility", len(ms))
	entries := make([]types.ChangeMessageVisibilityBatchRequestEntry, 0, len(ms))
	now := time.Now()
	for i, m := range ms {
		if !m.Settleable(i, "change visibility", a) {
			continue
		}
		left := m.Asked.Add(leaseTotal).Sub(now)
		d := max(0, min(after(i), left))
		entries = append(entries, types.ChangeMessageVisibilityBatchRequestEntry{
			Id:            client.EntryID(i),
			ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: int32((d + time.Second - 1) / time.Second),
		})
	}
	if len(entries) == 0 {
		return a.Err()
	}
	out, err := r.clients.SQS.ChangeMessageVisibilityBatch(ctx,
		&sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &r.queue.URL, Entries: entries}, client.Once, r.queue.At())
	if err != nil {
		return client.Failed(err, "sqs:ChangeMessageVisibility")
	}
	for _, s := range out.Successful {
		a.Accepted(s.Id)
	}
	for _, f := range out.Failed {
		a.Refused(f.Id, f.Code, f.Message, f.SenderFault)
	}
	return a.Err()
}

// discarded is a message that is deleted instead of returned, with the reason.
type discarded struct {
	*wire.Message
	reason driver.DiscardReason
}

// discard deletes messages that are already finished or that the filter does not select, and reports them to the core.
// A message that cannot be deleted is delivered again, and is reported with the error.
func (r *receiver) discard(all []discarded) {
	if len(all) == 0 {
		return
	}
	ms := make([]*wire.Message, len(all))
	for i := range all {
		ms[i] = all[i].Message
	}
	// Not the caller's context: the messages were received, whatever has ended meanwhile.
	err := r.delete(context.Background(), ms)
	for _, why := range []driver.DiscardReason{driver.DiscardFiltered, driver.DiscardFinished} {
		left, done := driver.Discarded{Reason: why}, driver.Discarded{Reason: why}
		var gone []driver.Location
		for i, d := range all {
			switch {
			case d.reason != why:
			case client.EntryErr(err, i) != nil:
				left.IDs, left.Err = append(left.IDs, aws.ToString(d.MessageId)), client.EntryErr(err, i)
			default:
				done.IDs = append(done.IDs, aws.ToString(d.MessageId))
				gone = r.objects.of(d.Message, gone)
			}
		}
		r.objects.remove(gone)
		for _, d := range []driver.Discarded{left, done} {
			if d.Count = len(d.IDs); d.Count > 0 && r.o.Events.Discarded != nil {
				r.o.Events.Discarded(d)
			}
		}
	}
}

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

// reject copies one message to the dead letters.
func (d *deadLetters) reject(ctx context.Context, m *wire.Message, death *driver.Death) error {
	errs := map[int]error{}
	d.copy(ctx, []driver.Settlement{{Handle: driver.Handle{Ref: m}, Death: death}}, []int{0}, errs)
	return errs[0]
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

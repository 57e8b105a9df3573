package snssqs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/envelope"
)

// maxAttributes is the most message attributes that SQS takes.
const maxAttributes = 10

// Settle deletes what is done, changes the visibility of what comes back, and copies what is rejected before it
// deletes it. Each kind is one request.
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
			errs[i] = fmt.Errorf("settle: %s is no action", batch[i].Action)
		}
	}
	if len(reject) > 0 {
		finish = append(finish, r.bury(ctx, batch, reject, errs)...)
	}
	handles := func(which []int) []*message {
		ms := make([]*message, len(which))
		for k, i := range which {
			ms[k] = batch[i].Handle.Ref.(*message)
		}
		return ms
	}
	collect(errs, finish, r.delete(ctx, handles(finish)))
	collect(errs, change, r.reschedule(ctx, handles(change), func(k int) time.Duration { return batch[change[k]].After }))
	if len(errs) == 0 {
		return nil
	}
	return &driver.BatchError{Errs: errs}
}

// Extend makes messages invisible for by from now.
func (r *receiver) Extend(ctx context.Context, hs []driver.Handle, by time.Duration) (time.Time, error) {
	ms := make([]*message, len(hs))
	for i := range hs {
		ms[i] = hs[i].Ref.(*message)
	}
	asked := time.Now()
	return asked.Add(by), r.reschedule(ctx, ms, func(int) time.Duration { return by })
}

func (r *receiver) delete(ctx context.Context, ms []*message) error {
	if len(ms) == 0 {
		return nil
	}
	entries := make([]types.DeleteMessageBatchRequestEntry, len(ms))
	for i, m := range ms {
		entries[i] = types.DeleteMessageBatchRequestEntry{Id: entryID(i), ReceiptHandle: m.ReceiptHandle}
	}
	out, err := r.b.sqs.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &r.queue.url, Entries: entries}, once, r.queue.at())
	if err != nil {
		return classify(err)
	}
	a := newAnswers("delete", len(ms))
	for i := range out.Successful {
		a.successful(out.Successful[i].Id)
	}
	for _, f := range out.Failed {
		a.failed(f.Id, lost(entryError(deref(f.Code), deref(f.Message), f.SenderFault)))
	}
	return a.err()
}

// reschedule makes each message visible again after its time, never later than SQS's total allows.
func (r *receiver) reschedule(ctx context.Context, ms []*message, after func(i int) time.Duration) error {
	if len(ms) == 0 {
		return nil
	}
	entries := make([]types.ChangeMessageVisibilityBatchRequestEntry, len(ms))
	now := time.Now()
	for i, m := range ms {
		left := m.asked.Add(leaseTotal).Sub(now)
		d := max(0, min(after(i), left))
		entries[i] = types.ChangeMessageVisibilityBatchRequestEntry{Id: entryID(i), ReceiptHandle: m.ReceiptHandle,
			VisibilityTimeout: int32((d + time.Second - 1) / time.Second)}
	}
	out, err := r.b.sqs.ChangeMessageVisibilityBatch(ctx, &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &r.queue.url, Entries: entries}, once, r.queue.at())
	if err != nil {
		return classify(err)
	}
	a := newAnswers("change visibility", len(ms))
	for i := range out.Successful {
		a.successful(out.Successful[i].Id)
	}
	for _, f := range out.Failed {
		a.failed(f.Id, lost(entryError(deref(f.Code), deref(f.Message), f.SenderFault)))
	}
	return a.err()
}

// bury copies rejected messages to the dead letters and returns those whose copy stands.
func (r *receiver) bury(ctx context.Context, batch []driver.Settlement, which []int, errs map[int]error) (stand []int) {
	q, err := r.deadLetters(ctx)
	if err != nil {
		for _, i := range which {
			errs[i] = err
		}
		return nil
	}
	entries := make([]types.SendMessageBatchRequestEntry, len(which))
	for k, i := range which {
		entries[k] = r.corpse(k, batch[i].Handle.Ref.(*message), batch[i].Death)
	}
	err = r.b.sendBatch(ctx, q, entries)
	if driver.ClassOf(err) == driver.NotFound {
		r.b.forget(r.dead())
	}
	collect(errs, which, err)
	for _, i := range which {
		if errs[i] == nil {
			stand = append(stand, i)
		}
	}
	return stand
}

// corpse is the copy of a message for the dead letters: body and attributes as received, and why it died.
func (r *receiver) corpse(k int, m *message, death *driver.Death) types.SendMessageBatchRequestEntry {
	group := m.Attributes["MessageGroupId"]
	d := envelope.Death{ID: deref(m.MessageId), OrderKey: group}
	if death != nil {
		d.Error, d.Kind, d.Consumer, d.Channel = death.Error, death.Kind, death.Consumer, death.Channel
		d.Attempts, d.First, d.Last = death.Attempts, death.First, death.Last
	}
	attributes := maps.Clone(m.MessageAttributes)
	if attributes == nil {
		attributes = map[string]types.MessageAttributeValue{}
	}
	kind := stringType
	text := envelope.Bury(deref(attributes[envelopeAttribute].StringValue), d)
	attributes[envelopeAttribute] = types.MessageAttributeValue{DataType: &kind, StringValue: &text}
	e := types.SendMessageBatchRequestEntry{Id: entryID(k), MessageBody: m.Body, MessageAttributes: attributes}
	if group != "" {
		e.MessageGroupId = &group
	}
	if r.from.Ordered {
		// From the service's own id, never from the original de-duplication id: that one would swallow the copy.
		id := "dlq-" + deref(m.MessageId)
		e.MessageDeduplicationId = &id
	}
	return e
}

// deadLetters is the queue that rejected messages go to.
func (r *receiver) deadLetters(ctx context.Context) (*queue, error) {
	if r.from.DeadLetter {
		return nil, &driver.Error{Class: driver.Permanent, Err: fmt.Errorf("channel %s has no dead letters of its own", r.from)}
	}
	return r.b.known(ctx, r.dead())
}

func (r *receiver) dead() driver.Channel {
	ch := r.from
	ch.DeadLetter = true
	return ch
}

// collect spreads the answer to a request over the entries it was about.
func collect(errs map[int]error, which []int, err error) {
	if err == nil {
		return
	}
	var entries *driver.BatchError
	partial := errors.As(err, &entries)
	for k, i := range which {
		switch {
		case !partial:
			errs[i] = err
		case entries.Errs[k] != nil:
			errs[i] = entries.Errs[k]
		}
	}
}

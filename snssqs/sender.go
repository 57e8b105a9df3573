package snssqs

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/godwitmq/godwit/driver"
)

// maxBatch is the most entries that SQS and SNS take in one request.
const maxBatch = 10

// sender sends to a queue.
type sender struct {
	b      *Backend
	to     driver.Channel
	queue  *queue
	closed atomic.Bool
}

// Sender opens the sending end of a channel, and reads the limits of what it sends to.
func (b *Backend) Sender(ctx context.Context, to driver.Channel) (driver.Sender, error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	if to.Queue == "" {
		return nil, &driver.Error{Class: driver.Permanent, Err: fmt.Errorf("channel %s: exchanges are not built yet", to)}
	}
	name, err := b.namespace.queue(to)
	if err != nil {
		return nil, err
	}
	q, err := b.find(ctx, name)
	if err != nil {
		return nil, err
	}
	return &sender{b: b, to: to, queue: q}, nil
}

func (s *sender) Limits() driver.SendLimits {
	return driver.SendLimits{Batch: maxBatch, Bytes: defaultMaxBytes}
}

func (s *sender) Prepare(_ context.Context, m *driver.Message) (driver.Prepared, error) {
	w, err := encode(s.to, m)
	if err != nil {
		return driver.Prepared{}, &driver.Error{Class: driver.Permanent, Err: err}
	}
	size, most := w.size(), s.queue.maxBytes()
	if size > most {
		return driver.Prepared{}, &driver.Error{Class: driver.TooLarge, Err: fmt.Errorf("the message has %d bytes with its attributes; queue %s takes %d", size, s.queue.name, most)}
	}
	return driver.Prepared{Wire: w, OrderKey: m.OrderKey, Size: size}, nil
}

func (s *sender) Send(ctx context.Context, batch []driver.Prepared) error {
	if s.closed.Load() {
		return fmt.Errorf("the sender to %s is %w", s.to, driver.ErrClosed)
	}
	entries := make([]types.SendMessageBatchRequestEntry, len(batch))
	for i := range batch {
		entries[i] = batch[i].Wire.(*wire).entry(i)
	}
	return s.b.sendBatch(ctx, s.queue.url, entries)
}

func (s *sender) Close(context.Context) error {
	s.closed.Store(true)
	return nil
}

// entry is the message as entry i of a batch to a queue.
func (w *wire) entry(i int) types.SendMessageBatchRequestEntry {
	e := types.SendMessageBatchRequestEntry{
		Id: entryID(i), MessageBody: &w.body, MessageAttributes: w.attributes(), DelaySeconds: w.delay,
	}
	if w.group != "" {
		e.MessageGroupId = &w.group
	}
	if w.dedup != "" {
		e.MessageDeduplicationId = &w.dedup
	}
	return e
}

// sendBatch makes one request and answers for each entry.
func (b *Backend) sendBatch(ctx context.Context, url string, entries []types.SendMessageBatchRequestEntry) error {
	out, err := b.sqs.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &url, Entries: entries}, once)
	if err != nil {
		return classify(err)
	}
	a := newAnswers("send", len(entries))
	for i := range out.Successful {
		a.successful(out.Successful[i].Id)
	}
	a.failedAll(out.Failed)
	return a.err()
}

func entryID(i int) *string {
	id := strconv.Itoa(i)
	return &id
}

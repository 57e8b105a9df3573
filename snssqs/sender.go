package snssqs

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// sender sends to a queue or a topic.
type sender struct {
	b        *Backend
	to       driver.Channel
	dest     string // the destination's name in errors about limits
	maxBytes int    // of a message
	total    int    // of a batch
	send     func(ctx context.Context, batch []driver.Prepared) error
	toQueue  attributeCache[types.MessageAttributeValue]
	toTopic  attributeCache[snstypes.MessageAttributeValue]
	form     attributeForm
	trust    trust
	uploads  *uploads       // of large bodies; nil: there is no store
	answered recent         // ids of accepted messages, where the service removes duplicates
	looks    sync.WaitGroup // goroutines that check the subscriptions of an exchange
	closed   atomic.Bool
}

// Sender opens the sending side of a channel, and reads the limits of its queue or topic.
func (b *Backend) Sender(ctx context.Context, to driver.Channel) (driver.Sender, error) {
	if err := b.clients.Open(); err != nil {
		return nil, err
	}
	if to.Queue == "" {
		return b.publisher(ctx, to)
	}
	b.mu.Lock()
	q := b.ensured[to]
	delete(b.ensured, to)
	b.mu.Unlock()
	if q == nil {
		var err error
		if q, err = b.queueOf(ctx, to); err != nil {
			return nil, err
		}
	}
	return b.queueSender(ctx, to, q)
}

// queueSender opens a sender to a queue that was found.
func (b *Backend) queueSender(ctx context.Context, to driver.Channel, q *queue) (*sender, error) {
	trust, err := b.queueTrusts(ctx, to, q)
	if err != nil {
		return nil, err
	}
	s := &sender{
		b: b, to: to, dest: "queue " + q.name, maxBytes: q.maxBytes(), total: client.MaxBytes, form: b.form(to),
		trust: trust,
	}
	s.uploads = b.uploads(to, s.maxBytes)
	s.send = func(ctx context.Context, batch []driver.Prepared) error {
		entries := make([]types.SendMessageBatchRequestEntry, len(batch))
		for i := range batch {
			w := batch[i].Wire.(*wire)
			if w.sent != nil {
				entries[i] = w.entry(i, queueAttributes(w.sent.header))
				entries[i].MessageSystemAttributes = w.sent.system()
			} else {
				entries[i] = w.entry(i, s.toQueue.of(w, queueAttribute, queueAttributes))
			}
		}
		var ids batchIDs
		err := b.sendBatch(ctx, q, entries, &ids)
		s.accepted(batch, &ids)
		return err
	}
	return s, nil
}

func (s *sender) Limits() driver.SendLimits {
	lim := driver.SendLimits{Batch: client.MaxBatch, Bytes: s.total}
	if s.uploads != nil {
		lim.Apart = int64(max(s.uploads.above, 1))
	}
	return lim
}

// Prepare encodes a message. If its body is large, Prepare writes it to the store, after everything else was checked.
func (s *sender) Prepare(ctx context.Context, m *driver.Message) (driver.Prepared, error) {
	apart := s.uploads.mine(m)
	w, err := s.encode(m, apart)
	if err == nil && !apart && s.uploads != nil && w.bytes() > s.uploads.above { // with its attributes or its encoding
		apart = true
		w, err = s.encode(m, apart)
	}
	if err != nil {
		return driver.Prepared{}, err
	}
	room := 0
	if apart {
		room = pointerRoom
	}
	if size := w.bytes() + room; size > s.maxBytes {
		return driver.Prepared{}, s.tooLarge(m, w, size)
	}
	if apart {
		if err := s.uploads.put(ctx, w, m, s.to.Ordered); err != nil {
			return driver.Prepared{}, err
		}
		if size := w.bytes(); size > s.maxBytes {
			return driver.Prepared{}, s.tooLarge(m, w, size)
		}
	}
	return driver.Prepared{Wire: w, OrderKey: m.OrderKey, Size: w.bytes()}, nil
}

func (s *sender) encode(m *driver.Message, apart bool) (*wire, error) {
	w, err := encode(s.to, m, apart, s.form)
	if err != nil {
		return nil, &driver.Error{Class: driver.Permanent, Err: err}
	}
	pointer := ""
	if apart {
		pointer = s.uploads.format.Attribute()
	}
	return w, w.checkCount(pointer)
}

// tooLarge is the error of a message that the service does not accept.
func (s *sender) tooLarge(m *driver.Message, w *wire, size int) error {
	err := fmt.Errorf("the message has %d bytes with its attributes, and %s accepts %d", size, s.dest, s.maxBytes)
	if len(w.body) > len(m.Body) {
		err = fmt.Errorf("%w; its body of %d bytes has characters that SQS refuses, so it is sent as base64, which has "+
			"%d bytes", err, len(m.Body), len(w.body))
	}
	if s.uploads == nil {
		err = fmt.Errorf("%w; with a store (snssqs.Options.Store, s3store.Open) larger bodies are sent through S3", err)
	}
	return &driver.Error{Class: driver.TooLarge, Err: err}
}

func (s *sender) Send(ctx context.Context, batch []driver.Prepared) error {
	if s.closed.Load() {
		return fmt.Errorf("the sender to %s is %w", s.to, driver.ErrClosed)
	}
	if err := s.b.clients.Open(); err != nil {
		return err
	}
	return s.send(ctx, batch)
}

// batchIDs are the ids that the service gave to the entries of one batch; "": the entry was not accepted.
type batchIDs [client.MaxBatch]string

// accepted records the ids of the accepted messages in the order of the batch, and fills in their receipts.
func (s *sender) accepted(batch []driver.Prepared, ids *batchIDs) {
	now := time.Now()
	for i := range batch {
		if ids[i] == "" {
			continue
		}
		again := s.to.Ordered && s.answered.again(ids[i], now)
		if r := batch[i].Receipt; r != nil {
			*r = driver.Receipt{ID: ids[i], Duplicate: again}
		}
	}
}

func (s *sender) Close(context.Context) error {
	s.closed.Store(true)
	s.looks.Wait()
	return nil
}

// entry returns the message as entry i of a batch to a queue.
func (w *wire) entry(i int, attributes map[string]types.MessageAttributeValue) types.SendMessageBatchRequestEntry {
	e := types.SendMessageBatchRequestEntry{
		Id: client.EntryID(i), MessageBody: &w.body, MessageAttributes: attributes, DelaySeconds: w.delay,
	}
	if w.group != "" {
		e.MessageGroupId = &w.group
	}
	if w.dedup != "" {
		e.MessageDeduplicationId = &w.dedup
	}
	return e
}

func queueAttribute(kind, value *string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: kind, StringValue: value}
}

// sendBatch makes one request and returns the result of each entry. It sets ids for the accepted entries.
func (b *Backend) sendBatch(
	ctx context.Context, q *queue, entries []types.SendMessageBatchRequestEntry, ids *batchIDs,
) error {
	in := &sqs.SendMessageBatchInput{QueueUrl: &q.url, Entries: entries}
	if err := b.before.sending(ctx, in); err != nil {
		return err
	}
	out, err := b.clients.SQS.SendMessageBatch(ctx, in, client.Once, q.at())
	if err != nil {
		return client.Failed(err, "sqs:SendMessage")
	}
	a := client.NewBatch("send", len(entries))
	for _, s := range out.Successful {
		a.Successful(s.Id)
		n, ok := a.Index(s.Id)
		switch {
		case !ok:
		case aws.ToString(s.MessageId) == "", aws.ToString(s.MD5OfMessageBody) == "":
			a.Failed(s.Id, unconfirmed("an id and the MD5 of its body"))
		case sameMD5(in.Entries[n].MessageBody, s.MD5OfMessageBody):
			ids[n] = aws.ToString(s.MessageId)
		default:
			a.Failed(s.Id, altered(aws.ToString(s.MessageId)))
		}
	}
	a.FailedAll(out.Failed)
	return a.Err()
}

// sameMD5 reports whether the body has the MD5 that the service returned. If the service returned none, the result is
// true.
func sameMD5(body, told *string) bool {
	if body == nil || told == nil {
		return true
	}
	sum := md5.Sum([]byte(*body))
	var digits [2 * md5.Size]byte
	hex.Encode(digits[:], sum[:])
	return string(digits[:]) == *told
}

// unconfirmed is the error of a message that the service says to have accepted, without what it gives to each message.
func unconfirmed(missing string) error {
	return &driver.Error{Class: driver.Transient, Err: fmt.Errorf("the service says that it has accepted the message, "+
		"and its answer has not %s, as that of SQS and SNS has: the message is sent again", missing)}
}

// altered is the error of a message that the service received with another body. Godwit checks the MD5 itself, because
// the SDK's check fails the whole batch, and panics if an answer has no id.
func altered(id string) error {
	return &driver.Error{Class: driver.Transient, Err: fmt.Errorf(
		"message %s: the MD5 of the body that the service received differs from that of the body sent; it is sent again", id,
	)}
}

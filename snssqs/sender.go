package snssqs

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// sender sends to a queue or a topic.
type sender struct {
	wire.Encoder
	b        *Backend
	total    int // the bytes of a batch
	send     func(ctx context.Context, batch []driver.Prepared) error
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
	trusted, err := b.queueTrusts(ctx, to, q)
	if err != nil {
		return nil, err
	}
	s := &sender{b: b, total: client.MaxBytes, Encoder: wire.Encoder{
		To: to, Dest: "queue " + q.name, MaxBytes: q.maxBytes(), Form: b.form(to), Trusted: trusted,
		Uploads: b.uploads(to, q.maxBytes()),
	}}
	var entries wire.QueueEntries
	s.send = func(ctx context.Context, batch []driver.Prepared) error {
		var ids batchIDs
		err := b.sendBatch(ctx, q, entries.Of(batch), &ids)
		s.accepted(batch, &ids)
		return err
	}
	return s, nil
}

func (s *sender) Limits() driver.SendLimits {
	lim := driver.SendLimits{Batch: client.MaxBatch, Bytes: s.total}
	if s.Uploads != nil {
		lim.Apart = int64(max(s.Uploads.Above, 1))
	}
	return lim
}

func (s *sender) Send(ctx context.Context, batch []driver.Prepared) error {
	if s.closed.Load() {
		return fmt.Errorf("the sender to %s is %w", s.To, driver.ErrClosed)
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
		again := s.To.Ordered && s.answered.again(ids[i], now)
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
		case wire.SameMD5(in.Entries[n].MessageBody, s.MD5OfMessageBody):
			ids[n] = aws.ToString(s.MessageId)
		default:
			a.Failed(s.Id, wire.Altered(aws.ToString(s.MessageId)))
		}
	}
	a.FailedAll(out.Failed)
	return a.Err()
}

// unconfirmed is the error of a message that the service says to have accepted, without what it gives to each message.
func unconfirmed(missing string) error {
	return &driver.Error{Class: driver.Transient, Err: fmt.Errorf("the service says that it has accepted the message, "+
		"and its answer has not %s, as that of SQS and SNS has: the message is sent again", missing)}
}

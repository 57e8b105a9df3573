package later

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/send"
	"github.com/godwitmq/godwit/kafka/internal/transact"
)

// transaction publishes records, all or none of them.
type transaction struct {
	dial   func() (*client.Client, error)
	log    *slog.Logger
	client *client.Client // nil: there is none
	lost   bool           // the last client was dropped, and no later one has an epoch
}

// fence is what a transaction commits for the group: brokers refuse it if the generation is over.
type fence struct {
	group, member string
	generation    int32
	topic         string
	topicID       [16]byte
	offsets       map[int32]int64
}

// publish makes a transaction of records, and of the offsets that fence it. After an error it may be committed, until
// the next client has an epoch. refused are the errors of single records.
func (t *transaction) publish(ctx context.Context, rs []*kgo.Record, f *fence) (refused []error, err error) {
	if err = t.open(ctx); err == nil {
		refused, err = t.try(ctx, rs, f)
	}
	if err != nil {
		t.drop()
	}
	return refused, err
}

// open opens a client, if there is none. Its epoch ends what the one before has begun.
func (t *transaction) open(ctx context.Context) (err error) {
	if t.client != nil {
		return nil
	}
	if t.client, err = t.dial(); err != nil {
		return err
	}
	if _, _, err = t.client.ProducerID(ctx); err != nil {
		t.drop()
		return fmt.Errorf("request an epoch for a transactional id: %w", failure.Classify(err))
	}
	t.lost = false
	return nil
}

func (t *transaction) try(ctx context.Context, rs []*kgo.Record, f *fence) (refused []error, err error) {
	if err := t.client.BeginTransaction(); err != nil {
		return nil, err
	}
	p := &send.Producer{Client: t.client, Log: t.log}
	refused = p.ProduceOnce(ctx, rs)
	for i, rerr := range refused {
		if rerr != nil {
			refused[i] = fmt.Errorf("publish to topic %s: %w", rs[i].Topic, failure.Classify(rerr))
			err = errors.Join(err, refused[i])
		}
	}
	if err != nil {
		return refused, err
	}
	if err := transact.Known(ctx, t.client, rs); err != nil {
		return nil, err
	}
	if err := t.commitOffsets(ctx, f); err != nil {
		return nil, err
	}
	if err := t.client.EndTransaction(ctx, kgo.TryCommit); err != nil {
		return nil, fmt.Errorf("commit a transaction: %w", failure.Classify(err))
	}
	return nil, nil
}

// commitOffsets adds the group's offsets. The broker compares the generation.
func (t *transaction) commitOffsets(ctx context.Context, f *fence) error {
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic, topic.TopicID = f.topic, f.topicID
	for n, at := range f.offsets {
		p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = n, at
		topic.Partitions = append(topic.Partitions, p)
	}
	for {
		id, epoch, err := t.client.ProducerID(ctx)
		if err != nil {
			return err
		}
		req := kmsg.NewPtrTxnOffsetCommitRequest()
		req.TransactionalID, _ = t.client.OptValue(kgo.TransactionalID).(string)
		req.ProducerID, req.ProducerEpoch = id, epoch
		req.Group, req.MemberID, req.Generation = f.group, f.member, f.generation
		req.Topics = append(req.Topics, topic)
		resp, err := req.RequestWith(ctx, t.client)
		if err != nil {
			return fmt.Errorf("add offsets to a transaction: %w", failure.Classify(err))
		}
		if err = worst(resp); !errors.Is(err, kerr.ConcurrentTransactions) || failure.Over(ctx) {
			return err
		}
		_ = backoff.Sleep(ctx, transact.Pause)
	}
}

// worst is the error of an answer, of any partition.
func worst(resp *kmsg.TxnOffsetCommitResponse) error {
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("add the offset of partition %d: %w", p.Partition, err)
			}
		}
	}
	return nil
}

// drop ends the client after an error, without waiting for what it has begun.
func (t *transaction) drop() {
	if t.client != nil {
		t.client.Cut()
		_ = t.client.Close(context.Background())
		t.client, t.lost = nil, true
	}
}

// close ends the client. An open transaction is aborted by the broker.
func (t *transaction) close(ctx context.Context) {
	if t.client != nil {
		_ = t.client.Close(ctx)
		t.client = nil
	}
}

package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/assign"
	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/layout"
)

// deliveryTimeout is how long franz-go repeats the sending of a record.
const deliveryTimeout = 20 * time.Second

// Backend is a driver.Backend, driver.Provisioner, driver.Finder and driver.Inspector on Apache Kafka.
type Backend struct {
	o      Options
	names  layout.Names
	log    *slog.Logger
	reuses bool           // the memory of records: nobody else sees them
	client *client.Client // of all that is not a member of a group: sends, dead letters, tiers, questions
	admin  *kadm.Client
	closed atomic.Bool

	topics      *topics
	producer    *producer
	provisioner *provisioner
}

// Open prepares the client; it makes no request.
func Open(ctx context.Context, o *Options) (*Backend, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	b := &Backend{
		o: opts, names: layout.Names{Namespace: opts.Namespace}, log: opts.Logger,
		topics: &topics{limits: map[string]int32{}},
	}
	if b.log == nil {
		b.log = slog.Default()
	}
	more, err := compression(opts.Compression)
	if err != nil {
		return nil, err
	}
	more = append(more, kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordDeliveryTimeout(deliveryTimeout),
		kgo.ProducerLinger(0), // records gather while requests are on their way; who is alone waits for none
		kgo.RecordPartitioner(assign.Partitioner()), kgo.ProducerBatchMaxBytesFn(b.topics.limit))
	all, err := opts.clientOptions(b.log, more...)
	if err != nil {
		return nil, err
	}
	if b.client, err = client.New(all); err != nil {
		return nil, err
	}
	if err := refuseGroups(b.client.Client); err != nil {
		b.client.Cut()
		return nil, errors.Join(err, b.client.Close(context.WithoutCancel(ctx)))
	}
	b.admin, b.reuses = kadm.NewClient(b.client.Client), ours(b.client.Client)
	b.topics.client, b.topics.admin = b.client, b.admin
	b.producer = &producer{client: b.client, log: b.log}
	b.provisioner = &provisioner{
		o: &b.o, names: b.names, topics: b.topics, client: b.client, admin: b.admin,
		specs: map[driver.Channel]driver.ChannelSpec{}, seen: map[string]formerTopic{},
	}
	return b, nil
}

// Close ends the backend's own client. Senders and receivers are closed before it.
func (b *Backend) Close(ctx context.Context) error {
	if b.closed.Swap(true) {
		return nil
	}
	return b.client.Close(ctx)
}

func (b *Backend) open() error {
	if b.closed.Load() {
		return fmt.Errorf("kafka: the backend is %w", driver.ErrClosed)
	}
	return nil
}

// topicOf is the topic that an end of a channel speaks to.
func (b *Backend) topicOf(ch driver.Channel) string {
	if ch.DeadLetter {
		return b.names.DeadLetters(ch)
	}
	return b.names.Topic(ch)
}

// legal refuses what could not lie on Kafka, without a call.
func (b *Backend) legal(ch driver.Channel) error {
	if err := b.names.Check(ch); err != nil {
		return &driver.Error{Class: driver.Permanent, Err: err}
	}
	if ch.Ordered && b.o.channel(ch).Ordering == OrderNone {
		return failure.Permanent("channel %s is ordered, and kafka.Options says that its Ordering is OrderNone: say "+
			"OrderByKey or OrderByPartition there, or leave Ordered out", ch)
	}
	if o := b.o.channel(ch); o.GroupProtocol == GroupShare && (o.Ordering != OrderNone || len(o.Tiers) == 0 ||
		b.o.RetryQueue != nil) {
		return failure.Permanent("channel %s: share groups keep no order, and their retries wait in tiers: "+
			"kafka.Options must say Ordering OrderNone, have Tiers, and no RetryQueue", ch)
	}
	if o := b.o.channel(ch); o.Retries == RetryPark && b.o.RetryQueue != nil && b.o.RetryQueue.Durable() {
		return failure.Permanent("channel %s: Retries is RetryPark, and what a RetryQueue of your own brings back "+
			"cannot be told from new records: leave RetryQueue out, or say RetryAlone", ch)
	}
	return nil
}

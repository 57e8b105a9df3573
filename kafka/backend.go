package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/assign"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/layout"
	"github.com/godwitmq/godwit/kafka/internal/operate"
	"github.com/godwitmq/godwit/kafka/internal/provision"
	"github.com/godwitmq/godwit/kafka/internal/send"
	"github.com/godwitmq/godwit/kafka/internal/transact"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// deliveryTimeout is how long franz-go repeats the sending of a record.
const deliveryTimeout = 20 * time.Second

// Backend is a driver.Backend, driver.Provisioner, driver.Operator and
// driver.Transformer on Apache Kafka.
type Backend struct {
	o        Options
	channels *layout.Channels
	log      *slog.Logger
	codec    kgo.CompressionCodec
	reuses   bool             // whether records' memory is used again; not if the caller's hooks may keep records
	cluster  *cluster.Cluster // its client is for sends, dead letters, tiers and look-ups
	closed   atomic.Bool

	senders     *send.Senders
	provisioner *provision.Provisioner
	operator    *operate.Namespace
	pauses      pauses
	timesSaid   atomic.Bool // that records expire by their senders' clocks
}

// sendersTimes is logged once, when a record expires by its sender's clock.
const sendersTimes = "records expire, and their topic has the times of their senders, whose clocks may be wrong: set " +
	"message.timestamp.type of the topic to LogAppendTime"

// Open prepares the client. It makes no request, so it does not notice that no broker can be reached.
func Open(ctx context.Context, o *Options) (*Backend, error) {
	opts := *cmp.Or(o, &Options{})
	opts, err := opts.fromEnvironment()
	if err != nil {
		return nil, err
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	mapping, err := opts.mapping()
	if err != nil {
		return nil, err
	}
	b := &Backend{o: opts, log: opts.Logger}
	b.channels = &layout.Channels{
		Names: layout.Names{Namespace: opts.Namespace, Mapping: mapping}, Uses: opts.uses, Open: b.open, Legal: b.legal,
		OwnRetries: opts.RetryQueue != nil, OwnDeadLetters: opts.DeadLetterQueue != nil,
	}
	if b.log == nil {
		b.log = slog.Default()
	}
	connection, err := opts.connection(b.log)
	if err != nil {
		return nil, err
	}
	if b.codec, err = compression(opts.Compression); err != nil {
		return nil, err
	}
	if b.cluster, err = cluster.Open(connection, b.log, b.producerOptions); err != nil {
		return nil, err
	}
	if err := refuseGroups(b.cluster.Client.Client); err != nil {
		b.cluster.Client.Cut()
		return nil, errors.Join(err, b.cluster.Client.Close(context.WithoutCancel(ctx)))
	}
	b.reuses = reusable(b.cluster.Client.Client)
	b.senders = send.NewSenders(b.cluster, b.channels, b.o.Store)
	b.provisioner = provision.New(b.cluster, b.channels, b.o.Store, b.o.Replication, b.o.RecreateTopics)
	b.senders.Later = b.provisioner.Later.Ensured
	b.provisioner.Later.Ready = func(ctx context.Context) error {
		return transact.Check(ctx, b.cluster, "a message with a delay")
	}
	b.operator = &operate.Namespace{
		Cluster: b.cluster, Channels: b.channels, Topics: b.provisioner, Senders: b.senders, Store: b.o.Store,
		Deliver: func(ch driver.Channel, r *kgo.Record, d *driver.Delivery) {
			if ch.Later {
				wire.Decode(r, d)
				send.Point(b.o.Store, d)
				return
			}
			subscribe(b, ch, driver.ReceiverOptions{}, toHandle, nil).deliver(r, d)
		},
	}
	return b, nil
}

// producerOptions are the options of clients that send.
func (b *Backend) producerOptions(c *cluster.Cluster) []kgo.Opt {
	return []kgo.Opt{
		kgo.ProducerBatchCompression(b.codec),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordDeliveryTimeout(deliveryTimeout),
		kgo.ProducerLinger(0), // records gather while a request is in flight; a single sender does not wait for others
		kgo.RecordPartitioner(assign.Partitioner(b.channels.Names)), kgo.ProducerBatchMaxBytesFn(c.Limit),
	}
}

// Close ends the backend's own client. The caller closes senders and receivers before the backend.
func (b *Backend) Close(ctx context.Context) error {
	if b.closed.Swap(true) {
		return nil
	}
	return b.cluster.Client.Close(ctx)
}

func (b *Backend) open() error {
	if b.closed.Load() {
		return fmt.Errorf("kafka: the backend is %w", driver.ErrClosed)
	}
	return nil
}

// legal returns an error if the backend is closed, or for a channel that Kafka or the options cannot carry. It makes no
// request.
func (b *Backend) legal(ch driver.Channel) error {
	if err := b.open(); err != nil {
		return err
	}
	if err := b.channels.Check(ch); err != nil {
		return &driver.Error{Class: driver.Permanent, Err: err}
	}
	if ch.Ticks {
		return failure.Permanent("channel %s: Kafka has no schedules, which send their ticks to such channels", ch)
	}
	if err := b.channels.Mapping.Conflict(b.channels.Names, ch); err != nil {
		return failure.Permanent("kafka.Options.Names: %w", err)
	}
	if ch.Ordered && b.o.channel(ch).Ordering == OrderNone {
		return failure.Permanent("channel %s is ordered, but its Ordering in kafka.Options is OrderNone: set Ordering "+
			"to OrderByKey or OrderByPartition there, or leave out Ordered", ch)
	}
	if o := b.o.channel(ch); o.GroupProtocol == GroupShare && (o.Ordering != OrderNone || len(o.Tiers) == 0 ||
		b.o.RetryQueue != nil) {
		return failure.Permanent("channel %s: a share group keeps no order, and its retries wait in tiers: set "+
			"Ordering to OrderNone in kafka.Options, set Tiers, and leave out RetryQueue", ch)
	}
	if o := b.o.channel(ch); o.GroupProtocol == GroupShare && o.Start.decides() {
		return failure.Permanent("channel %s: brokers decide where a share group begins, and its Start in kafka.Options "+
			"has no effect: leave it out, and change the position with kafka-share-groups.sh --reset-offsets", ch)
	}
	if o := b.o.channel(ch); o.Retries == RetryPark && b.o.RetryQueue != nil && b.o.RetryQueue.Durable() {
		return failure.Permanent("channel %s: Retries is RetryPark, but records that your own RetryQueue delivers "+
			"again cannot be told from new records: leave out RetryQueue, or set Retries to RetryAlone", ch)
	}
	return nil
}

// Sender opens the sending end of a channel.
func (b *Backend) Sender(ctx context.Context, to driver.Channel) (driver.Sender, error) {
	if err := b.legal(to); err != nil {
		return nil, err
	}
	if to.Later {
		return nil, failure.Permanent("channel %s: messages wait there for their time: send to their channel with a delay",
			to)
	}
	s, err := b.senders.Open(ctx, to, b.channels.TopicOf(to))
	if err != nil {
		return nil, err
	}
	if b.o.WakeFromProducers && !to.DeadLetter {
		w := wake(b, to, nil)
		s.Closing = w.stop
	}
	return s, nil
}

// Receiver opens the receiving end of a channel.
func (b *Backend) Receiver(
	ctx context.Context, from driver.Channel, o driver.ReceiverOptions,
) (driver.Receiver, error) {
	if err := b.channels.Receives(from); err != nil {
		return nil, err
	}
	if b.o.channel(from).GroupProtocol == GroupShare && !from.DeadLetter {
		return newShareReceiver(ctx, b, from, o)
	}
	return newReceiver(ctx, b, from, o, toHandle)
}

// Address is driver.Operations.Address.
func (b *Backend) Address(ch driver.Channel) driver.Address {
	a := driver.Address{System: system, Destination: b.channels.TopicOf(ch)}
	if ch.Queue != "" {
		a.Group = b.channels.Group(ch)
	}
	return a
}

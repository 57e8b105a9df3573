package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/assign"
	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/layout"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
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

	mu     sync.Mutex
	limits map[string]int32                      // max.message.bytes by topic, once asked
	specs  map[driver.Channel]driver.ChannelSpec // what consumers of this process wished, by channel
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
	b := &Backend{o: opts, names: layout.Names{Namespace: opts.Namespace}, log: opts.Logger, limits: map[string]int32{}, specs: map[driver.Channel]driver.ChannelSpec{}}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	more, err := compression(opts.Compression)
	if err != nil {
		return nil, err
	}
	more = append(more, kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordDeliveryTimeout(deliveryTimeout),
		kgo.ProducerLinger(0), // records gather while requests are on their way; who is alone waits for none
		kgo.RecordPartitioner(assign.Partitioner()), kgo.ProducerBatchMaxBytesFn(b.limit))
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
		return failure.Permanent("channel %s is ordered, and kafka.Options says that its Ordering is OrderNone: say OrderByKey or OrderByPartition there, or leave Ordered out", ch)
	}
	if o := b.o.channel(ch); o.GroupProtocol == GroupShare && (o.Ordering != OrderNone || len(o.Tiers) == 0 || b.o.RetryQueue != nil) {
		return failure.Permanent("channel %s: share groups keep no order, and their retries wait in tiers: kafka.Options must say Ordering OrderNone, have Tiers, and no RetryQueue", ch)
	}
	if o := b.o.channel(ch); o.Retries == RetryPark && b.o.RetryQueue != nil && b.o.RetryQueue.Durable() {
		return failure.Permanent("channel %s: Retries is RetryPark, and what a RetryQueue of your own brings back cannot be told from new records: leave RetryQueue out, or say RetryAlone", ch)
	}
	return nil
}

// topic is what is known of a topic.
type topic struct {
	name       string
	id         kadm.TopicID
	partitions int
}

// find asks for a topic; one that does not exist is of class NotFound. It asks a broker: what the client remembers may be
// five seconds old, and a topic that was just made would be waited for as long.
func (b *Backend) find(ctx context.Context, name string) (topic, error) {
	req := kmsg.NewPtrMetadataRequest()
	one := kmsg.NewMetadataRequestTopic()
	one.Topic = &name
	req.Topics = append(req.Topics, one)
	resp, err := req.RequestWith(ctx, b.client)
	if err != nil {
		return topic{}, fmt.Errorf("ask for topic %s: %w", name, failure.Classify(err))
	}
	for _, t := range resp.Topics {
		if t.Topic == nil || *t.Topic != name {
			continue
		}
		switch err := kerr.ErrorForCode(t.ErrorCode); {
		case errors.Is(err, kerr.UnknownTopicOrPartition):
			return topic{}, failure.Missing(name)
		case err != nil:
			return topic{}, fmt.Errorf("ask for topic %s: %w", name, failure.Classify(err))
		}
		return topic{name: name, id: t.TopicID, partitions: len(t.Partitions)}, nil
	}
	return topic{}, failure.Missing(name)
}

// remember keeps what a consumer wishes, for when something of it is gone.
func (b *Backend) remember(s driver.ChannelSpec) {
	ch := s.Channel
	if ch.DeadLetter {
		return
	}
	ch.Ordered = false
	b.mu.Lock()
	b.specs[ch] = s
	b.mu.Unlock()
}

// wished is what the consumer of this process wished of its channel, if it may make what is missing.
func (b *Backend) wished(ch driver.Channel) (driver.ChannelSpec, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ch.Ordered, ch.DeadLetter = false, false
	s, ok := b.specs[ch]
	return s, ok && s.Mode == driver.Auto
}

package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// sender sends to one topic. franz-go joins records into batches and repeats temporary failures, so the core does
// neither.
type sender struct {
	b       *Backend
	to      driver.Channel
	topic   string
	store   driver.Store  // of large bodies; nil: there is none
	folders string        // of large bodies in the store, each with the name of a topic
	stays   time.Duration // how long records, and then their dead letters, point to them; 0: not known
	zip     bool          // bodies are compressed in the store
	most    int           // the largest batch that the topic takes, in bytes
	delays  bool
	keyless bool // messages without a key are in order: they share one partition
	closed  atomic.Bool

	again struct {
		sync.Mutex
		line []posted // records to be sent once more, in order
		done sync.WaitGroup
	}
	// life is for the records of again; it ends with Close.
	life context.Context
	end  context.CancelFunc
}

// posted is a record in flight, with the callback for its answer.
type posted struct {
	record   *kgo.Record
	answered func(err error)
}

// Sender opens the sending end of a channel.
func (b *Backend) Sender(ctx context.Context, to driver.Channel) (driver.Sender, error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	if err := b.legal(to); err != nil {
		return nil, err
	}
	return b.senderTo(ctx, to, b.topicOf(to))
}

// senderTo opens a sender to a topic, with the options of a channel.
func (b *Backend) senderTo(ctx context.Context, to driver.Channel, name string) (*sender, error) {
	t, err := b.cluster.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := b.cluster.LearnLimit(ctx, t.Name); err != nil {
		return nil, err
	}
	stays, err := b.outlasts(ctx, t.Name)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	return &sender{
		life: life, end: end,
		b: b, to: to, topic: t.Name, store: b.o.Store, most: int(b.cluster.Limit(t.Name)),
		folders: bodyFolder(t.Cluster), stays: stays,
		zip:     b.o.channel(to).BodyCompression == BodyCompressionZstd,
		delays:  b.o.channel(to).Ordering == OrderNone,
		keyless: to.Ordered && b.o.channel(to).NullKeys != NullKeysSpread,
	}, nil
}

// Limits has no batch: this backend makes batches by itself.
func (s *sender) Limits() driver.SendLimits {
	if s.store == nil {
		return driver.SendLimits{}
	}
	return driver.SendLimits{Apart: int64(s.apart())}
}

// Prepare encodes the record. If that is large, Prepare writes its body to the store. It checks the size limit of the
// topic, because the broker refuses the whole batch of a record that is too large.
func (s *sender) Prepare(ctx context.Context, m *driver.Message) (driver.Prepared, error) {
	if m.Delay > 0 && !s.delays {
		return driver.Prepared{},
			failure.Permanent("channel %s: a delay would let later messages of the key overtake this one: send it "+
				"without a delay, or set the channel's Ordering to OrderNone", s.to)
	}
	if err := announcing(m.Header); err != nil {
		return driver.Prepared{}, err
	}
	r, err := wire.Encode(m)
	if err != nil {
		return driver.Prepared{}, &driver.Error{Class: driver.Permanent, Err: err}
	}
	r.Topic = s.topic
	if r.Key == nil && s.keyless {
		r.Key = []byte{} // an empty key is hashed like any other: the partition stays the same
	}
	size := wire.Size(r)
	switch store := s.store; {
	case store != nil && (m.Reader != nil || size > s.apart()):
		if size, err = s.prepareLarge(ctx, m, r); err != nil {
			return driver.Prepared{}, err
		}
	case size > s.most:
		return driver.Prepared{}, s.tooLarge(int64(size))
	}
	return driver.Prepared{Wire: r, OrderKey: m.OrderKey, Size: size}, nil
}

func (s *sender) tooLarge(size int64) error {
	err := fmt.Errorf("the message has %d bytes as a record; topic %s takes %d (max.message.bytes): %w", size, s.topic,
		s.most, kerr.MessageTooLarge)
	if s.store == nil {
		err = fmt.Errorf("%w; with a store (kafka.Options.Store, s3store.Open) larger bodies are sent through S3", err)
	}
	return &driver.Error{Class: driver.TooLarge, Err: err}
}

// Send returns when all in-sync replicas have stored the records.
func (s *sender) Send(ctx context.Context, batch []driver.Prepared) error {
	if s.closed.Load() {
		return fmt.Errorf("the sender to %s is %w", s.to, driver.ErrClosed)
	}
	if err := s.b.open(); err != nil {
		return err
	}
	rs := make([]*kgo.Record, len(batch))
	for i := range batch {
		r := *batch[i].Wire.(*kgo.Record) // a copy: the client writes to the record, and the batch may be sent again
		rs[i] = &r
	}
	errs := map[int]error{}
	for i, err := range s.b.producer.produce(ctx, rs) {
		if err != nil {
			errs[i] = fmt.Errorf("send to topic %s: %w", rs[i].Topic, err)
			continue
		}
		fill(batch[i].Receipt, rs[i])
	}
	return failure.Batch(errs)
}

// fill sets the receipt of a send: the record's position, which is also the id of its deliveries.
func fill(receipt *driver.Receipt, r *kgo.Record) {
	if receipt != nil {
		*receipt = driver.Receipt{ID: string(wire.AppendPosition(nil, r.Topic, r.Partition, r.Offset))}
	}
}

// Post queues records in the client and returns at once. Records of one partition keep the order of the calls.
func (s *sender) Post(ctx context.Context, batch []driver.Prepared, answered func(i int, err error)) {
	for i := range batch {
		r := *batch[i].Wire.(*kgo.Record) // a copy: the client writes to the record, and the batch may be sent again
		p := posted{&r, func(err error) {
			if err != nil {
				err = fmt.Errorf("send to topic %s: %w", s.topic, err)
			} else {
				fill(batch[i].Receipt, &r)
			}
			answered(i, err)
		}}
		switch {
		case s.closed.Load():
			p.answered(driver.ErrClosed)
		default:
			s.b.cluster.Client.Produce(ctx, p.record, func(r *kgo.Record, err error) { s.answered(p, err) })
		}
	}
}

// answered passes on an answer. If the topic was created again, the client still uses the old id and refuses the
// record: repeat sends it once more, in order.
func (s *sender) answered(p posted, err error) {
	if !errors.Is(err, kerr.UnknownTopicID) {
		p.answered(failure.Classify(err))
		return
	}
	s.again.Lock()
	defer s.again.Unlock()
	s.again.line = append(s.again.line, p)
	if len(s.again.line) == 1 {
		s.again.done.Go(s.repeat)
	}
}

func (s *sender) repeat() {
	for {
		s.again.Lock()
		line := s.again.line
		s.again.Unlock()
		rs := make([]*kgo.Record, len(line))
		for i := range line {
			r := *line[i].record
			r.Offset, r.LeaderEpoch = 0, 0
			rs[i] = &r
		}
		s.b.producer.forget(rs, slices.Repeat([]error{kerr.UnknownTopicID}, len(rs)))
		for i, err := range s.b.producer.produce(s.life, rs) {
			if err == nil {
				*line[i].record = *rs[i] // topic, partition and offset
			}
			line[i].answered(err)
		}
		s.again.Lock()
		s.again.line = s.again.line[len(line):]
		over := len(s.again.line) == 0
		s.again.Unlock()
		if over {
			return
		}
	}
}

// Close waits until the records of repeat are answered, or ctx ends.
func (s *sender) Close(ctx context.Context) error {
	s.closed.Store(true)
	defer s.end()
	defer context.AfterFunc(ctx, s.end)()
	s.again.done.Wait()
	return nil
}

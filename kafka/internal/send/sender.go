package send

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
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/layout"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// Sender sends to one topic. franz-go joins records into batches and repeats temporary failures, so the core does
// neither.
type Sender struct {
	Of      *Senders
	To      driver.Channel
	Topic   string
	folders string        // of large bodies in the store, each with the name of a topic
	stays   time.Duration // how long records, and then their dead letters, point to them; 0: not known
	zip     bool          // bodies are compressed in the store
	Most    int           // the largest batch that the topic takes, in bytes
	cluster string        // its id
	keyless bool          // messages without a key are in order: they share one partition
	closed  atomic.Bool
	// Closing is called when the sender closes; nil: nothing is.
	Closing func()

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

// Senders opens senders.
type Senders struct {
	cluster  *cluster.Cluster
	Channels *layout.Channels
	Producer *Producer
	store    driver.Store // of large bodies; nil: there is none
	// Later is the topic in which messages to a channel wait for their time. It is created when it is first needed.
	Later func(ctx context.Context, to driver.Channel) (cluster.Topic, error)
}

// NewSenders returns what opens senders. store may be nil.
func NewSenders(c *cluster.Cluster, channels *layout.Channels, store driver.Store) *Senders {
	return &Senders{cluster: c, Channels: channels, Producer: &Producer{c.Client, c.Log}, store: store}
}

// Open opens a sender to a topic, with the options of a channel.
func (o *Senders) Open(ctx context.Context, to driver.Channel, name string) (*Sender, error) {
	t, err := o.cluster.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := o.cluster.LearnLimit(ctx, t.Name); err != nil {
		return nil, err
	}
	stays, err := o.outlasts(ctx, t.Name)
	if err != nil {
		return nil, err
	}
	use := o.Channels.Uses(to)
	life, end := context.WithCancel(context.Background())
	return &Sender{
		life: life, end: end,
		Of: o, To: to, Topic: t.Name, Most: int(o.cluster.Limit(t.Name)),
		folders: BodyFolder(t.Cluster), stays: stays,
		zip: use.Zip, cluster: t.Cluster, keyless: to.Ordered && !use.Spread,
	}, nil
}

// Limits has no batch: this backend makes batches by itself.
func (s *Sender) Limits() driver.SendLimits {
	if s.Of.store == nil {
		return driver.SendLimits{}
	}
	return driver.SendLimits{Apart: int64(s.apart())}
}

// Prepare encodes the record. If that is large, Prepare writes its body to the store. It checks the size limit of the
// topic, because the broker refuses the whole batch of a record that is too large.
func (s *Sender) Prepare(ctx context.Context, m *driver.Message) (driver.Prepared, error) {
	wait, err := s.waits(m)
	if err != nil {
		return driver.Prepared{}, err
	}
	if err := announcing(m.Header); err != nil {
		return driver.Prepared{}, err
	}
	r, err := wire.Encode(m)
	if err != nil {
		return driver.Prepared{}, &driver.Error{Class: driver.Permanent, Err: err}
	}
	r.Topic = s.Topic
	if r.Key == nil && s.keyless {
		r.Key = []byte{} // an empty key is hashed like any other: the partition stays the same
	}
	size := wire.Size(r)
	switch store := s.Of.store; {
	case store != nil && (m.Reader != nil || size > s.apart()):
		if err := s.outlives(wait); err != nil {
			return driver.Prepared{}, err
		}
		if size, err = s.prepareLarge(ctx, m, r); err != nil {
			return driver.Prepared{}, err
		}
	case size > s.Most:
		return driver.Prepared{}, s.tooLarge(int64(size))
	}
	if m.Cancellable {
		wire.MakeCancellable(r, wire.Place(s.cluster, layout.Later(s.Of.Channels.Names, s.To)))
	}
	if wait > 0 {
		if err := s.wait(ctx, m, r); err != nil {
			return driver.Prepared{}, err
		}
		size = wire.Size(r)
	}
	return driver.Prepared{Wire: r, OrderKey: m.OrderKey, Size: size}, nil
}

func (s *Sender) tooLarge(size int64) error {
	err := fmt.Errorf("the message has %d bytes as a record; topic %s takes %d (max.message.bytes): %w", size, s.Topic,
		s.Most, kerr.MessageTooLarge)
	if s.Of.store == nil {
		err = fmt.Errorf("%w; with a store (kafka.Options.Store, s3store.Open) larger bodies are sent through S3", err)
	}
	return &driver.Error{Class: driver.TooLarge, Err: err}
}

// Send returns when all in-sync replicas have stored the records.
func (s *Sender) Send(ctx context.Context, batch []driver.Prepared) error {
	if s.closed.Load() {
		return fmt.Errorf("the sender to %s is %w", s.To, driver.ErrClosed)
	}
	if err := s.Of.Channels.Open(); err != nil {
		return err
	}
	rs := make([]*kgo.Record, len(batch))
	for i := range batch {
		r := *batch[i].Wire.(*kgo.Record) // a copy: the client writes to the record, and the batch may be sent again
		rs[i] = &r
	}
	errs := map[int]error{}
	for i, err := range s.Of.Producer.Produce(ctx, rs) {
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
		*receipt = driver.Receipt{
			ID: string(wire.AppendPosition(nil, r.Topic, r.Partition, r.Offset)), CancelID: wire.CancelIDOf(r),
		}
	}
}

// Post queues records in the client and returns at once. Records of one partition keep the order of the calls.
func (s *Sender) Post(ctx context.Context, batch []driver.Prepared, answered func(i int, err error)) {
	for i := range batch {
		r := *batch[i].Wire.(*kgo.Record) // a copy: the client writes to the record, and the batch may be sent again
		p := posted{&r, func(err error) {
			if err != nil {
				err = fmt.Errorf("send to topic %s: %w", s.Topic, err)
			} else {
				fill(batch[i].Receipt, &r)
			}
			answered(i, err)
		}}
		switch {
		case s.closed.Load():
			p.answered(driver.ErrClosed)
		default:
			s.Of.cluster.Client.Produce(ctx, p.record, func(r *kgo.Record, err error) { s.answered(p, err) })
		}
	}
}

// answered passes on an answer. If the topic was created again, the client still uses the old id and refuses the
// record: repeat sends it once more, in order.
func (s *Sender) answered(p posted, err error) {
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

func (s *Sender) repeat() {
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
		s.Of.Producer.forget(rs, slices.Repeat([]error{kerr.UnknownTopicID}, len(rs)))
		for i, err := range s.Of.Producer.Produce(s.life, rs) {
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
func (s *Sender) Close(ctx context.Context) error {
	s.closed.Store(true)
	defer s.end()
	defer context.AfterFunc(ctx, s.end)()
	s.again.done.Wait()
	if s.Closing != nil {
		s.Closing()
	}
	return nil
}

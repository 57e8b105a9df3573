package snssqs

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
	"github.com/godwitmq/godwit/snssqs/internal/later"
	"github.com/godwitmq/godwit/snssqs/internal/trust"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// sender sends to a queue or a topic.
type sender struct {
	wire.Encoder
	clients *client.Clients
	log     *slog.Logger
	total   int // the bytes of a batch
	// send sends to the queue or the topic. route sends what waits to the queues beside it, and the rest by send.
	send, route func(ctx context.Context, batch []driver.Prepared) error

	answered recent         // ids of accepted messages, where the service removes duplicates
	looks    sync.WaitGroup // goroutines that check the subscriptions of an exchange, and the waker
	end      func()         // of the waker; nil: there is none
	closed   atomic.Bool
}

// Sender opens the sending side of a channel, and reads the limits of its queue or topic.
func (b *Backend) Sender(ctx context.Context, to driver.Channel) (driver.Sender, error) {
	if err := b.clients.Open(); err != nil {
		return nil, err
	}
	if !to.DeadLetter {
		if err := b.arbiter.Check(ctx); err != nil {
			return nil, err
		}
	}
	if to.Queue == "" {
		s, err := b.publisher(ctx, to)
		if err == nil {
			s.wake(b, nil)
		}
		return s, err
	}
	q, err := b.provisioner.Surveyor.Ensured(ctx, to)
	if err != nil {
		return nil, err
	}
	s, err := b.queueSender(ctx, to, q)
	if err == nil {
		s.wake(b, q)
	}
	return s, err
}

// wake sends on messages that wait for their time beside the channel, while the sender is open, with
// Options.WakeFromProducers. Messages of an exchange that it does not take stay: it has no dead letters.
func (s *sender) wake(b *Backend, q *estate.Queue) {
	if !b.wakeFromProducers || !s.Waits {
		return
	}
	reject := func(context.Context, *wire.Message, *driver.Death) error {
		return client.Permanent("an exchange has no dead letters: a consumer of one of its queues rejects the message")
	}
	if q != nil {
		reject = (&deadLetters{
			decoder: &wire.Decoder{From: s.To, Routing: s.Form.Routing}, of: q, provisioner: b.provisioner,
			requests: &b.requests,
		}).reject
	}
	life, end := context.WithCancel(context.Background())
	s.end = end
	for _, w := range newWakers(b, s.To, s.Delay, reject) {
		s.looks.Go(func() { w.Run(life) })
	}
}

// queueSender opens a sender to a queue that was found.
func (b *Backend) queueSender(ctx context.Context, to driver.Channel, q *estate.Queue) (*sender, error) {
	trusted, err := b.estate.Queues.Trusts(ctx, to, q)
	if err != nil {
		return nil, err
	}
	s := newSender(b, to, "queue "+q.Name, q.MaxBytes(), client.MaxBytes, trusted)
	s.Delay = q.Seconds(types.QueueAttributeNameDelaySeconds)
	var entries wire.QueueEntries
	s.send = func(ctx context.Context, batch []driver.Prepared) error {
		var ids batchIDs
		err := b.requests.send(ctx, q, entries.Of(batch), &ids)
		s.accepted(batch, &ids)
		return b.provisioner.Surveyor.Noticed(to, err)
	}
	return s, nil
}

// newSender is a sender that has no function to send with.
func newSender(b *Backend, to driver.Channel, dest string, maxBytes, total int, trusted trust.Topics) *sender {
	s := &sender{clients: b.clients, log: b.log, total: total, Encoder: wire.Encoder{
		To: to, Dest: dest, MaxBytes: maxBytes, Form: b.estate.Form(to), Trusted: trusted,
		Uploads: b.large.uploads(to, b.estate.Folder(to), maxBytes), Waits: b.provisioner.Later.Waits(to),
	}}
	s.route = func(ctx context.Context, batch []driver.Prepared) error { return s.send(ctx, batch) }
	if !s.Waits {
		return s
	}
	s.Cancelling = b.arbiter.Cancelling(to)
	var entries wire.QueueEntries
	put := func(ctx context.Context, q *estate.Queue, batch []driver.Prepared) error {
		var ids batchIDs
		err := b.requests.send(ctx, q, entries.Of(batch), &ids)
		s.accepted(batch, &ids)
		return err
	}
	waits := later.Parking{Of: to, Queues: b.provisioner.Later, Waits: wire.Waits, Put: put, Rest: s.route}
	s.route = waits.Send
	if !to.Ordered {
		ticks := later.Parking{Of: to, Queues: b.provisioner.Ticks, Waits: wire.Ticks, Put: put, Rest: s.route}
		s.route = ticks.Send
	}
	return s
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
	if err := s.clients.Open(); err != nil {
		return err
	}
	return s.route(ctx, batch)
}

// accepted records the ids of the accepted messages in the order of the batch, and fills in their receipts.
func (s *sender) accepted(batch []driver.Prepared, ids *batchIDs) {
	now := time.Now()
	for i := range batch {
		if ids[i] == "" {
			continue
		}
		again := s.To.Ordered && s.answered.again(ids[i], now)
		if r := batch[i].Receipt; r != nil {
			*r = driver.Receipt{ID: ids[i], Duplicate: again, CancelID: wire.CancelIDOf(batch[i])}
		}
	}
}

func (s *sender) Close(context.Context) error {
	if !s.closed.Swap(true) && s.end != nil {
		s.end()
	}
	s.looks.Wait()
	return nil
}

// lookFor bounds a list of the subscriptions, because Close waits for it.
const lookFor = 5 * time.Second

// publisher opens a sender to an exchange.
func (b *Backend) publisher(ctx context.Context, to driver.Channel) (*sender, error) {
	t, err := b.provisioner.Surveyor.EnsuredTopic(ctx, to)
	if err != nil {
		return nil, err
	}
	s := newSender(b, to, "topic "+t.Name, t.MaxBytes(), t.MaxBytes(), b.estate.Trusts(to, t.ARN, ""))
	var entries wire.TopicEntries
	s.send = func(ctx context.Context, batch []driver.Prepared) error {
		exchange := b.provisioner.Exchanges.Of(to)
		if err := exchange.Begin(ctx, t); err != nil {
			return err
		}
		defer exchange.Published()
		var ids batchIDs
		err := b.requests.publish(ctx, t, entries.Of(batch), &ids)
		s.accepted(batch, &ids)
		if err == nil && exchange.Due(time.Now()) {
			s.looks.Go(func() { s.look(exchange, t) })
		}
		return b.provisioner.Surveyor.Noticed(to, err)
	}
	return s, nil
}

// look lists the subscribed queues in a goroutine of its own. If it fails, the known queues are kept until the next
// look.
func (s *sender) look(a *estate.Exchange, t *estate.Topic) {
	ctx, cancel := context.WithTimeout(context.Background(), lookFor)
	defer cancel()
	if err := a.Look(ctx, t); err != nil {
		s.log.Debug("listing the subscriptions failed", "channel", s.To.String(), "error", err)
	}
}

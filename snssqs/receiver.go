package snssqs

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
	"github.com/godwitmq/godwit/snssqs/internal/later"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

const (
	// ahead is the number of places beyond the running handlers: those of one receive.
	ahead = client.MaxBatch
	// workersAPoll applies to a queue that allows few receives, where a poll uses up places of workers: a poll asks for
	// at most a tenth of them, so that the others do not wait until a larger poll is worth it.
	workersAPoll = 10
	// holdBelow: the core holds shorter retries. A receive count does not say which receives failed, and on a FIFO
	// queue a visibility timeout blocks the whole message group.
	holdBelow = 5 * time.Minute
	// maxVisibility is SQS's limit for one visibility timeout, and for all timeouts of a message together, counted from
	// the receive. The margin allows for a clock that differs from AWS's.
	maxVisibility = 12 * time.Hour
	leaseTotal    = maxVisibility - time.Minute
)

// receiver receives from one queue.
type receiver struct {
	clients     *client.Clients
	provisioner *estate.Provisioner
	log         *slog.Logger
	o           driver.ReceiverOptions
	source      driver.Source

	wire.Decoder
	lenient bool // a message without a routing key passes any filter

	polls    *poller
	letters  deadLetters
	finished *ledger
	objects  *objects // nil: it deletes none
	handed   bool     // another program has received the messages, and deletes them
	closed   atomic.Bool

	queue  *estate.Queue
	warned *estate.Warned // channels with JSON that was not opened

	life     context.Context // ends with Close
	end      context.CancelFunc
	watching sync.WaitGroup // the subscription's checks, and the waker
}

// Receiver opens a receiver of a channel.
func (b *Backend) Receiver(ctx context.Context, from driver.Channel, o driver.ReceiverOptions) (driver.Receiver,
	error,
) {
	if err := b.clients.Open(); err != nil {
		return nil, err
	}
	if err := wire.Filterable(from, o.Filter); err != nil {
		return nil, err
	}
	if !from.DeadLetter {
		if err := b.arbiter.Check(ctx); err != nil && !driver.ClassOf(err).Passing() {
			return nil, err // after another error the waker checks again
		}
	}
	q, err := b.provisioner.Surveyor.Current(ctx, from)
	if err != nil {
		return nil, err
	}
	o.Wait = min(o.Wait, client.MaxWait)
	// SQS counts in seconds. A lease is rounded down, so that it never ends earlier than the core expects.
	lease := min(max(cmp.Or(o.Lease, q.Lease()).Truncate(time.Second), time.Second), leaseTotal)
	if o.Lease == 0 && lease < estate.DefaultLease {
		o.Wait = min(o.Wait, lease/2) // the lease counts from before the poll, and it must last for a renewal
	}
	r, err := newReceiver(ctx, b, from, o, q, &ledger{})
	if err != nil {
		return nil, err
	}
	r.polls = &poller{
		sqs: b.clients.Polls, queue: q, ordered: from.Ordered, lease: lease, cancels: b.cancelPolls, life: r.life,
	}
	r.objects = newObjects(b.large.store, b.log, from)
	b.provisioner.Opened(from, q)
	r.watch()
	r.wake(b)
	return r, nil
}

// newReceiver returns a receiver that makes no polls and deletes no objects.
func newReceiver(ctx context.Context, b *Backend, from driver.Channel, o driver.ReceiverOptions, q *estate.Queue,
	finished *ledger,
) (*receiver, error) {
	trusted, err := b.estate.Queues.Trusts(ctx, from, q)
	if err != nil {
		return nil, err
	}
	r := &receiver{
		clients: b.clients, provisioner: b.provisioner, log: b.log, o: o, queue: q,
		source: driver.Source{Name: q.Name}, finished: finished, warned: &b.warned,
		Decoder: wire.Decoder{
			From: from, Routing: b.estate.Form(from).Routing, Trusted: trusted, Signatures: b.signatures,
			Store: b.large.store, Handled: finished.handled,
		},
	}
	r.letters = deadLetters{decoder: &r.Decoder, of: q, provisioner: b.provisioner, requests: &b.requests}
	if as, mapped := b.estate.Mapping(from); mapped {
		r.lenient = !as.RequireRoutingKey
	}
	r.life, r.end = context.WithCancel(context.Background())
	return r, nil
}

// watch checks the subscription of a queue of an exchange while the receiver is open, if a consumer of this process may
// provision it.
func (r *receiver) watch() {
	spec, ours := r.provisioner.Provisions(r.From)
	if !ours || r.From.Exchange == "" || r.From.DeadLetter {
		return
	}
	r.watching.Go(func() {
		for backoff.Sleep(r.life, estate.CheckEvery) == nil {
			if err := r.provisioner.Check(r.life, spec, r.queue); err != nil && !client.Over(r.life) {
				r.log.Warn("checking the subscription failed; the check will be repeated", "channel", r.From.String(),
					"error", err, "in", estate.CheckEvery)
			}
		}
	})
}

// wake sends on messages that wait for their time beside the channel or its exchange, while the receiver of a consumer
// is open.
func (r *receiver) wake(b *Backend) {
	of := r.From
	if of.Exchange != "" {
		of.Queue = ""
	}
	if !r.provisioner.Consumes(r.From) || !r.provisioner.Later.Waits(of) || r.From.DeadLetter {
		return
	}
	early := time.Duration(0)
	if of.Queue != "" {
		early = r.queue.Seconds(types.QueueAttributeNameDelaySeconds)
	}
	for _, w := range newWakers(b, of, early, r.letters.reject) {
		r.watching.Go(func() { w.Run(r.life) })
	}
}

// newWakers send on messages that wait beside a channel or an exchange: for their time and, without order, those of
// schedules.
func newWakers(b *Backend, of driver.Channel, early time.Duration,
	reject func(context.Context, *wire.Message, *driver.Death) error,
) []*later.Waker {
	w := newWaker(b, of)
	w.Queues, w.Looks = b.provisioner.Later, later.LooksForMessages
	w.Soon = of.Ordered || of.Queue == "" // SQS itself delays by up to 15 minutes in queues without order
	w.Read, w.Early, w.Reject = wire.ReadWaiting, early, reject
	if of.Ordered {
		return []*later.Waker{w}
	}
	ticks := newWaker(b, of)
	ticks.Queues, ticks.Looks, ticks.Soon = b.provisioner.Ticks, later.LooksForTicks, true
	ticks.Read, ticks.Reject = wire.ReadTick, reject
	return []*later.Waker{w, ticks}
}

func newWaker(b *Backend, of driver.Channel) *later.Waker {
	return &later.Waker{
		Of: of, Clients: b.clients, Arbiter: b.arbiter, Log: b.log,
		To: func(ctx context.Context) (driver.Forwarder, error) {
			if of.Queue == "" {
				return b.publisher(ctx, of)
			}
			q, err := b.provisioner.Queues.Of(ctx, of)
			if err != nil {
				return nil, err
			}
			return b.queueSender(ctx, of, q)
		},
		Back: func(ctx context.Context, q *estate.Queue) (driver.Forwarder, error) {
			return b.queueSender(ctx, estate.LaterOf(of), q)
		},
	}
}

func (r *receiver) Limits() driver.ReceiveLimits {
	window := r.o.Window
	if window == 0 {
		window = max(r.o.Concurrency, 1) + ahead
	}
	batch := client.MaxBatch
	if r.queue.FewReceives() {
		window = max(r.o.Concurrency, 1)
		batch = max(1, min(window/workersAPoll, client.MaxBatch))
		if r.From.Ordered {
			batch = 1 // the next message of a group cannot be started at the same time
		}
	}
	lim := driver.ReceiveLimits{
		Batch: batch, SettleBatch: client.MaxBatch, Window: window, Polls: (window + batch - 1) / batch,
		Grows:    !r.queue.FewReceives() && r.o.Window == 0,
		Lanes:    r.From.Ordered && !r.queue.FewReceives() && r.o.Window == 0,
		RetryMax: leaseTotal, HoldBelow: holdBelow, Lease: r.polls.lease, LeaseTotal: leaseTotal,
		MaxReceives: r.queue.MaxReceives(),
	}
	return lim
}

func (r *receiver) Receive(ctx context.Context, ask driver.Ask, into []driver.Delivery) ([]driver.Delivery, error) {
	if r.closed.Load() {
		return into, fmt.Errorf("the receiver of %s is %w", r.From, driver.ErrClosed)
	}
	if client.Over(ctx) {
		return into, nil
	}
	if err := r.Signatures.Ready(ctx); err != nil {
		return into, err
	}
	in := &sqs.ReceiveMessageInput{
		QueueUrl:                    &r.queue.URL,
		MaxNumberOfMessages:         int32(min(ask.Max, client.MaxBatch)),
		WaitTimeSeconds:             r.polls.wait(ask.Wait(r.o.Wait)),
		VisibilityTimeout:           int32(r.polls.lease / time.Second),
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	}
	asked := time.Now()
	out, err := r.polls.poll(ctx, in)
	if err != nil {
		if client.Over(ctx) || r.closed.Load() {
			return into, nil // the poll was canceled, and no message came
		}
		return into, r.denied(ctx, client.Failed(err, "sqs:ReceiveMessage"))
	}
	var unwanted []discarded
	into, unread := r.take(out.Messages, asked, asked.Add(r.polls.lease), into, &unwanted)
	r.discard(unwanted)
	return into, unread
}

// take appends the deliveries of received messages, and separates the messages that are not to be handled. The error
// is about those that are neither.
func (r *receiver) take(ms []types.Message, asked, leaseEnds time.Time, into []driver.Delivery, unwanted *[]discarded) (
	[]driver.Delivery, error,
) {
	var unread error
	unopened := 0
	for i := range ms {
		m := &wire.Message{Message: ms[i], Asked: asked}
		d := driver.Delivery{Source: &r.source, Handle: driver.Handle{Ref: m}, LeaseEnds: leaseEnds}
		if err := r.Decode(r.life, m, &d); err != nil {
			unread = err // it is delivered again when its lease ends
			if r.From.Ordered {
				break // so that a later message of its key does not overtake it
			}
			continue
		}
		if m.Untrusted != "" {
			unopened++
			r.warnUntrusted(m)
		}
		m.Key = d.OrderKey + d.Tenant // at most one of them is set
		known, kept := r.finished.has(m)
		if kept {
			m.Pointer = nil // its dead letter points to the object
		}
		switch {
		case known:
			*unwanted = append(*unwanted, discarded{m, driver.DiscardFinished})
		case !wire.Passes(r.o.Filter, d.RoutingKey) && !(r.lenient && d.RoutingKey == ""):
			*unwanted = append(*unwanted, discarded{m, driver.DiscardFiltered})
		default:
			into = append(into, d)
		}
	}
	if unopened > 0 && r.o.Events.Unopened != nil {
		r.o.Events.Unopened(unopened)
	}
	return into, unread
}

// Close ends the subscription's checks, the waker and an open poll.
func (r *receiver) Close(context.Context) error {
	if !r.closed.Swap(true) {
		r.end()
		r.watching.Wait()
		r.objects.close()
	}
	return nil
}

// warnUntrusted says once for a channel how to open messages of a topic.
func (r *receiver) warnUntrusted(m *wire.Message) {
	of := r.From
	of.DeadLetter = false
	if r.warned.First(of) {
		r.log.Warn("a message came in the JSON of an SNS topic that the channel does not trust, and its handler gets "+
			"that JSON; to open such messages, list the topic in snssqs.Options.EnvelopesFrom", "channel", of.String(),
			"topic", m.Untrusted, "message", aws.ToString(m.MessageId))
	}
}

// denied returns the error of a failed poll. If the service denied it because the queue is paused, that is
// driver.ErrPaused.
func (r *receiver) denied(ctx context.Context, err error) error {
	if driver.ClassOf(err) != driver.Denied {
		return err
	}
	q := *r.queue // the receiver's own is not locked
	if r.provisioner.Queues.Load(ctx, &q) != nil || !q.Paused() {
		return err
	}
	return client.Transient("%w: the policy of queue %s has the statement %s: "+
		"end it with `godwit resume %s`", driver.ErrPaused, q.Name, estate.PauseSid, r.From)
}

// As knows *Message, *types.Message of the SDK as it was received, *driver.Provenance and *driver.Raw.
func (r *receiver) As(h driver.Handle, to any) bool {
	m, ok := h.Ref.(*wire.Message)
	if !ok {
		return false
	}
	switch to := to.(type) {
	case *driver.Provenance:
		*to = driver.Provenance{Trace: m.Attributes[wire.TraceHeader]}
	case *driver.Raw:
		*to = m.Raw()
	case *Message:
		*to = Message{
			Queue: r.queue.Name, Attributes: maps.Clone(m.Attributes),
			MessageAttributes: maps.Clone(m.MessageAttributes),
		}
		if m.Came != nil {
			to.Topic, to.Subject = m.Came.TopicArn, aws.ToString(m.Came.Subject)
			to.Published, _ = time.Parse(time.RFC3339, m.Came.Timestamp) // zero if it is not SNS's
		}
	case *types.Message:
		*to = m.Message
		to.Body = m.Text()
		to.Attributes = maps.Clone(m.Attributes)
		to.MessageAttributes = maps.Clone(m.MessageAttributes)
	default:
		return false
	}
	return true
}

// Message is what SQS and SNS delivered beside the fields of a delivery. Pass a *Message to godwit.Delivery.As to get
// it. The maps are copies.
type Message struct {
	Queue string // its name
	// Attributes are the system attributes: SenderId, ApproximateFirstReceiveTimestamp, SequenceNumber, AWSTraceHeader
	// and others.
	Attributes map[string]string
	// MessageAttributes are the attributes with their types, also those of Godwit.
	MessageAttributes map[string]types.MessageAttributeValue
	// Topic is the ARN of the SNS topic, Subject is what its publisher set, and Published is when SNS accepted the
	// message. They are known only if it came in SNS's own JSON, from a topic that the channel trusts: a subscription
	// with raw delivery, as Godwit makes them, does not pass them on.
	Topic, Subject string
	Published      time.Time
}

// TraceHeader is the trace header of AWS X-Ray that the message has; "": it has none.
func (m *Message) TraceHeader() string { return m.Attributes[wire.TraceHeader] }

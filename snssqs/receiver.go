package snssqs

import (
	"cmp"
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
	b      *Backend
	o      driver.ReceiverOptions
	queue  *queue
	source driver.Source
	lease  time.Duration

	wire.Decoder
	lenient bool // a message without a routing key passes any filter

	finished *ledger
	objects  *objects // nil: it deletes none
	handed   bool     // another program has received the messages, and deletes them
	attempts attempts
	closed   atomic.Bool

	// life ends with Close; it is for the subscription's checks, and for polls that outlive their caller's context.
	life     context.Context
	end      context.CancelFunc
	watching sync.WaitGroup // the subscription's checks
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
	q, err := b.queueOf(ctx, from)
	if err != nil {
		return nil, err
	}
	o.Wait = min(o.Wait, client.MaxWait)
	// SQS counts in seconds. A lease is rounded down, so that it never ends earlier than the core expects.
	lease := min(max(cmp.Or(o.Lease, q.lease()).Truncate(time.Second), time.Second), leaseTotal)
	if o.Lease == 0 && lease < defaultLease {
		o.Wait = min(o.Wait, lease/2) // the lease counts from before the poll, and it must last for a renewal
	}
	r, err := b.newReceiver(ctx, from, o, q, &ledger{})
	if err != nil {
		return nil, err
	}
	r.lease, r.objects = lease, b.newObjects(from)
	if spec, known := b.specOf(from); known && spec.Mode == driver.Never {
		b.warnFewReceives(from, q) // otherwise Ensure has checked it
	}
	r.watch()
	return r, nil
}

// newReceiver returns a receiver without a lease and objects.
func (b *Backend) newReceiver(ctx context.Context, from driver.Channel, o driver.ReceiverOptions, q *queue,
	finished *ledger,
) (*receiver, error) {
	trusted, err := b.queueTrusts(ctx, from, q)
	if err != nil {
		return nil, err
	}
	r := &receiver{
		b: b, o: o, queue: q, source: driver.Source{Name: q.name}, finished: finished,
		Decoder: wire.Decoder{
			From: from, Routing: b.form(from).Routing, Trusted: trusted, Signatures: b.envelopes.signatures,
			Store: b.apart.store, Handled: finished.handled,
		},
	}
	if as, mapped := b.mapped(from); mapped {
		r.lenient = !as.RequireRoutingKey
	}
	r.life, r.end = context.WithCancel(context.Background())
	return r, nil
}

func (r *receiver) Limits() driver.ReceiveLimits {
	window := r.o.Window
	if window == 0 {
		window = max(r.o.Concurrency, 1) + ahead
	}
	batch := client.MaxBatch
	if r.queue.fewReceives() {
		window = max(r.o.Concurrency, 1)
		batch = max(1, min(window/workersAPoll, client.MaxBatch))
		if r.From.Ordered {
			batch = 1 // the next message of a group cannot be started at the same time
		}
	}
	lim := driver.ReceiveLimits{
		Batch: batch, SettleBatch: client.MaxBatch, Window: window, Polls: (window + batch - 1) / batch,
		Grows:    !r.queue.fewReceives() && r.o.Window == 0,
		Lanes:    r.From.Ordered && !r.queue.fewReceives() && r.o.Window == 0,
		RetryMax: leaseTotal, HoldBelow: holdBelow, Lease: r.lease, LeaseTotal: leaseTotal,
		MaxReceives: r.queue.maxReceives(),
	}
	return lim
}

func (r *receiver) Receive(ctx context.Context, ask driver.Ask, into []driver.Delivery) ([]driver.Delivery, error) {
	if r.closed.Load() {
		return into, fmt.Errorf("the receiver of %s is %w", r.From, driver.ErrClosed)
	}
	if ctx.Err() != nil {
		return into, nil
	}
	if err := r.Signatures.Ready(ctx); err != nil {
		return into, err
	}
	in := &sqs.ReceiveMessageInput{
		QueueUrl:                    &r.queue.url,
		MaxNumberOfMessages:         int32(min(ask.Max, client.MaxBatch)),
		WaitTimeSeconds:             r.wait(ask.Wait(r.o.Wait)),
		VisibilityTimeout:           int32(r.lease / time.Second),
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	}
	asked := time.Now()
	out, err := r.poll(ctx, in)
	if err != nil {
		if ctx.Err() != nil || r.closed.Load() {
			return into, nil // the poll was canceled, and no message came
		}
		return into, r.denied(ctx, client.Failed(err, "sqs:ReceiveMessage"))
	}
	var unwanted discards
	into, unread := r.take(out.Messages, asked, asked.Add(r.lease), into, &unwanted)
	r.discard(&unwanted)
	return into, unread
}

// take appends the deliveries of received messages, and separates the messages that are not to be handled. The error
// is about those that are neither.
func (r *receiver) take(ms []types.Message, asked, leaseEnds time.Time, into []driver.Delivery, unwanted *discards) (
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
			unwanted.add(m, driver.DiscardFinished)
		case !wire.Passes(r.o.Filter, d.RoutingKey) && !(r.lenient && d.RoutingKey == ""):
			unwanted.add(m, driver.DiscardFiltered)
		default:
			into = append(into, d)
		}
	}
	if unopened > 0 && r.o.Events.Unopened != nil {
		r.o.Events.Unopened(unopened)
	}
	return into, unread
}

// wait returns the WaitTimeSeconds of a poll. The SDK omits a zero, and then the queue's own wait applies; so the
// shortest possible wait on a queue that has one is a second.
func (r *receiver) wait(d time.Duration) int32 {
	own := r.queue.attributes[string(types.QueueAttributeNameReceiveMessageWaitTimeSeconds)]
	if d < time.Second && wire.Number(own) > 0 {
		return 1
	}
	return int32(d / time.Second)
}

// poll makes one request. It ends with ctx if no message is lost by that. SQS may give messages to a poll whose client
// has disconnected, and hides them until their lease ends; there the request outlives ctx, by at most its wait.
func (r *receiver) poll(ctx context.Context, in *sqs.ReceiveMessageInput) (*sqs.ReceiveMessageOutput, error) {
	switch {
	case r.From.Ordered:
		return r.attempt(ctx, in)
	case !r.b.cancelPolls:
		ctx = r.life
	}
	return r.receiveMessage(ctx, in)
}

func (r *receiver) receiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput) (*sqs.ReceiveMessageOutput, error) {
	return r.b.clients.Polls.ReceiveMessage(ctx, in, client.Once, r.queue.at())
}

// Close ends the subscription's checks and an open poll.
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
	if r.b.envelopes.warned.first(of) {
		r.b.log.Warn("a message came in the JSON of an SNS topic that the channel does not trust, and its handler gets "+
			"that JSON; to open such messages, list the topic in snssqs.Options.EnvelopesFrom", "channel", of.String(),
			"topic", m.Untrusted, "message", aws.ToString(m.MessageId))
	}
}

// Raw implements driver.RawReader.
func (r *receiver) Raw(h driver.Handle) driver.Raw { return h.Ref.(*wire.Message).Raw() }

package snssqs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/envelope"
)

const (
	// ahead is how many places there are beyond the running handlers: one receive.
	ahead = maxBatch
	// workersAPoll: on a queue with scarce receives a poll takes places of workers, so it asks for a tenth of them at
	// most; the others need not wait until it is worth it.
	workersAPoll = 10
	// holdBelow: shorter retries are held by the core. A receive count tells nobody what failed, and on a FIFO queue a
	// visibility timeout holds up the whole message group, which the core keeps in hand.
	holdBelow = 5 * time.Minute
	// maxVisibility is SQS's limit for one timeout and for all of them together, counted from the receive. The
	// difference keeps a clock that is not AWS's from asking for more.
	maxVisibility = 12 * time.Hour
	leaseTotal    = maxVisibility - time.Minute
	// maxWait is SQS's longest poll.
	maxWait = 20 * time.Second
)

// receiver receives from one queue.
type receiver struct {
	b      *Backend
	from   driver.Channel
	o      driver.ReceiverOptions
	queue  *queue
	source driver.Source
	lease  time.Duration

	routing string // the attribute with the routing key
	lenient bool   // a message without a routing key passes any filter

	finished ledger
	attempts attempts
	closed   atomic.Bool

	life     context.Context // until Close: of the subscription's checks, and of polls that outlive their caller
	end      context.CancelFunc
	watching sync.WaitGroup // the checks
}

// message is what a driver.Handle refers to.
type message struct {
	types.Message // without a body, where text can make it of the delivery's
	body          []byte
	encoding      envelope.Encoding
	asked         time.Time   // when the receive was sent
	key           string      // order key or tenant, as its sender spelled it
	buried        atomic.Bool // its copy stands in the dead letters
}

// Receiver opens the receiving end of a channel.
func (b *Backend) Receiver(ctx context.Context, from driver.Channel, o driver.ReceiverOptions) (driver.Receiver,
	error,
) {
	if err := b.open(); err != nil {
		return nil, err
	}
	if err := filterable(from, o.Filter); err != nil {
		return nil, err
	}
	q, err := b.queueOf(ctx, from)
	if err != nil {
		return nil, err
	}
	o.Wait = min(o.Wait, maxWait)
	// SQS counts in seconds; a lease is rounded down, so that it never ends before we think.
	lease := min(max(orDefault(o.Lease, defaultLease).Truncate(time.Second), time.Second), leaseTotal)
	r := &receiver{
		b: b, from: from, o: o, queue: q, source: driver.Source{Name: q.name}, lease: lease,
		routing: b.routing(from),
	}
	if as, mapped := b.mapped(from); mapped {
		r.lenient = !as.RequireRoutingKey
	}
	if spec, known := b.wish(from); known && spec.Mode == driver.Never {
		b.warnScarce(from, q) // else Ensure has looked
	}
	r.life, r.end = context.WithCancel(context.Background())
	r.watch()
	return r, nil
}

func (r *receiver) Limits() driver.ReceiveLimits {
	window := r.o.Window
	if window == 0 {
		window = max(r.o.Concurrency, 1) + ahead
	}
	batch := maxBatch
	if r.queue.scarce() {
		window = max(r.o.Concurrency, 1)
		batch = max(1, min(window/workersAPoll, maxBatch))
		if r.from.Ordered {
			batch = 1 // what is behind a message in its group cannot be started beside it
		}
	}
	lim := driver.ReceiveLimits{
		Batch: batch, SettleBatch: maxBatch, Window: window, Polls: (window + batch - 1) / batch,
		RetryMax: leaseTotal, HoldBelow: holdBelow, Lease: r.lease, LeaseTotal: leaseTotal,
		MaxReceives: r.queue.maxReceives(),
	}
	return lim
}

func (r *receiver) Receive(ctx context.Context, most int, into []driver.Delivery) ([]driver.Delivery, error) {
	if r.closed.Load() {
		return into, fmt.Errorf("the receiver of %s is %w", r.from, driver.ErrClosed)
	}
	if over(ctx) {
		return into, nil
	}
	in := &sqs.ReceiveMessageInput{
		QueueUrl:                    &r.queue.url,
		MaxNumberOfMessages:         int32(min(most, maxBatch)),
		WaitTimeSeconds:             r.wait(r.o.Wait),
		VisibilityTimeout:           int32(r.lease / time.Second),
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	}
	asked := time.Now()
	out, err := r.poll(ctx, in)
	if err != nil {
		if over(ctx) || r.closed.Load() {
			return into, nil // it was ended, and nothing came
		}
		return into, permission(classify(err), "sqs:ReceiveMessage")
	}
	var unwanted discards
	var unread error
	for i := range out.Messages {
		m := &message{Message: out.Messages[i], asked: asked}
		if !sameMD5(m.Body, m.MD5OfBody) {
			unread = altered(deref(m.MessageId)) // it comes again when its lease ends
			if r.from.Ordered {
				break // and what may be behind it in its key with it
			}
			continue
		}
		d := driver.Delivery{Source: &r.source, Handle: driver.Handle{Ref: m}, LeaseEnds: asked.Add(r.lease)}
		m.decode(r.from, r.routing, &d)
		m.key = d.OrderKey + d.Tenant // one of them at most is there
		switch {
		case r.finished.has(m):
			unwanted.add(m, driver.DiscardFinished)
		case !passes(r.o.Filter, d.RoutingKey) && !(r.lenient && d.RoutingKey == ""):
			unwanted.add(m, driver.DiscardFiltered)
		default:
			into = append(into, d)
		}
	}
	return into, errors.Join(unread, r.discard(&unwanted))
}

// wait is what a poll says of its wait. SDKs leave a zero out, and then the queue's own wait counts: a second is the
// least that can be said to a queue that has one.
func (r *receiver) wait(d time.Duration) int32 {
	own := r.queue.attributes[string(types.QueueAttributeNameReceiveMessageWaitTimeSeconds)]
	if d < time.Second && number(own) > 0 {
		return 1
	}
	return int32(d / time.Second)
}

// poll makes one request, and ends with ctx where nothing is lost by that. SQS may hand messages to a poll whose client
// has gone away, and a standard queue then hides them until their lease ends: there the poll outlives ctx, by its wait
// at most.
func (r *receiver) poll(ctx context.Context, in *sqs.ReceiveMessageInput) (*sqs.ReceiveMessageOutput, error) {
	switch {
	case r.from.Ordered:
		return r.attempt(ctx, in)
	case !r.b.cancelPolls:
		ctx = r.life
	}
	return r.b.polls.ReceiveMessage(ctx, in, once, r.queue.at())
}

// attempt polls a FIFO queue, which hands out the same messages again to the same attempt. Where the answer to an
// earlier one was lost, it asks for that answer first; where ctx ends, it asks once more, without a wait, for what was
// handed out meanwhile.
func (r *receiver) attempt(ctx context.Context, in *sqs.ReceiveMessageInput) (*sqs.ReceiveMessageOutput, error) {
	at, again := r.attempts.begin(time.Now(), r.lease)
	in.ReceiveRequestAttemptId = &at.id
	out, err := r.b.polls.ReceiveMessage(ctx, in, once, r.queue.at())
	switch {
	case err == nil:
	case over(ctx) && !r.b.cancelPolls:
		in.WaitTimeSeconds = r.wait(0)
		recall, cancel := context.WithTimeout(r.life, answerWithin)
		defer cancel()
		return r.b.polls.ReceiveMessage(recall, in, once, r.queue.at())
	case again && !driver.ClassOf(classify(err)).Passing(): // it is good no more: something of it was settled
		return r.attempt(ctx, in)
	case driver.ClassOf(classify(err)) == driver.Transient:
		r.attempts.failed(at)
	}
	return out, err
}

// Close ends the subscription's checks, and a poll that is still open.
func (r *receiver) Close(context.Context) error {
	if !r.closed.Swap(true) {
		r.end()
		r.watching.Wait()
	}
	return nil
}

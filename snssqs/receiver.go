package snssqs

import (
	"context"
	"fmt"
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
	// orderedRetryMin: on a FIFO queue a visibility timeout holds up the whole message group, so shorter waits are held
	// by the core, which keeps the lane in hand.
	orderedRetryMin = 5 * time.Minute
	// maxVisibility is SQS's limit for one timeout and for all of them together, counted from the receive. The
	// difference keeps a clock that is not AWS's from asking for more.
	maxVisibility = 12 * time.Hour
	leaseTotal    = maxVisibility - time.Minute
	// maxWait is SQS's longest poll.
	maxWait = 20 * time.Second
	// pollSlack is how much longer than its wait an answer to a poll may take.
	pollSlack = 10 * time.Second
)

// receiver receives from one queue.
type receiver struct {
	b      *Backend
	from   driver.Channel
	o      driver.ReceiverOptions
	queue  *queue
	source driver.Source
	lease  time.Duration

	finished ledger
	attempts attempts
	closed   atomic.Bool

	unwatch func() // ends the subscription's checks; nil: there are none
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
func (b *Backend) Receiver(ctx context.Context, from driver.Channel, o driver.ReceiverOptions) (driver.Receiver, error) {
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
	r := &receiver{b: b, from: from, o: o, queue: q, source: driver.Source{Name: q.name}, lease: lease}
	r.watch()
	return r, nil
}

func (r *receiver) Limits() driver.ReceiveLimits {
	window := r.o.Window
	if window == 0 {
		window = max(r.o.Concurrency, 1) + ahead
	}
	lim := driver.ReceiveLimits{
		Batch: maxBatch, SettleBatch: maxBatch, Window: window, Polls: (window + maxBatch - 1) / maxBatch,
		RetryMax: leaseTotal, Lease: r.lease, LeaseTotal: leaseTotal,
	}
	if r.from.Ordered {
		lim.RetryMin = orderedRetryMin
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
	poll, cancel := r.pollContext(ctx)
	defer cancel()
	in := &sqs.ReceiveMessageInput{
		QueueUrl:                    &r.queue.url,
		MaxNumberOfMessages:         int32(min(most, maxBatch)),
		WaitTimeSeconds:             int32(r.o.Wait / time.Second),
		VisibilityTimeout:           int32(r.lease / time.Second),
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	}
	asked := time.Now()
	out, err := r.poll(poll, in)
	if err != nil {
		if over(ctx) {
			return into, nil // the caller ended it, and nothing came
		}
		return into, permission(classify(err), "sqs:ReceiveMessage")
	}
	var refused []*message
	for i := range out.Messages {
		m := &message{Message: out.Messages[i], asked: asked}
		d := driver.Delivery{Source: &r.source, Handle: driver.Handle{Ref: m}, LeaseEnds: asked.Add(r.lease)}
		m.decode(r.from, &d)
		m.key = d.OrderKey + d.Tenant // one of them at most is there
		if r.finished.has(d.ID) || !passes(r.o.Filter, d.RoutingKey) {
			refused = append(refused, m)
			continue
		}
		into = append(into, d)
	}
	return into, r.finish(refused)
}

// poll makes one request; on a FIFO queue, where the answer to an earlier one was lost, it asks for that answer first.
func (r *receiver) poll(ctx context.Context, in *sqs.ReceiveMessageInput) (*sqs.ReceiveMessageOutput, error) {
	if !r.from.Ordered {
		return r.b.polls.ReceiveMessage(ctx, in, once, r.queue.at())
	}
	at, again := r.attempts.begin(time.Now(), r.lease)
	in.ReceiveRequestAttemptId = &at.id
	out, err := r.b.polls.ReceiveMessage(ctx, in, once, r.queue.at())
	switch {
	case err == nil:
	case again && !driver.ClassOf(classify(err)).Passing(): // it is good no more: something of it was settled
		return r.poll(ctx, in)
	case driver.ClassOf(classify(err)) == driver.Transient:
		r.attempts.failed(at)
	}
	return out, err
}

// finish deletes what is finished already and what the filter refuses. What cannot be deleted comes again, and is
// refused again.
func (r *receiver) finish(refused []*message) error {
	if len(refused) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), pollSlack)
	defer cancel()
	if err := r.delete(ctx, refused); err != nil {
		return fmt.Errorf("delete what is finished, or refused by the filter: %w", err)
	}
	return nil
}

// pollContext is the context of one long poll. Where cancelling a poll could lose what it brings, the poll outlives
// the caller's context by its wait at most.
func (r *receiver) pollContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if !r.b.cancelPolls {
		ctx = context.WithoutCancel(ctx)
	}
	return context.WithTimeout(ctx, r.o.Wait+pollSlack)
}

func (r *receiver) Close(context.Context) error {
	if !r.closed.Swap(true) && r.unwatch != nil {
		r.unwatch()
	}
	return nil
}

package snssqs

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

const (
	// receivedPoll is how long a Receive without messages waits. The core takes a longer one for a poll that hangs.
	receivedPoll = 10 * time.Second
	// oldestReceived bounds how long ago the other program is assumed to have received the messages.
	oldestReceived = maxVisibility / 2
)

// Received is messages of one queue that another program, such as AWS Lambda, has received, and deletes when they are
// handled. It is a driver.Backend for one run of one consumer of the queue's channel, which gets these messages and no
// others. Its receiver reads and settles messages as that of a [Backend], but deletes none, and renews no lease:
// the queue's visibility timeout must last until the other program has deleted them. Bodies in a store stay there, for
// the same reason.
type Received struct {
	b        *Backend
	queueARN string
	ordered  bool

	mu      sync.Mutex
	opened  bool
	entries []receivedEntry
	next    int                   // the first entry that no Receive has returned
	at      map[*wire.Message]int // entries that the core has
	open    int                   // entries that are neither finished nor failed
	settled chan struct{}         // closed when open is 0
}

// receivedEntry is one of the messages.
type receivedEntry struct {
	types.Message
	state receivedState
}

type receivedState uint8

const (
	receivedOpen     receivedState = iota
	receivedFinished               // the other program can delete it
	receivedFailed                 // it is to be delivered again
)

// Received makes no request. The messages are all of the queue with this ARN, in the order in which they were received.
func (b *Backend) Received(queueARN string, ms []types.Message) *Received {
	r := &Received{
		b: b, queueARN: queueARN, ordered: estate.Ordered(queueARN), open: len(ms),
		at: make(map[*wire.Message]int, len(ms)), entries: make([]receivedEntry, len(ms)), settled: make(chan struct{}),
	}
	for i := range ms {
		r.entries[i].Message = ms[i]
	}
	if len(ms) == 0 {
		close(r.settled)
	}
	return r
}

// Sender opens a sender of the backend.
func (r *Received) Sender(ctx context.Context, to driver.Channel) (driver.Sender, error) {
	return r.b.Sender(ctx, to)
}

// Receiver opens the receiver of the messages. Their queue must be that of the channel.
func (r *Received) Receiver(ctx context.Context, from driver.Channel, o driver.ReceiverOptions) (driver.Receiver,
	error,
) {
	if err := r.b.clients.Open(); err != nil {
		return nil, err
	}
	if err := wire.Filterable(from, o.Filter); err != nil {
		return nil, err
	}
	q, err := r.b.estate.Queues.Known(ctx, from)
	if err != nil {
		return nil, err
	}
	if arn := q.ARN(); arn != r.queueARN {
		return nil, client.Permanent("the messages are of queue %s, and channel %s has queue %s: name the channel and the "+
			"namespace of the queue from which the messages come", r.queueARN, from, arn)
	}
	finished, _ := r.b.handed.LoadOrStore(q.URL, &ledger{})
	in, err := newReceiver(ctx, r.b, from, o, q, finished.(*ledger))
	if err != nil {
		return nil, err
	}
	in.handed = true
	visible := q.Seconds(types.QueueAttributeNameVisibilityTimeout)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opened {
		return nil, client.Permanent("the messages of queue %s have a consumer already: a batch is for one run of one consumer",
			r.queueARN)
	}
	r.opened = true
	return &received{r, in, min(visible, oldestReceived)}, nil
}

// Close does nothing: the Backend stays open.
func (r *Received) Close(context.Context) error { return nil }

// Opened reports whether a consumer has opened the receiver.
func (r *Received) Opened() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.opened
}

// Settled is closed when the consumer has settled all messages.
func (r *Received) Settled() <-chan struct{} { return r.settled }

// Unfinished returns the ids of the messages that are to be delivered again: all that are not finished. Of a FIFO queue
// it returns the first of each message group that is not finished, and all of the group behind it.
func (r *Received) Unfinished() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := []string{}
	failed := map[string]bool{}
	for i := range r.entries {
		e := &r.entries[i]
		group := e.Attributes["MessageGroupId"]
		if e.state == receivedFinished && !(r.ordered && failed[group]) {
			continue
		}
		failed[group] = true
		ids = append(ids, aws.ToString(e.MessageId))
	}
	return ids
}

// end notes what became of an entry. The first of several states counts. The caller holds the lock.
func (r *Received) end(i int, s receivedState) {
	if r.entries[i].state != receivedOpen {
		return
	}
	r.entries[i].state = s
	if r.open--; r.open == 0 {
		close(r.settled)
	}
}

// received is the receiver of Received.
type received struct {
	r   *Received
	in  *receiver
	age time.Duration // of the messages' receive, at most
}

// Limits say that leases are not renewed, and that the service keeps all retries: the function ends without them.
func (r *received) Limits() driver.ReceiveLimits {
	return driver.ReceiveLimits{
		Batch: client.MaxBatch, SettleBatch: client.MaxBatch, Window: max(r.in.o.Concurrency, 1) + len(r.r.entries),
		RetryMax: leaseTotal - r.age, MaxReceives: r.in.queue.MaxReceives(),
	}
}

// As knows what the receiver of a queue knows.
func (r *received) As(h driver.Handle, to any) bool { return r.in.As(h, to) }

// Receive returns the next messages. If none are left it waits, because the core would call it again at once.
func (r *received) Receive(ctx context.Context, ask driver.Ask, into []driver.Delivery) ([]driver.Delivery, error) {
	for len(into) < ask.Max {
		i, ok := r.take(ctx)
		if !ok {
			break
		}
		var err error
		if into, err = r.decode(i, into); err != nil {
			return into, err
		}
	}
	if len(into) > 0 || client.Over(ctx) {
		return into, nil
	}
	timer := time.NewTimer(receivedPoll)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-r.in.life.Done():
	case <-timer.C:
	}
	return into, nil
}

// take returns the index of the next entry that no Receive has returned.
func (r *received) take(ctx context.Context) (i int, ok bool) {
	r.r.mu.Lock()
	defer r.r.mu.Unlock()
	i = r.r.next
	if i == len(r.r.entries) || client.Over(ctx) || client.Over(r.in.life) {
		return 0, false
	}
	r.r.next++
	return i, true
}

// decode appends the delivery of an entry, if the entry is to be handled.
func (r *received) decode(i int, into []driver.Delivery) ([]driver.Delivery, error) {
	n := len(into)
	var unwanted []discarded
	asked := time.Now().Add(-r.age)
	into, err := r.in.take([]types.Message{r.r.entries[i].Message}, asked, time.Time{}, into, &unwanted)
	r.r.mu.Lock()
	switch {
	case err == nil && len(into) > n:
		r.r.at[into[n].Handle.Ref.(*wire.Message)] = i
	case err == nil:
		r.r.end(i, receivedFinished)
	default:
		r.r.end(i, receivedFailed)
		for ; r.r.ordered && r.r.next < len(r.r.entries); r.r.next++ {
			r.r.end(r.r.next, receivedFailed) // so that no later message of its group overtakes it
		}
	}
	r.r.mu.Unlock()
	r.in.discard(unwanted)
	return into, err
}

// Finish notes that a message is handled. Nothing else is needed: the other program deletes it.
func (r *received) Finish(h driver.Handle) {
	m := h.Ref.(*wire.Message)
	r.in.finished.note(m, false)
	r.r.mu.Lock()
	r.r.end(r.r.at[m], receivedFinished)
	r.r.mu.Unlock()
}

// Settle changes the visibility of retries and released messages, and copies rejected messages. A message whose
// visibility could not be changed becomes visible when its timeout ends.
func (r *received) Settle(ctx context.Context, batch []driver.Settlement) error {
	err := r.in.Settle(ctx, batch)
	r.r.mu.Lock()
	defer r.r.mu.Unlock()
	for i := range batch {
		failed := client.EntryErr(err, i)
		state := receivedFailed
		if failed == nil && (batch[i].Action == driver.Done || batch[i].Action == driver.Reject) {
			state = receivedFinished
		}
		if failed == nil || !driver.ClassOf(failed).Passing() { // otherwise the core repeats it
			r.r.end(r.r.at[batch[i].Handle.Ref.(*wire.Message)], state)
		}
	}
	return err
}

// Close ends an open Receive.
func (r *received) Close(ctx context.Context) error { return r.in.Close(ctx) }

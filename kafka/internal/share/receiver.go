package share

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/deadletter"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/records"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// pollPause spaces the polls of the tiers that fail.
const pollPause = time.Second

// Config is what a Receiver reads, and what it needs of the backend. All of it is set.
type Config struct {
	Channel      driver.Channel
	Rack         string // where this process is; "": unknown
	Options      driver.ReceiverOptions
	Topic, Group string
	Lock         time.Duration // how long the broker's locks last
	LongestRetry time.Duration // retries wait at most so long
	LeastRetry   time.Duration // and at least so long
	FetchWait    time.Duration // of a poll

	Open  func() (*client.Client, error)
	Tiers driver.Receiver // of the channel's tiers; Close closes it
	// Held reports whether Tiers still holds a delivery of its own.
	Held func(driver.Handle) bool
	// Point gives a delivery the body to which its record points, if that is a pointer.
	Point func(d *driver.Delivery)
	// SayTimes logs, once, that records expire by their senders' clocks.
	SayTimes func()
	// Retry and Reject publish copies, and answer for each.
	Retry  func(ctx context.Context, rs []records.Copy) []error
	Reject func(ctx context.Context, rs []records.Copy) []error
	// Recall returns which records of some partitions have a dead letter already.
	Recall func(ctx context.Context, partitions []int32) deadletter.Known
}

// Receiver is a driver.Receiver, driver.Extender and driver.Finisher.
type Receiver struct {
	c      Config
	client *client.Client
	source driver.Source
	member *member
	queue  *queue
	budget *budget
	tiers  driver.Finisher // nil: what is done in the tiers is settled
	closed atomic.Bool

	polls    context.Context // of the goroutines; ends with the receiver
	stop     context.CancelFunc
	requests context.Context // of the sessions; Close may end it
	cut      context.CancelFunc
	wg       sync.WaitGroup
}

// NewReceiver joins the group in the background.
func NewReceiver(ctx context.Context, c *Config) (*Receiver, error) {
	r := &Receiver{
		c: *c, source: driver.Source{Name: c.Topic}, queue: newQueue(c.Held), budget: newBudget(c.Options.Concurrency),
	}
	var err error
	if r.client, err = c.Open(); err != nil {
		return nil, errors.Join(err, c.Tiers.Close(ctx))
	}
	r.tiers, _ = c.Tiers.(driver.Finisher)
	r.polls, r.stop = context.WithCancel(context.Background())
	r.requests, r.cut = context.WithCancel(context.Background())
	r.member = newMember(r)
	r.wg.Go(r.member.run)
	r.wg.Go(r.readTiers)
	return r, nil
}

// Limits says that records are delivered again when their lock ends, and that retries wait in tiers. The budget decides
// how many of the places are used.
func (r *Receiver) Limits() driver.ReceiveLimits {
	return driver.ReceiveLimits{
		Batch: mostAtOnce, Window: max(r.c.Options.Window, r.c.Options.Concurrency+mostAhead+mostAtOnce), Polls: 1,
		Lease: r.c.Lock, Behind: driver.BehindGoesOn, RetryMin: r.c.LeastRetry, RetryMax: r.c.LongestRetry,
	}
}

// Receive returns what the sessions and the tiers have brought.
func (r *Receiver) Receive(ctx context.Context, ask driver.Ask, into []driver.Delivery) ([]driver.Delivery, error) {
	r.queue.want(ask.Max)
	defer r.queue.want(-ask.Max)
	r.wakeAll()
	ends := time.NewTimer(r.c.Options.Wait)
	defer ends.Stop()
	for had := len(into); ; {
		if r.closed.Load() {
			return into, r.errClosed()
		}
		var failed error
		if into, failed = r.queue.take(ask.Max, into); failed == nil {
			failed = r.lost()
		}
		if len(into) > had || failed != nil || failure.Over(ctx) {
			return into, failed
		}
		select {
		case <-r.queue.arrived:
		case <-ends.C:
			return into, nil
		case <-ctx.Done():
			return into, nil
		}
	}
}

// lost is the error about finished records that no broker has accepted; nil: there are none.
func (r *Receiver) lost() error {
	if l := r.takeLost(); l.n > 0 {
		return &driver.Error{Class: driver.Transient, Err: fmt.Errorf("%d finished records of topic %s are delivered "+
			"again, because the broker has not accepted them: %w", l.n, r.c.Topic, l.err)}
	}
	return nil
}

func (r *Receiver) takeLost() (all lostAcks) {
	for _, s := range r.member.all() {
		if l := s.takeLost(); l.n > 0 {
			all.n, all.err = all.n+l.n, l.err
		}
	}
	return all
}

// wakeAll lets the sessions look for something to request.
func (r *Receiver) wakeAll() {
	for _, s := range r.member.all() {
		wake(s.wake)
	}
}

// freed counts records that have a verdict now, or are lost.
func (r *Receiver) freed(n int) {
	if n > 0 && r.budget.settled(n) {
		r.wakeAll()
	}
}

func (r *Receiver) errClosed() error {
	return fmt.Errorf("the receiver of %s is %w", r.c.Channel, driver.ErrClosed)
}

// readTiers brings what is due in the tiers, as long as somebody takes it.
func (r *Receiver) readTiers() {
	batch := r.budget.workers
	for r.queue.room(r.polls, 2*batch) {
		ds, err := r.c.Tiers.Receive(r.polls, driver.Ask{Max: batch}, nil)
		if len(ds) > 0 || err != nil {
			r.queue.put(ds, err)
		}
		if err != nil {
			_ = backoff.Sleep(r.polls, pollPause)
		}
	}
}

// Finish notes that a delivery is done. The next request of its session says so.
func (r *Receiver) Finish(h driver.Handle) {
	switch l, shared := h.Ref.(*lock); {
	case shared:
		r.freed(l.run.s.finish(l))
	case r.tiers != nil:
		r.tiers.Finish(h)
	}
}

// As shows the record of a delivery.
func (r *Receiver) As(h driver.Handle, to any) bool {
	if l, shared := h.Ref.(*lock); shared {
		return wire.As(l.record, to)
	}
	return r.c.Tiers.As(h, to)
}

// Settle accepts what is done, and what is rejected or retried once its copy is stored. What is released is delivered
// again.
func (r *Receiver) Settle(ctx context.Context, batch []driver.Settlement) error {
	c := newCall()
	var tiers []driver.Settlement
	var which []int
	var vs []verdict
	for i := range batch {
		l, shared := batch[i].Handle.Ref.(*lock)
		switch {
		case !shared:
			tiers, which = append(tiers, batch[i]), append(which, i)
		case l.run.s.claim(l):
			vs = append(vs, verdict{i, l, batch[i], accept})
		default:
			c.fail(i, lostFor(errEnded))
		}
	}
	r.freed(len(vs))
	if len(tiers) > 0 {
		spread(c, which, r.c.Tiers.Settle(ctx, tiers))
	}
	r.tell(r.publish(ctx, vs, c), c)
	return c.wait(ctx)
}

// spread gives the entries of a part of a batch their errors.
func spread(c *call, which []int, err error) {
	if err == nil {
		return
	}
	for k, i := range which {
		if e := failure.Entry(err, k); e != nil {
			c.fail(i, e)
		}
	}
}

// tell queues the acks of verdicts, whose answers go to a call.
func (r *Receiver) tell(vs []verdict, c *call) {
	by := map[*session][]ack{}
	for _, v := range vs {
		s := v.lock.run.s
		by[s] = append(by[s], ackOf(v.lock, v.what, c, v.i))
	}
	c.add(len(vs))
	for s, as := range by {
		s.tell(as...)
	}
}

// Extend renews locks, each by as long as the broker grants.
func (r *Receiver) Extend(ctx context.Context, hs []driver.Handle, _ time.Duration) (time.Time, error) {
	asked := time.Now()
	c := newCall()
	var vs []verdict
	for i := range hs {
		if l, shared := hs[i].Ref.(*lock); shared {
			vs = append(vs, verdict{i: i, lock: l, what: renew})
		}
	}
	r.tell(vs, c)
	return asked.Add(r.c.Lock), c.wait(ctx)
}

// Close releases what is not settled and leaves the groups.
func (r *Receiver) Close(ctx context.Context) error {
	if r.closed.Swap(true) {
		return nil
	}
	r.stop()
	unwatch := context.AfterFunc(ctx, r.cut)
	r.wg.Wait() // for an open poll, too: the broker would lock records for one that is not there any more
	err := r.c.Tiers.Close(ctx)
	for _, s := range r.member.all() {
		s.end(ctx)
	}
	if lost := r.takeLost(); lost.n > 0 {
		err = errors.Join(err, &driver.UnsettledError{Count: lost.n, Err: lost.err})
	}
	unwatch()
	r.cut()
	_ = r.member.leave(ctx) // otherwise the coordinator notices its end when the session is over
	return errors.Join(err, r.client.Close(ctx))
}

package share

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/deadletter"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

const (
	// members is how many clients of one receiver are in a share group. A client accepts what is left of its last poll
	// with the next one, so it must not poll before all of that is settled: new records of its partitions wait for
	// that, and the other members keep the handlers busy meanwhile.
	members = 4
	// pollPause spaces the polls of a member, or of the tiers, that fail.
	pollPause = time.Second
)

// Config is what a Receiver reads, and what it needs of the backend. All of it is set.
type Config struct {
	Channel      driver.Channel
	Options      driver.ReceiverOptions
	Topic, Group string
	Lock         time.Duration // how long the broker's locks last
	LongestRetry time.Duration // retries wait at most so long
	LeastRetry   time.Duration // and at least so long
	FetchWait    time.Duration // of a poll

	Open  func(opts ...kgo.Opt) (*client.Client, error)
	Tiers driver.Receiver // of the channel's tiers; Close closes it
	// Retry and Reject publish copies, and answer for each.
	Retry  func(ctx context.Context, rs []Copy) []error
	Reject func(ctx context.Context, rs []Copy) []error
	// Recall returns which records of some partitions have a dead letter already.
	Recall func(ctx context.Context, partitions []int32) deadletter.Known
}

// Copy is a record of which a copy is to be published.
type Copy struct {
	Record  *kgo.Record
	Attempt int32
	Due     time.Time     // of a retry
	Death   *driver.Death // of a dead letter; may be nil
}

// Receiver is a driver.Receiver and driver.Extender.
type Receiver struct {
	c       Config
	batch   int32 // records of one poll
	source  driver.Source
	members []*member
	queue   *queue
	closed  atomic.Bool

	polls context.Context // of the members and the tiers; ends with the receiver
	stop  context.CancelFunc
	wg    sync.WaitGroup
}

// NewReceiver joins the group.
func NewReceiver(ctx context.Context, c *Config) (*Receiver, error) {
	r := &Receiver{
		c: *c, batch: int32(max(c.Options.Concurrency, 1)+members-1)/members + 1,
		source: driver.Source{Name: c.Topic}, queue: newQueue(),
	}
	r.polls, r.stop = context.WithCancel(context.Background())
	for range members {
		m, err := r.join()
		if err != nil {
			r.stop()
			return nil, fmt.Errorf("%w; %w", err, r.Close(ctx))
		}
		r.members = append(r.members, m)
	}
	for _, m := range r.members {
		r.wg.Go(m.run)
	}
	r.wg.Go(r.readTiers)
	return r, nil
}

// Limits says that records come back when their lock ends, and that retries wait in tiers.
func (r *Receiver) Limits() driver.ReceiveLimits {
	n := int(r.batch) * members
	return driver.ReceiveLimits{
		Batch: n, Window: max(r.c.Options.Window, 2*n), Polls: 1, Lease: r.c.Lock,
		Behind:   driver.BehindGoesOn,
		RetryMin: r.c.LeastRetry, RetryMax: r.c.LongestRetry,
	}
}

// Receive returns what the members and the tiers have brought.
func (r *Receiver) Receive(ctx context.Context, most int, into []driver.Delivery) ([]driver.Delivery, error) {
	r.queue.begin()
	defer r.queue.end()
	ends := time.NewTimer(r.c.Options.Wait)
	defer ends.Stop()
	for had := len(into); ; {
		if r.closed.Load() {
			return into, r.errClosed()
		}
		var failed error
		if into, failed = r.queue.take(most, into); len(into) > had || failed != nil || failure.Over(ctx) {
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

func (r *Receiver) errClosed() error {
	return fmt.Errorf("the receiver of %s is %w", r.c.Channel, driver.ErrClosed)
}

// readTiers brings what is due in the tiers, as long as somebody takes it.
func (r *Receiver) readTiers() {
	for r.queue.room(r.polls, int(r.batch)*members) {
		ds, err := r.c.Tiers.Receive(r.polls, int(r.batch), nil)
		if len(ds) > 0 || err != nil {
			r.queue.put(ds, err)
		}
		if err != nil {
			_ = backoff.Sleep(r.polls, pollPause)
		}
	}
}

// Settle accepts what is done, and what is rejected or retried once its copy stands. What is released is handed out
// again.
func (r *Receiver) Settle(ctx context.Context, batch []driver.Settlement) error {
	errs := map[int]error{}
	var tiers []driver.Settlement
	var which []int
	byMember := map[*member][]verdict{}
	for i := range batch {
		h, shared := batch[i].Handle.Ref.(*handed)
		if !shared {
			tiers, which = append(tiers, batch[i]), append(which, i)
			continue
		}
		byMember[h.m] = append(byMember[h.m], verdict{i, h, batch[i], kgo.AckAccept})
	}
	if len(tiers) > 0 {
		spread(errs, which, r.c.Tiers.Settle(ctx, tiers))
	}
	for m, vs := range byMember {
		m.settle(ctx, r.publish(ctx, vs, errs), errs)
	}
	return failure.Batch(errs)
}

// spread gives the entries of a part of a batch their errors.
func spread(errs map[int]error, which []int, err error) {
	if err == nil {
		return
	}
	for k, i := range which {
		if e := failure.Entry(err, k); e != nil {
			errs[i] = e
		}
	}
}

// Extend renews locks, each by as long as the broker grants.
func (r *Receiver) Extend(ctx context.Context, hs []driver.Handle, _ time.Duration) (time.Time, error) {
	asked := time.Now()
	errs := map[int]error{}
	byMember := map[*member][]verdict{}
	for i := range hs {
		if h, shared := hs[i].Ref.(*handed); shared {
			byMember[h.m] = append(byMember[h.m], verdict{i: i, of: h, status: kgo.AckRenew})
		}
	}
	for m, vs := range byMember {
		m.renew(ctx, vs, asked.Add(r.c.Lock), errs)
	}
	return asked.Add(r.c.Lock), failure.Batch(errs)
}

// Close releases what is not settled and leaves the groups.
func (r *Receiver) Close(ctx context.Context) error {
	if r.closed.Swap(true) {
		return nil
	}
	r.stop()
	r.wg.Wait()
	err := r.c.Tiers.Close(ctx)
	for _, m := range r.members {
		if cerr := m.close(ctx); err == nil {
			err = cerr
		}
	}
	return err
}

package kafka

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/twmb/franz-go/pkg/kgo"
)

// shareMembers is how many clients of one receiver are in a share group. A client accepts what is left of its last poll with
// the next one, so it must not poll before all of that is settled: new records of its partitions wait for that, and the other
// members keep the handlers busy meanwhile.
const shareMembers = 4

// shareReceiver receives from a channel as members of a share group (KIP-932): brokers hand single records out, under a lock
// that ends, and count how often. Nothing is ordered. Retries and delays wait in the channel's tiers, which a group of the
// classic kind reads: a broker that hands out what is not due would count that.
type shareReceiver struct {
	b      *Backend
	from   driver.Channel
	o      driver.ReceiverOptions
	topic  string
	group  string
	batch  int32 // records of one poll
	lock   time.Duration
	source driver.Source

	tiers   *receiver
	retry   *tierQueue
	dead    DeadLetterQueue
	members []*shareMember

	polls   context.Context
	stop    context.CancelFunc
	wg      sync.WaitGroup
	arrived chan struct{} // holds one: there is something on the queue, or an error
	taken   chan struct{} // holds one: something was taken from it

	mu     sync.Mutex
	asking int           // Receives under way
	ask    chan struct{} // closed while there is one
	queue  []driver.Delivery
	failed error // of a poll, for the next Receive to tell
	closed bool
}

func (b *Backend) shareReceiver(ctx context.Context, from driver.Channel, o driver.ReceiverOptions) (driver.Receiver, error) {
	set := b.o.channel(from)
	r := &shareReceiver{b: b, from: from, o: o, topic: b.names.Topic(from), group: b.names.Group(from),
		batch: int32(max(o.Concurrency, 1)+shareMembers-1)/shareMembers + 1,
		retry: &tierQueue{b: b, ch: from, tiers: set.Tiers}, dead: b.o.DeadLetterQueue,
		arrived: make(chan struct{}, 1), taken: make(chan struct{}, 1), ask: make(chan struct{})}
	r.source.Name = r.topic
	var err error
	if r.lock, err = b.lockOf(ctx, r.group); err != nil {
		return nil, err
	}
	if r.tiers, err = b.tierReceiver(ctx, from, o); err != nil {
		return nil, err
	}
	if r.dead == nil {
		r.dead = r.tiers.dead
	}
	r.polls, r.stop = context.WithCancel(context.Background())
	for range shareMembers {
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
func (r *shareReceiver) Limits() driver.ReceiveLimits {
	n := int(r.batch) * shareMembers
	return driver.ReceiveLimits{Batch: n, Window: max(r.o.Window, 2*n), Polls: 1, Lease: r.lock, Behind: driver.BehindGoesOn,
		RetryMin: r.retry.tiers[0], RetryMax: r.retry.tiers[len(r.retry.tiers)-1]}
}

// Receive returns what the members and the tiers have brought.
func (r *shareReceiver) Receive(ctx context.Context, most int, into []driver.Delivery) ([]driver.Delivery, error) {
	r.begin()
	defer r.end()
	ends := time.NewTimer(r.o.Wait)
	defer ends.Stop()
	for {
		r.mu.Lock()
		closed, failed, n := r.closed, r.failed, min(len(r.queue), most)
		r.failed = nil
		into = append(into, r.queue[:n]...)
		r.queue = append(r.queue[:0:0], r.queue[n:]...)
		r.mu.Unlock()
		if closed {
			return into, fmt.Errorf("the receiver of %s is %w", r.from, driver.ErrClosed)
		}
		if n > 0 {
			wake(r.taken)
		}
		if n > 0 || failed != nil || failure.Over(ctx) {
			return into, failed
		}
		select {
		case <-r.arrived:
		case <-ends.C:
			return into, nil
		case <-ctx.Done():
			return into, nil
		}
	}
}

// begin lets the members poll: what they fetch while nobody asks would come back with a higher count.
func (r *shareReceiver) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asking++; r.asking == 1 {
		close(r.ask)
	}
}

func (r *shareReceiver) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asking--; r.asking == 0 {
		r.ask = make(chan struct{})
	}
}

// asked waits until there is a Receive; false: there will be none any more.
func (r *shareReceiver) asked() bool {
	r.mu.Lock()
	ask := r.ask
	r.mu.Unlock()
	select {
	case <-ask:
		return true
	case <-r.polls.Done():
		return false
	}
}

// push hands deliveries to the next Receive.
func (r *shareReceiver) push(ds []driver.Delivery, err error) {
	r.mu.Lock()
	r.queue = append(r.queue, ds...)
	if err != nil {
		r.failed = err
	}
	r.mu.Unlock()
	wake(r.arrived)
}

// wake leaves a token in a channel that holds one.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// readTiers brings what is due in the tiers, as long as somebody takes it.
func (r *shareReceiver) readTiers() {
	for r.polls.Err() == nil {
		r.mu.Lock()
		full := len(r.queue) >= int(r.batch)*shareMembers
		r.mu.Unlock()
		if full {
			select {
			case <-r.taken:
			case <-r.polls.Done():
			}
			continue
		}
		ds, err := r.tiers.Receive(r.polls, int(r.batch), nil)
		if len(ds) > 0 || err != nil {
			r.push(ds, err)
		}
		if err != nil {
			pause(r.polls, time.Second)
		}
	}
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Settle accepts what is done, and what is rejected or retried once its copy stands. What is released is handed out again.
func (r *shareReceiver) Settle(ctx context.Context, batch []driver.Settlement) error {
	errs := map[int]error{}
	var tiers []driver.Settlement
	var which []int
	byMember := map[*shareMember][]verdict{}
	for i := range batch {
		s, shared := batch[i].Handle.Ref.(*shared)
		if !shared {
			tiers, which = append(tiers, batch[i]), append(which, i)
			continue
		}
		byMember[s.m] = append(byMember[s.m], verdict{i, s, batch[i], kgo.AckAccept})
	}
	if len(tiers) > 0 {
		spread(errs, which, r.tiers.Settle(ctx, tiers))
	}
	for m, vs := range byMember {
		m.settle(ctx, r.copyOut(ctx, vs, errs), errs)
	}
	return failure.Batch(errs)
}

// copyOut publishes what is retried or rejected, and returns the verdicts that can be carried out.
func (r *shareReceiver) copyOut(ctx context.Context, vs []verdict, errs map[int]error) (ready []verdict) {
	var later []Later
	var dead []Rejected
	var laterOf, deadOf []verdict
	for _, v := range vs {
		switch st := v.st; st.Action {
		case driver.Release:
			if v.status = kgo.AckRelease; fresh(v.s.record) {
				ready = append(ready, v)
				continue
			}
			v.status = kgo.AckAccept // its copy has a count of its own
			later = append(later, Later{Record: v.s.record, Due: time.Now()})
			laterOf = append(laterOf, v)
		case driver.Retry:
			later = append(later, Later{Record: v.s.record, Due: time.Now().Add(st.After), Attempt: st.Attempt})
			laterOf = append(laterOf, v)
		case driver.Reject:
			one := Rejected{Record: v.s.record, Group: r.group, Attempt: st.Attempt}
			if st.Death != nil {
				one.Death = *st.Death
			}
			dead, deadOf = append(dead, one), append(deadOf, v)
		default:
			ready = append(ready, v)
		}
	}
	take := func(of []verdict, answers []error) {
		for k, v := range of {
			if answers[k] != nil {
				errs[v.i] = answers[k]
			} else {
				ready = append(ready, v)
			}
		}
	}
	if len(later) > 0 {
		take(laterOf, r.retry.Put(ctx, later))
	}
	if len(dead) > 0 {
		take(deadOf, r.dead.Put(ctx, dead))
	}
	return ready
}

// Extend renews locks, each by as long as the broker grants.
func (r *shareReceiver) Extend(ctx context.Context, hs []driver.Handle, _ time.Duration) (time.Time, error) {
	asked := time.Now()
	errs := map[int]error{}
	byMember := map[*shareMember][]verdict{}
	for i := range hs {
		if s, shared := hs[i].Ref.(*shared); shared {
			byMember[s.m] = append(byMember[s.m], verdict{i: i, s: s, status: kgo.AckRenew})
		}
	}
	for m, vs := range byMember {
		m.renew(ctx, vs, asked.Add(r.lock), errs)
	}
	return asked.Add(r.lock), failure.Batch(errs)
}

// Close gives back what is not settled and leaves the groups.
func (r *shareReceiver) Close(ctx context.Context) error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	r.mu.Unlock()
	r.stop()
	r.wg.Wait()
	err := r.tiers.Close(ctx)
	for _, m := range r.members {
		if cerr := m.close(ctx); err == nil {
			err = cerr
		}
	}
	return err
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

package kafka

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

const (
	// receiveMost is how many deliveries one Receive returns at most: enough to make what a call costs small, and few
	// enough that a poll needs no large part of the places to be free.
	receiveMost = 2_000
	// window is how many places make sense: a busy key waits in its lane, and the others need places beside it.
	window = 16_384
)

// receiver receives from one channel, as a member of its group.
type receiver struct {
	b         *Backend
	from      driver.Channel
	o         driver.ReceiverOptions
	set       ChannelOptions
	topic     string
	group     string
	speaker   string                   // the channel's group, in whose name dead letters are written
	picky     bool                     // there is a filter
	places    int                      // that the core has, about
	tiersOnly bool                     // a share group reads the channel's own topic
	tiers     map[string]time.Duration // by topic
	retry     RetryQueue               // nil: the core holds every retry
	dead      DeadLetterQueue          // nil: this channel has none

	committing chan struct{} // holds one while a commit is under way: never two at once
	stop       chan struct{} // ends the goroutines
	ended      chan struct{} // closed once the last commit is made
	wg         sync.WaitGroup

	mu        state
	member    *member // nil: none could be made yet
	used      messages
	out       []*message // of a round, used again by the next
	some      []*epoch   // likewise
	taken     int        // places, of all epochs
	enough    int        // an epoch has all it may have while more than these are
	line      timeline
	lots      map[lotKey]*lot
	again     []lotKey           // the core's hands are empty of these keys, and something waited for that
	round     uint64             // of admissions
	catching  map[int32]bool     // partitions whose tiers are not yet read up to their barriers
	interrupt context.CancelFunc // ends the poll under way
	polling   chan struct{}      // closed when what the poll under way brings is admitted; nil: none is
	nudged    bool               // there may be something to return without a poll
	stale     error              // why the member must be replaced
	trouble   error              // of commits, for the next Receive to tell
	shortened int64              // commits whose metadata the broker called too large
	closed    bool
}

// Receiver opens the receiving end of a channel.
func (b *Backend) Receiver(ctx context.Context, from driver.Channel, o driver.ReceiverOptions) (driver.Receiver, error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	if err := b.legal(from); err != nil {
		return nil, err
	}
	if from.Queue == "" {
		return nil, failure.Permanent("channel %s: nothing can be received from all of an exchange: name one of its channels", from)
	}
	if b.o.channel(from).Groups == Share && !from.DeadLetter {
		return b.shareReceiver(ctx, from, o)
	}
	return b.logReceiver(ctx, from, o, func(*receiver) {})
}

// tierReceiver reads nothing but a channel's tiers.
func (b *Backend) tierReceiver(ctx context.Context, from driver.Channel, o driver.ReceiverOptions) (*receiver, error) {
	return b.logReceiver(ctx, from, o, func(r *receiver) {
		r.tiersOnly, r.group = true, b.names.Retries(from)
	})
}

func (b *Backend) logReceiver(ctx context.Context, from driver.Channel, o driver.ReceiverOptions, change func(*receiver)) (*receiver, error) {
	r := &receiver{b: b, from: from, o: o, set: b.o.channel(from), topic: b.topicOf(from), group: b.names.Group(from), speaker: b.names.Group(from),
		tiers: map[string]time.Duration{}, committing: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}), lots: map[lotKey]*lot{}, catching: map[int32]bool{}}
	r.mu.r, r.picky, r.places = r, !o.Filter.IsZero(), either(o.Window, window)
	change(r)
	r.equip()
	if err := r.join(ctx); err != nil {
		return nil, err
	}
	r.wg.Go(r.keepCommitting)
	return r, nil
}

// equip sets up where retries wait and dead letters go.
func (r *receiver) equip() {
	if r.from.DeadLetter {
		r.set.Retries = Block
		return
	}
	if r.dead = r.b.o.DeadLetterQueue; r.dead == nil {
		r.dead = &deadTopic{b: r.b, ch: r.from, log: r.log}
	}
	if !r.set.tiered() {
		return
	}
	if r.retry = r.b.o.RetryQueue; r.retry != nil {
		return
	}
	for _, d := range r.set.Tiers {
		r.tiers[r.b.names.Tier(r.from, d)] = d
	}
	r.retry = &tierQueue{b: r.b, ch: r.from, tiers: r.set.Tiers}
}

// Limits says how retries wait, and that what was received stays ours.
func (r *receiver) Limits() driver.ReceiveLimits {
	lim := driver.ReceiveLimits{Batch: min(receiveMost, r.places), Window: r.places, Polls: 1, Keeps: true}
	if r.retry == nil {
		lim.HoldMax = r.set.MaxBlock
		return lim
	}
	lim.RetryMin, lim.RetryMax = r.set.Tiers[0], r.set.Tiers[len(r.set.Tiers)-1]
	lim.Behind = driver.BehindGoesOn
	if r.set.Retries == Park {
		lim.Behind = driver.BehindFollows
	}
	return lim
}

// Receive returns what waits here and is due, else what a poll brings.
func (r *receiver) Receive(ctx context.Context, most int, into []driver.Delivery) ([]driver.Delivery, error) {
	had := len(into)
	ends := time.Now().Add(r.o.Wait)
	for polled := false; ; polled = true {
		if err := r.fit(ctx); err != nil || failure.Over(ctx) {
			return into, err
		}
		var err error
		if into, err = r.admitWaiting(ctx, most, into); err != nil || len(into) > had {
			return into, err
		}
		left := time.Until(ends)
		if polled && left <= 0 {
			return into, nil
		}
		if into, err = r.poll(ctx, left, most, into); err != nil || len(into) > had {
			return into, err
		}
	}
}

// fit says whether there is a member to poll with; one whose topic was made anew is replaced.
func (r *receiver) fit(ctx context.Context) error {
	r.mu.Lock()
	closed, stale, trouble := r.closed, r.stale, r.trouble
	r.trouble = nil
	r.mu.Unlock()
	switch {
	case closed:
		return fmt.Errorf("the receiver of %s is %w", r.from, driver.ErrClosed)
	case failure.Over(ctx):
		return nil
	case stale != nil:
		return r.rejoin(ctx, stale)
	}
	return trouble
}

// nudge makes a Receive look again at what waits here. The caller holds r.mu.
func (r *receiver) nudge() {
	r.nudged = true
	if r.interrupt != nil {
		r.interrupt()
	}
}

// Started notes how often a record was started whose retry the core holds: a crash then does not start the count anew.
func (r *receiver) Started(h driver.Handle, attempt int32) {
	m := h.Ref.(*message)
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.use == h.Seq && !m.epoch.gone && m.record != nil {
		m.epoch.tracker.Started(m.seq, attempt)
	}
}

// Close commits what is finished and leaves the group.
func (r *receiver) Close(ctx context.Context) error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	r.nudge()
	m := r.member
	r.mu.Unlock()
	close(r.stop)
	r.wg.Wait() // for a commit that is under way, say
	err := r.commitLast(ctx, m, m.all())
	close(r.ended)
	r.discard(m, m.all())
	if cerr := m.close(ctx); err == nil {
		err = cerr
	}
	return err
}

package later

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/provision"
	"github.com/godwitmq/godwit/kafka/internal/send"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

const (
	// looksEvery is how often the topic is looked for, and compared with what it was.
	looksEvery = 10 * time.Second
	// fetchMost is how many bytes a fetch brings at most, and fetchShare of one partition. They bound the memory of an
	// owner that reads its partitions: batches are compressed, and decoded records are up to ten times as large.
	fetchMost, fetchShare = 1 << 20, 256 << 10
	// fetchWait is how long a broker waits for records. A partition whose records have just been read joins only the
	// next fetch, so the wait is short: a message that is claimed is late until the claim is read.
	fetchWait = 500 * time.Millisecond
	// MetadataAge is how old metadata is at least when it is asked for again. With the client's own 5 s, a message
	// would be late by as much after a topic was created, or a leader has changed.
	MetadataAge = 250 * time.Millisecond
	// recordsAtOnce is how many records are indexed before others are sent on.
	recordsAtOnce = 20_000
	// callPatience bounds each request, or transaction.
	callPatience = 10 * time.Second
	// closePatience bounds the end.
	closePatience = 5 * time.Second
	saysEvery     = time.Minute
	// beatEvery is how often an owner reads up to a record of its own again, to compare the clocks.
	beatEvery = time.Hour
)

// codec decodes what single requests bring.
var codec = kgo.DefaultDecompressor()

// again is the pause after a failure.
var again = backoff.Curve{First: 50 * time.Millisecond, Max: 10 * time.Second}

// Waker sends on the messages of one channel that have waited until they are due.
type Waker struct {
	Of      driver.Channel
	Group   string // of the members that wake
	Target  string // the topic that the messages go to
	Cluster *cluster.Cluster
	Topics  *provision.LaterTopics
	// Produce publishes records outside of transactions.
	Produce *send.Producer
	// Dial creates a client for transactions, with an id of this waker.
	Dial func() (*client.Client, error)
	// ID is the transactional id.
	ID string
	// To opens a sender to the channel.
	To func(ctx context.Context) (*send.Sender, error)
	// Reject is the dead letter of a message, or nil if it is kept elsewhere. A nil Reject: there are no dead letters.
	Reject func(ctx context.Context, r *kgo.Record, death *driver.Death) (*kgo.Record, error)
	Log    *slog.Logger
	// SessionTimeout is how long the member may be silent before others get its partitions.
	SessionTimeout time.Duration

	said time.Time // when it last logged
}

// Run wakes messages until ctx ends. It joins the group only if the topic exists.
func (w *Waker) Run(ctx context.Context) {
	for {
		t, ok := w.find(ctx)
		if !ok {
			return
		}
		if err := w.work(ctx, t); err != nil && !failure.Over(ctx) {
			w.say("messages that wait for their time cannot be woken", err)
			_ = backoff.Sleep(ctx, again.Max)
		}
	}
}

// find waits until the topic exists; false: ctx has ended.
func (w *Waker) find(ctx context.Context) (cluster.Topic, bool) {
	denied := false // that is said once: most consumers have no delayed messages
	for !failure.Over(ctx) {
		made := w.Topics.Made(w.Of)
		t, err := w.Topics.Known(ctx, w.Of)
		if err == nil {
			return t, true
		}
		if class := driver.ClassOf(err); !denied && class != driver.NotFound && !class.Passing() {
			denied = true
			w.say("looking for delayed messages failed; this consumer does not wake them", err)
		}
		select {
		case <-time.After(looksEvery):
		case <-made:
		case <-ctx.Done():
		}
	}
	return cluster.Topic{}, false
}

// work wakes messages until ctx ends, or until the topic is not the same any more.
func (w *Waker) work(ctx context.Context, t cluster.Topic) error {
	own := &ownership{parts: map[int32]*part{}}
	lose := func(_ context.Context, _ *kgo.Client, ps map[string][]int32) { own.remove(ps[t.Name]) }
	c, err := w.Cluster.Dial(
		kgo.ConsumerGroup(w.Group), kgo.ConsumeTopics(t.Name), kgo.DisableAutoCommit(),
		kgo.SessionTimeout(w.SessionTimeout),
		kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AdjustFetchOffsetsFn(fromStart),
		kgo.FetchMaxBytes(fetchMost), kgo.FetchMaxPartitionBytes(fetchShare), kgo.FetchMaxWait(fetchWait),
		kgo.MetadataMinAge(MetadataAge),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, ps map[string][]int32) { own.add(ps[t.Name]) }),
		kgo.OnPartitionsRevoked(lose), kgo.OnPartitionsLost(lose),
	)
	if err != nil {
		return err
	}
	s := &session{
		Waker: w, topic: t, client: c, own: own, looked: time.Now(), most: batchMost,
		tx: &transaction{dial: w.Dial, log: w.Log},
	}
	err = s.run(ctx)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closePatience)
	defer cancel()
	s.tx.close(closing)
	_ = c.Close(closing)
	if s.to != nil {
		_ = s.to.Close(closing)
	}
	return err
}

// fromStart lets each owner read its partitions from the start, whatever was committed.
func fromStart(_ context.Context, all map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	for _, ps := range all {
		for n := range ps {
			ps[n] = kgo.NewOffset().AtStart()
		}
	}
	return all, nil
}

// say logs a warning, at most once a minute.
func (w *Waker) say(what string, err error) {
	if now := time.Now(); w.said.IsZero() || now.Sub(w.said) >= saysEvery {
		w.said = now
		w.Log.Warn(what, "channel", w.Of.String(), "error", err)
	}
}

// ownership is the partitions of a member. The group's callbacks change it while the waker works.
type ownership struct {
	mu    sync.Mutex
	parts map[int32]*part
}

// part is a partition from its assignment on. Only the waker's goroutine changes it.
type part struct {
	n     int32
	index *Index
	next  int64 // the offset behind the records that are indexed
	// ready is the offset of a record of this owner, behind all that earlier owners have written. Before it is indexed,
	// nothing is sent. negative: none is written yet.
	ready int64
	beat  time.Time // when it was written
	// refused is why the target has refused messages for good, by their ids.
	refused map[uint64]error
	// decided is what the first claim or cancel in the log says of messages that wait, by their ids.
	decided map[uint64]decision
	claimed []claimed
	old     []old
}

// decision says whether a message that can be cancelled is sent on.
type decision uint8

const (
	undecided decision = iota
	woken
	cancelled
)

// claimed is a message whose claim is written at an offset, and not read yet.
type claimed struct {
	Waiting
	at int64
}

// old is a claim or a cancel that is kept for no one, unless its message still waits.
type old struct {
	id  uint64
	key string
}

func (p *part) isReady() bool { return p.ready >= 0 && p.next > p.ready }

func (o *ownership) add(ns []int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, n := range ns {
		o.parts[n] = &part{n: n, index: NewIndex(), ready: -1}
	}
}

func (o *ownership) remove(ns []int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, n := range ns {
		delete(o.parts, n)
	}
}

// all are the partitions that are owned now.
func (o *ownership) all() map[int32]*part {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.parts)
}

// session is the work as one member of the group.
type session struct {
	*Waker
	topic  cluster.Topic
	client *client.Client
	own    *ownership
	tx     *transaction
	to     *send.Sender  // nil: not open yet
	limit  int           // of the channel's topic, in bytes
	looked time.Time     // when the topic was last compared
	ahead  time.Duration // of the brokers' clock
	most   int           // how many messages the next transaction has; 1 after a refusal, which then has its message
	fails  int
}

var errGone = errors.New("the topic was deleted, or deleted and created again")

func (s *session) run(ctx context.Context) error {
	for !failure.Over(ctx) {
		if err := s.read(ctx); err != nil {
			return err
		}
		err := s.begin(ctx)
		if err == nil {
			err = s.wake(ctx)
		}
		switch {
		case err == nil:
			s.fails = 0
		case failure.Over(ctx):
		default:
			s.fails++
			s.say("sending on messages whose time has come failed; it is tried again", err)
			_ = backoff.Sleep(ctx, again.Wait(s.fails))
		}
		if time.Since(s.looked) >= looksEvery {
			s.looked = time.Now()
			t, err := s.Topics.Known(ctx, s.Of)
			switch {
			case err == nil && t.ID == s.topic.ID:
				s.topic = t
			case err == nil || driver.ClassOf(err) == driver.NotFound:
				return nil // it is looked for again
			}
		}
	}
	return nil
}

// read indexes what a poll brings. It waits until something comes, or a message is due.
func (s *session) read(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, s.idle())
	defer cancel()
	fetches := s.client.PollRecords(wait, recordsAtOnce)
	own := s.own.all()
	fetches.EachRecord(func(r *kgo.Record) {
		if p := own[r.Partition]; p != nil {
			if p.note(r) {
				s.compare(p.beat, r.Timestamp)
			}
		}
	})
	for _, p := range own {
		p.unclaim()
	}
	for _, e := range fetches.Errors() {
		switch {
		case errors.Is(e.Err, context.Canceled), errors.Is(e.Err, context.DeadlineExceeded):
		case errors.Is(e.Err, kerr.UnknownTopicID):
			return errGone
		case errors.Is(e.Err, kgo.ErrClientClosed):
			return e.Err
		default:
			s.say("messages that wait for their time cannot be read", failure.Classify(e.Err))
		}
	}
	return nil
}

// unclaim returns the claimed messages to the index whose claims are read.
func (p *part) unclaim() {
	kept := p.claimed[:0]
	for _, c := range p.claimed {
		if c.at >= p.next {
			kept = append(kept, c)
		} else {
			p.index.Back(c.Waiting)
		}
	}
	p.claimed = kept
}

// idle is how long nothing is to be done.
func (s *session) idle() time.Duration {
	now := s.now()
	wait := looksEvery
	for _, p := range s.own.all() {
		if p.ready < 0 {
			return time.Millisecond
		}
		if due, ok := p.index.Next(); ok && p.isReady() {
			wait = min(wait, time.Duration(due-now)*time.Millisecond)
		}
	}
	return max(wait, time.Millisecond)
}

// note takes note of a record, and reports whether it is the one that its owner has written.
func (p *part) note(r *kgo.Record) (own bool) {
	p.next = r.Offset + 1
	id, ok := wire.ParseLaterID(r.Key)
	switch {
	case ok && r.Value == nil:
		p.index.Remove(id)
	case ok:
		p.index.Add(id, wire.WaitsUntil(r).UnixMilli(), r.Offset)
	case r.Offset == p.ready:
		return true
	case r.Value != nil:
		p.decide(r)
	}
	return false
}

// decide takes note of a claim or a cancel. The first one of a message that waits counts. A claim of an operator also
// ends the wait, unless the message is cancelled.
func (p *part) decide(r *kgo.Record) {
	id, cancels, ok := wire.Decision(r.Key)
	if !ok {
		return
	}
	if time.Since(r.Timestamp) > decisionsFor {
		p.old = append(p.old, old{short(id), string(r.Key)})
	}
	w, waits := p.index.Find(id)
	ends := wire.EndsWait(r)
	switch was := p.decided[w.id]; {
	case !waits, was == cancelled, was == woken && !ends, ends && !counts(r):
	case ends:
		p.settle(w.id, woken)
		p.index.Add(id, 0, w.Offset)
	case cancels:
		p.settle(w.id, cancelled)
		p.index.Add(id, 0, w.Offset) // it waits no longer
	case counts(r):
		p.settle(w.id, woken)
	default:
		p.ready = -1 // the clocks are to be compared again
	}
}

func (p *part) settle(id uint64, as decision) {
	if p.decided == nil {
		p.decided = map[uint64]decision{}
	}
	p.decided[id] = as
}

// clockMost is how much the clocks may differ before the brokers' counts.
const clockMost = 2 * time.Second

// compare learns how much the brokers' clock is ahead: a record that was sent at began has their time, which is at.
func (s *session) compare(began, at time.Time) {
	least, most := time.Until(at), at.Sub(began)
	if s.ahead = least + (most-least)/2; s.ahead.Abs() <= clockMost+(most-least)/2 {
		s.ahead = 0
	}
}

// now is the brokers' time, in milliseconds.
func (s *session) now() int64 { return time.Now().Add(s.ahead).UnixMilli() }

// begin writes a record to each partition that has none of this owner, or an old one. When it is read, everything that
// earlier owners have written is indexed, because their transactions are over: a transaction that has not ended would
// keep the record from being read, and one that begins later is fenced.
func (s *session) begin(ctx context.Context) error {
	for _, p := range s.own.all() {
		if p.ready >= 0 && (p.index.Len() == 0 || time.Since(p.beat) < beatEvery) {
			continue
		}
		if s.tx.lost { // a transaction that its client left open would hide the record
			if err := s.tx.open(ctx); err != nil {
				return err
			}
		}
		r := &kgo.Record{Topic: s.topic.Name, Partition: p.n, Key: []byte(wire.BeatKey), Value: []byte(s.ID)}
		p.beat = time.Now()
		call, cancel := context.WithTimeout(ctx, callPatience)
		err := s.Produce.Produce(call, []*kgo.Record{r})[0]
		cancel()
		if err != nil {
			return err
		}
		p.ready = r.Offset
	}
	return s.forget(ctx)
}

// forget deletes claims and cancels that are kept for no one any more.
func (s *session) forget(ctx context.Context) error {
	for _, p := range s.own.all() {
		if !p.isReady() || len(p.old) == 0 {
			continue
		}
		var rs []*kgo.Record
		for _, o := range p.old[:min(len(p.old), batchMost)] {
			if _, waits := p.index.live[o.id]; !waits {
				rs = append(rs, &kgo.Record{Topic: s.topic.Name, Partition: p.n, Key: []byte(o.key)})
			}
		}
		call, cancel := context.WithTimeout(ctx, callPatience)
		errs := s.Produce.Produce(call, rs)
		cancel()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		p.old = p.old[min(len(p.old), batchMost):]
	}
	return nil
}

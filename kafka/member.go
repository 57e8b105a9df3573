package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/assign"
	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/wire"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// drainPatience is how long what is running may go on when a partition is taken away. The core cancels handlers when four
// fifths of it are over; the group waits for a minute at most.
const drainPatience = 10 * time.Second

// member is one client in the group, with what it is assigned. A topic that was made anew needs a new one.
type member struct {
	r      *receiver
	client *client.Client
	topics map[string]kadm.TopicID // as they were when it joined
	share  int32                   // bytes of one partition in a fetch
	spare  records

	// Guarded by receiver.mu.
	epochs  map[wire.Partition]*epoch
	retired bool // replaced: what it is told counts no more
}

// join makes a member.
func (r *receiver) join(ctx context.Context) error {
	m := &member{r: r, topics: map[string]kadm.TopicID{}, epochs: map[wire.Partition]*epoch{}}
	names := []string{r.topic}
	for name := range r.tiers {
		names = append(names, name)
	}
	for _, name := range names {
		t, err := r.b.find(ctx, name)
		if err != nil {
			return err
		}
		m.topics[name] = t.id
		if name == r.topic {
			m.share = fetchShare(t.partitions)
		}
	}
	for _, name := range append(names, r.copies()...) {
		if err := r.b.learnLimit(ctx, name); err != nil {
			return err
		}
	}
	if r.tiersOnly {
		names = names[1:]
	}
	opts, err := r.b.o.clientOptions(r.b.log, m.options(names)...)
	if err != nil {
		return err
	}
	if m.client, err = client.New(opts); err != nil {
		return err
	}
	r.mu.Lock()
	r.member, r.stale = m, nil
	r.mu.Unlock()
	return nil
}

// copies are the topics that records of this channel are copied to, besides its tiers.
func (r *receiver) copies() []string {
	if q, ok := r.dead.(*deadTopic); ok {
		return []string{r.b.names.DeadLetters(q.ch)}
	}
	return nil
}

// options of a member. Where to start is said twice on purpose: a group that is new begins at the start of the log, and one
// whose offset the log no longer holds begins there again, because a duplicate beats a loss.
func (m *member) options(topics []string) []kgo.Opt {
	o, r := &m.r.b.o, m.r
	start := kgo.NewOffset().AtStart()
	opts := []kgo.Opt{kgo.ConsumerGroup(r.group), kgo.ConsumeTopics(topics...), kgo.DisableAutoCommit(),
		kgo.ConsumeStartOffset(start), kgo.ConsumeResetOffset(start), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(fetchWait), kgo.FetchMaxPartitionBytes(m.share),
		kgo.OnPartitionsAssigned(m.assigned), kgo.OnPartitionsRevoked(m.revoked), kgo.OnPartitionsLost(m.lost), kgo.OnOffsetsFetched(m.fetched)}
	switch {
	case r.tiersOnly:
		opts = append(opts, kgo.Balancers(kgo.CooperativeStickyBalancer()))
	case m.byBroker():
		// Assigned by ranges, so that a tier's partition goes to whom the channel's partition of its number goes to.
		opts = append(opts, kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()))
	default:
		opts = append(opts, kgo.Balancers(assign.Following(r.group)))
	}
	if m.r.b.reuses {
		opts = append(opts, kgo.WithPools(&m.spare))
	}
	if o.SessionTimeout > 0 {
		opts = append(opts, kgo.SessionTimeout(o.SessionTimeout))
	}
	if id := m.instance(); id != nil {
		opts = append(opts, kgo.InstanceID(*id))
	}
	if r.o.Bytes > 0 { // half waits here to be admitted while the client has the other
		opts = append(opts, kgo.FetchMaxBytes(int32(min(max(r.o.Bytes/2, fetchLeast), fetchMost))))
	}
	return opts
}

// byBroker says that the group is one that the broker assigns (KIP-848).
func (m *member) byBroker() bool { return m.r.set.Groups == Consumer && !m.r.tiersOnly }

// instance is what a static member is called; nil: it is none.
func (m *member) instance() *string {
	id := m.r.b.o.InstanceID
	if id == "" {
		return nil
	}
	id += "." + m.r.group
	return &id
}

const (
	// fetchWait is how long a broker waits for records. A partition that is assigned, or let go on, meanwhile is not asked for
	// before that is over, so it is short.
	fetchWait = 500 * time.Millisecond
	// fetchLeast and fetchMost bound what one broker sends at once; the largest is franz-go's own default.
	fetchLeast = 1 << 20
	fetchMost  = 50 << 20
)

// assigned begins epochs. Records come only after fetched has returned.
func (m *member) assigned(_ context.Context, _ *kgo.Client, ps map[string][]int32) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	if m.retired { // not whether it is the receiver's: it may be assigned before it is that
		return
	}
	for topic, ns := range ps {
		for _, n := range ns {
			p := wire.Partition{Topic: topic, N: n}
			m.epochs[p] = newEpoch(p, m.r.tiers[topic], fmt.Sprintf("%s-%d", m.topics[topic], n))
		}
	}
}

// fetched takes in what the group has committed, and what became of records after the last commit of an earlier life.
func (m *member) fetched(ctx context.Context, _ *kgo.Client, resp *kmsg.OffsetFetchResponse) error {
	var begun []*epoch
	m.r.mu.Lock()
	for _, g := range resp.Groups {
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				e := m.epochs[wire.Partition{Topic: m.name(t.Topic, t.TopicID), N: p.Partition}]
				if e == nil || e.next >= 0 || p.ErrorCode != 0 {
					continue
				}
				metadata := ""
				if p.Metadata != nil {
					metadata = *p.Metadata
				}
				e.tracker.Start(p.Offset, metadata)
				e.from = p.Offset
				begun = append(begun, e)
			}
		}
	}
	m.r.mu.Unlock()
	m.r.recall(ctx, begun)
	return nil
}

// name is a topic's name; newer brokers tell only its id.
func (m *member) name(name string, id kadm.TopicID) string {
	if name != "" {
		return name
	}
	for name, known := range m.topics {
		if known == id {
			return name
		}
	}
	return ""
}

// revoked drains the partitions that go to another member, and commits what is finished.
func (m *member) revoked(ctx context.Context, _ *kgo.Client, ps map[string][]int32) {
	es, sources := m.leave(ps)
	if len(es) == 0 {
		m.r.awaitEnd(ctx)
		return
	}
	if revoked := m.r.o.Events.Revoked; revoked != nil {
		drain, cancel := context.WithTimeout(ctx, drainPatience)
		revoked(drain, sources)
		cancel()
	}
	if err := m.r.commitLast(ctx, m, es); err != nil {
		m.r.note(err)
	}
	m.r.discard(m, es)
}

// awaitEnd lets a receiver that is being closed make its last commit before its partitions are another member's.
func (r *receiver) awaitEnd(ctx context.Context) {
	r.mu.Lock()
	closed := r.closed
	r.mu.Unlock()
	if !closed {
		return
	}
	select {
	case <-r.ended:
	case <-ctx.Done():
	}
}

// lost forgets partitions that are already another member's.
func (m *member) lost(_ context.Context, _ *kgo.Client, ps map[string][]int32) {
	es, sources := m.leave(ps)
	if len(es) == 0 {
		return
	}
	m.r.lose(m, es, sources, errMemberLost)
}

var errMemberLost = errors.New("the group gave the partition to another member")

// leave stops the admission of partitions. It waits until what a poll under way brings is admitted, or else records of this
// epoch could be taken for those of the next one. A poll that begins later brings none of them.
func (m *member) leave(ps map[string][]int32) (es []*epoch, sources []*driver.Source) {
	m.r.mu.Lock()
	if m.retired || m.r.closed {
		m.r.mu.Unlock()
		return nil, nil
	}
	defer func() {
		polling := m.r.polling
		m.r.nudge()
		m.r.mu.Unlock()
		if polling != nil {
			<-polling
		}
	}()
	for topic, ns := range ps {
		for _, n := range ns {
			if e := m.epochs[wire.Partition{Topic: topic, N: n}]; e != nil {
				e.leaving, e.backlog, e.backlogB = true, nil, 0
				es, sources = append(es, e), append(sources, &e.Source)
			}
		}
	}
	return es, sources
}

// all is every epoch of the member.
func (m *member) all() []*epoch {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	es := make([]*epoch, 0, len(m.epochs))
	for _, e := range m.epochs {
		es = append(es, e)
	}
	return es
}

// discard makes nothing of the epochs count any more.
func (r *receiver) discard(m *member, es []*epoch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range es {
		if !e.gone {
			r.taken -= e.taken
		}
		e.gone, e.backlog, e.backlogB = true, nil, 0
		if m.epochs[e.Partition] == e {
			delete(m.epochs, e.Partition)
		}
		r.forgetLots(e)
	}
	r.nudge()
}

// lose is discard for what is lost: nothing is committed, and the core is told.
func (r *receiver) lose(m *member, es []*epoch, sources []*driver.Source, why error) {
	r.discard(m, es)
	if lost := r.o.Events.Lost; lost != nil && len(sources) > 0 {
		lost(sources, why)
	}
}

// note keeps an error of what nobody waits for, for the next Receive to tell.
func (r *receiver) note(err error) {
	r.mu.Lock()
	r.trouble = err
	r.nudge()
	r.mu.Unlock()
}

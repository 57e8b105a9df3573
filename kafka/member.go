package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/kafka/internal/assign"
	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// drainPatience is how long what is running may go on when a partition is taken away. The core cancels handlers when
// four fifths of it are over; the group waits for a minute at most.
const drainPatience = 10 * time.Second

// member is one client in the group. What it is assigned is in the ledger.
type member struct {
	g       *group
	client  *client.Client
	topics  map[string]kadm.TopicID // as they were when it joined
	share   int32                   // bytes of one partition in a fetch
	spare   records
	retired bool // replaced: what it is told counts no more. Guarded by ledger.mu
	// partitions is how many the channel's topic had when its tiers were last compared with it. Only join and watch use
	// it.
	partitions int
}

func newMember(g *group) *member { return &member{g: g, topics: map[string]kadm.TopicID{}} }

// options of a member. Where to start is said twice on purpose: a group that is new begins at the start of the log, and
// one whose offset the log no longer holds begins there again, because a duplicate beats a loss.
func (m *member) options(topics []string) []kgo.Opt {
	o, s := &m.g.sub.b.o, m.g.sub
	start := kgo.NewOffset().AtStart()
	opts := []kgo.Opt{
		kgo.ConsumerGroup(s.group), kgo.ConsumeTopics(topics...), kgo.DisableAutoCommit(),
		kgo.ConsumeStartOffset(start), kgo.ConsumeResetOffset(start), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.MetadataMaxAge(partitionsAge), kgo.FetchMaxWait(fetchWait), kgo.FetchMaxPartitionBytes(m.share),
		kgo.OnPartitionsAssigned(m.assigned), kgo.OnPartitionsRevoked(m.revoked), kgo.OnPartitionsLost(m.lost),
		kgo.OnOffsetsFetched(m.fetched),
	}
	switch {
	case s.tiersOnly:
		opts = append(opts, kgo.Balancers(kgo.CooperativeStickyBalancer()))
	case m.byBroker():
		// Assigned by ranges, so that a tier's partition goes to whom the channel's partition of its number goes to.
		opts = append(opts, kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()))
	default:
		opts = append(opts, kgo.Balancers(assign.Following(s.group)))
	}
	if m.g.sub.b.reuses {
		opts = append(opts, kgo.WithPools(&m.spare))
	}
	if o.SessionTimeout > 0 {
		opts = append(opts, kgo.SessionTimeout(o.SessionTimeout))
	}
	if id := m.instance(); id != nil {
		opts = append(opts, kgo.InstanceID(*id))
	}
	if s.o.Bytes > 0 { // half waits here to be admitted while the client has the other
		opts = append(opts, kgo.FetchMaxBytes(int32(min(max(s.o.Bytes/2, fetchLeast), fetchMost))))
	}
	return opts
}

// byBroker says that the group is one that the broker assigns (KIP-848).
func (m *member) byBroker() bool {
	return m.g.sub.set.GroupProtocol == GroupConsumer && !m.g.sub.tiersOnly
}

// instance is what a static member is called; nil: it is none.
func (m *member) instance() *string {
	id := m.g.sub.b.o.InstanceID
	if id == "" {
		return nil
	}
	id += "." + m.g.sub.group
	return &id
}

const (
	// fetchWait is how long a broker waits for records. A partition that is assigned, or let go on, meanwhile is not
	// asked for before that is over, so it is short.
	fetchWait = 500 * time.Millisecond
	// partitionsAge is how old the member's knowledge of its topics may be: so long after partitions were added to a
	// topic, or to a tier, the group is balanced again.
	partitionsAge = 10 * time.Second
	// fetchLeast and fetchMost bound what one broker sends at once; the largest is franz-go's own default.
	fetchLeast = 1 << 20
	fetchMost  = 50 << 20
)

// assigned begins epochs. Records come only after fetched has returned.
func (m *member) assigned(_ context.Context, _ *kgo.Client, ps map[string][]int32) {
	m.g.ledger.assign(m, ps)
}

// fetched takes in what the group has committed, and what became of records after the last commit of an earlier life.
func (m *member) fetched(ctx context.Context, _ *kgo.Client, resp *kmsg.OffsetFetchResponse) error {
	var begun []*epoch
	for _, g := range resp.Groups {
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode != 0 {
					continue
				}
				metadata := ""
				if p.Metadata != nil {
					metadata = *p.Metadata
				}
				if e := m.g.ledger.start(m, wire.Partition{Topic: m.name(t.Topic, t.TopicID), N: p.Partition}, p.Offset,
					metadata); e != nil {
					begun = append(begun, e)
				}
			}
		}
	}
	m.g.recall(ctx, begun)
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
	es := m.leave(ps)
	if len(es) == 0 {
		m.awaitEnd(ctx)
		return
	}
	if revoked := m.g.sub.o.Events.Revoked; revoked != nil {
		drain, cancel := context.WithTimeout(ctx, drainPatience)
		revoked(drain, sourcesOf(es))
		cancel()
	}
	if err := m.g.committer.commitLast(ctx, m, es); err != nil {
		m.g.committer.note(err)
		m.g.ledger.keep(es)
	}
	m.g.ledger.discard(es)
}

var errMemberLost = errors.New("the group gave the partition to another member")

// lost forgets partitions that may be another member's already. After a failure of the broker they come back as a rule,
// and what was finished is known then.
func (m *member) lost(_ context.Context, _ *kgo.Client, ps map[string][]int32) {
	es := m.leave(ps)
	m.g.ledger.keep(es)
	m.g.lose(es, errMemberLost)
}

// leave stops the admission of partitions. A receiver that is being closed makes its last commit itself.
func (m *member) leave(ps map[string][]int32) []*epoch {
	if m.g.closed.Load() {
		return nil
	}
	return m.g.ledger.leave(m, ps)
}

// awaitEnd lets a receiver that is being closed make its last commit before its partitions are another member's.
func (m *member) awaitEnd(ctx context.Context) {
	if !m.g.closed.Load() {
		return
	}
	select {
	case <-m.g.ended:
	case <-ctx.Done():
	}
}

// close ends the member's client and leaves the group. A client that is in the midst of joining cannot leave before all
// have joined; if the process ended meanwhile, the group would wait for this member too, a session long. So what its
// client could not say is said for it.
func (m *member) close(ctx context.Context) error {
	id, _ := m.client.GroupMetadata()
	err := m.client.Close(ctx)
	if !errors.Is(err, client.ErrCut) || id == "" || m.instance() != nil || m.byBroker() {
		return err
	}
	return leaveFor(context.WithoutCancel(ctx), m.g.sub.b.client, m.g.sub.group, id)
}

// leaveFor tells a group of the classic kind that a member is gone.
func leaveFor(ctx context.Context, ask kmsg.Requestor, group, id string) error {
	ctx, cancel := context.WithTimeout(ctx, client.CutPatience)
	defer cancel()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = group, id
	one := kmsg.NewLeaveGroupRequestMember()
	one.MemberID = id
	req.Members = append(req.Members, one)
	resp, err := req.RequestWith(ctx, ask)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err == nil && len(resp.Members) > 0 {
		err = kerr.ErrorForCode(resp.Members[0].ErrorCode)
	}
	if err != nil && !errors.Is(err, kerr.UnknownMemberID) {
		return fmt.Errorf("leave group %s, which waits for this member until its session is over: %w", group,
			failure.Classify(err))
	}
	return nil
}

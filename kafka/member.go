package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/kafka/internal/assign"
	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/records"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// drainPatience is how long running handlers may continue when a partition is revoked. The core cancels them after four
// fifths of it. The group waits for a member for a minute at most.
const drainPatience = 10 * time.Second

// member is one client in the group. Its assigned partitions are epochs in the ledger.
type member struct {
	*records.Member
	g      *group
	client *client.Client
	dialed chan struct{} // closed when client is set: the client's callbacks may be called before
	share  int32         // how many bytes of one partition a fetch brings
	spare  recordPool
	// partitions is the number of the channel topic's partitions when its tiers were last compared with it. Only join
	// and watch use it.
	partitions int
}

// options are the client's options. Both start options are set on purpose: a new group begins at the start of the log,
// and a group whose offset was deleted from the log begins at its start again, because a duplicate beats a loss.
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
		// The range balancer gives a partition of a tier to the member that has the channel's partition of that number.
		opts = append(opts, kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()))
	default:
		offers := []kgo.GroupBalancer{kgo.CooperativeStickyBalancer()} // the group uses the first that all members have
		if theirs, ok := assignors[s.set.Assignor]; ok {
			offers = append(offers, theirs())
		}
		for i, assignor := range offers {
			offers[i] = assign.Following(assignor, s.b.channels.Names, s.group, m.g.ledger.Epochs.Kept)
		}
		opts = append(opts, kgo.Balancers(offers...))
	}
	if m.g.ledger.Rules.MarksEnds {
		opts = append(opts, kgo.KeepControlRecords())
	}
	if m.g.sub.b.reuses {
		opts = append(opts, kgo.WithPools(&m.spare))
	}
	if o.SessionTimeout > 0 {
		opts = append(opts, kgo.SessionTimeout(o.SessionTimeout))
	}
	if m.Instance != nil {
		opts = append(opts, kgo.InstanceID(*m.Instance))
	}
	if s.o.Bytes > 0 { // half of the bytes is for admitted records, the other half for the client's buffer
		opts = append(opts, kgo.FetchMaxBytes(int32(min(max(s.o.Bytes/2, fetchLeast), fetchMost))))
	}
	return opts
}

// byBroker reports whether the broker assigns the partitions of the group (KIP-848).
func (m *member) byBroker() bool {
	return m.g.sub.set.GroupProtocol == GroupConsumer && !m.g.sub.tiersOnly
}

// instance is the id of a static member; nil: the member is dynamic. Several channels may be mapped to one group.
func (s *subscription) instance() *string {
	id := s.b.o.InstanceID
	switch {
	case id == "":
		return nil
	case s.tiersOnly:
		id += "." + s.group
	default:
		id += "." + s.b.channels.Member(s.from)
	}
	return &id
}

const (
	// fetchWait is how long a broker waits for records. A partition that is assigned or resumed meanwhile joins only
	// the next fetch, so the wait is short.
	fetchWait = 500 * time.Millisecond
	// partitionsAge bounds the age of the member's metadata. After this time at the latest, the group is rebalanced if
	// partitions were added to a topic or a tier.
	partitionsAge = 10 * time.Second
	// fetchLeast and fetchMost bound how many bytes a broker sends at once. fetchMost is franz-go's own default.
	fetchLeast = 1 << 20
	fetchMost  = 50 << 20
)

// assigned begins epochs. The client delivers their records only after fetched has returned. It does not forget which
// partitions were paused when they were taken away, and would never fetch them again.
func (m *member) assigned(_ context.Context, client *kgo.Client, ps map[string][]int32) {
	m.g.ledger.Epochs.Assign(m.Member, ps)
	client.ResumeFetchPartitions(ps)
}

// fetched starts the epochs at the group's committed offsets, looks up which records have a dead letter although no
// commit passes them, and commits the start of partitions without a commit.
func (m *member) fetched(ctx context.Context, _ *kgo.Client, resp *kmsg.OffsetFetchResponse) error {
	var begun []*records.Epoch
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
				at := wire.Partition{Topic: m.Name(t.Topic, t.TopicID), N: p.Partition}
				if e := m.g.ledger.Epochs.Start(m.Member, at, p.Offset, metadata); e != nil {
					begun = append(begun, e)
				}
			}
		}
	}
	m.g.recall(ctx, begun)
	select {
	case <-m.dialed:
		m.g.commitStarts(ctx, m, begun)
	case <-ctx.Done():
	}
	return nil
}

// revoked drains the partitions that go to another member, and commits their finished records. If the receiver is being
// closed, close makes the last commit instead.
func (m *member) revoked(ctx context.Context, _ *kgo.Client, ps map[string][]int32) {
	if m.g.closed.Load() {
		m.awaitEnd(ctx, len(ps) > 0)
		return
	}
	es := m.g.ledger.Epochs.Leave(m.Member, ps)
	if len(es) == 0 {
		return
	}
	if revoked := m.g.sub.o.Events.Revoked; revoked != nil {
		drain, cancel := context.WithTimeout(ctx, drainPatience)
		revoked(drain, sourcesOf(es))
		cancel()
	}
	if err := m.g.committer.commitLast(ctx, m, es); err != nil {
		m.g.committer.note(err)
		m.g.ledger.Epochs.Keep(es)
	}
	m.g.ledger.Epochs.Discard(es)
}

var errMemberLost = errors.New("the group gave the partition to another member")

// lost forgets partitions that may already belong to another member. After a failure of the broker they usually return
// to this one: the ledger keeps what was finished for that case, also for the last commit of a receiver that is being
// closed.
func (m *member) lost(_ context.Context, _ *kgo.Client, ps map[string][]int32) {
	es := m.g.ledger.Epochs.Leave(m.Member, ps)
	m.g.ledger.Epochs.Keep(es)
	m.g.lose(es, errMemberLost)
}

// rejoinPatience is how long a member that is being closed does not join the next generation, which most last commits
// do not need.
const rejoinPatience = time.Second

// awaitEnd waits until a receiver that is being closed has made its last commit. Only then may its partitions go to
// another member. If none of them goes, the wait is short, because a group that a broker has restored takes commits
// only of members that have joined again.
func (m *member) awaitEnd(ctx context.Context, gives bool) {
	if !gives {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, rejoinPatience)
		defer cancel()
	}
	select {
	case <-m.g.ended:
	case <-ctx.Done():
	}
}

// close closes the member's client and leaves the group. A client that is joining cannot leave before all members have
// joined, and the group would wait for a member that is gone until its session ends. So another client leaves the group
// for it. A member that the group has not yet given an id has nothing to leave.
func (m *member) close(ctx context.Context) error {
	before, _ := m.client.GroupMetadata()
	err := m.client.Close(ctx)
	if !errors.Is(err, client.ErrCut) || m.Instance != nil || m.byBroker() {
		return err
	}
	after, _ := m.client.GroupMetadata() // the id may have come meanwhile
	id := cmp.Or(before, after)
	if id == "" {
		return nil
	}
	return leaveFor(context.WithoutCancel(ctx), m.g.sub.b.cluster.Client, m.g.sub.group, id)
}

// leaveFor reports to a group of the classic kind that a member has left.
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
		return fmt.Errorf("leave group %s, which now waits for this member until its session times out: %w", group,
			failure.Classify(err))
	}
	return nil
}

const (
	// fetchTogether is how many bytes a fetch of all partitions brings: several windows of small records.
	fetchTogether = 4 << 20
	// largestShare is franz-go's own default. A fetch exceeds its share if a single record is larger.
	smallestShare = 32 << 10
	largestShare  = 1 << 20
)

// fetchShare is how many bytes of one partition a fetch brings. Records of two fetches are in memory before they are
// handled: of the one that is being admitted, and of the next.
func fetchShare(partitions int) int32 {
	return int32(min(max(fetchTogether/max(partitions, 1), smallestShare), largestShare))
}

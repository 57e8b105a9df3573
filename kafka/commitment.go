package kafka

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// joinPatience is how long a commit waits for a join in progress; most joins are over by then.
const joinPatience = 100 * time.Millisecond

// commitment is one commit of several partitions.
type commitment struct {
	member     string // the committing member's id, read before the epochs: a later member may not own these partitions
	generation int32
	offsets    map[string]map[int32]kgo.EpochOffset
	parts      map[wire.Partition]partitionCommit
	resp       *kmsg.OffsetCommitResponse
	err        error
	names      func(topic string, id kadm.TopicID) string
}

// newCommitment is an empty commit of a member.
func newCommitment(m *member) *commitment {
	c := &commitment{offsets: map[string]map[int32]kgo.EpochOffset{}, parts: map[wire.Partition]partitionCommit{}}
	c.member, c.generation = m.client.GroupMetadata()
	return c
}

type partitionCommit struct {
	e        *epoch
	c        offsets.Commit
	finished int // number of finished messages
}

// send makes the request, with the metadata. While a group of the classic kind joins, franz-go delays commits until all
// members have joined: possibly for the session timeout of a crashed member. A second crash meanwhile would undo all
// that was finished in that time. Brokers accept commits of the generation that ends, so after joinPatience the request
// bypasses franz-go's wait.
func (c *commitment) send(ctx context.Context, m *member) {
	c.names = m.name
	var begun atomic.Bool // either franz-go's request or the bypass has begun
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	if m.bypasses(c) {
		late := time.AfterFunc(joinPatience, func() {
			if begun.CompareAndSwap(false, true) {
				cancel()
			}
		})
		defer late.Stop()
	}
	past := false
	waiting = kgo.PreCommitFnContext(waiting, func(req *kmsg.OffsetCommitRequest) error {
		if past = !begun.CompareAndSwap(false, true); past {
			return errJoining
		}
		c.write(req)
		return nil
	})
	m.client.CommitOffsetsSync(waiting, c.offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest,
		resp *kmsg.OffsetCommitResponse, err error,
	) {
		c.resp, c.err = resp, err
	})
	if past || failure.Over(waiting) && !failure.Over(ctx) {
		c.resp, c.err = c.request(m).RequestWith(ctx, m.client)
	}
}

var errJoining = errors.New("the group is joining")

// bypasses reports whether a commit can bypass franz-go. It cannot if a topic has no id: only franz-go can negotiate
// the older version of the request.
func (m *member) bypasses(c *commitment) bool {
	if m.byBroker() {
		return false
	}
	for topic := range c.offsets {
		if m.topics[topic] == (kadm.TopicID{}) {
			return false
		}
	}
	return true
}

// request is the commit's request as franz-go would make it.
func (c *commitment) request(m *member) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation, req.InstanceID = m.g.sub.group, c.member, c.generation, m.instance()
	for topic, ps := range c.offsets {
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic, t.TopicID = topic, m.topics[topic]
		for n, o := range ps {
			p := kmsg.NewOffsetCommitRequestTopicPartition()
			p.Partition, p.Offset, p.LeaderEpoch = n, o.Offset, o.Epoch
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	c.write(req)
	return req
}

// write writes the metadata into the request.
func (c *commitment) write(req *kmsg.OffsetCommitRequest) {
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			if x, ok := c.parts[wire.Partition{Topic: c.names(t.Topic, t.TopicID), N: t.Partitions[j].Partition}]; ok {
				t.Partitions[j].Metadata = &x.c.Metadata
			}
		}
	}
}

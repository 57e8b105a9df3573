package records

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// Commitment is one commit of several partitions.
type Commitment struct {
	m          *Member
	MemberID   string // the committing member's id, read before the epochs: a later member may not own these partitions
	Generation int32
	Offsets    map[string]map[int32]kgo.EpochOffset
	Parts      map[wire.Partition]Part
}

// NewCommitment is an empty commit of a member, with its id and its generation of the group.
func NewCommitment(m *Member, member string, generation int32) *Commitment {
	return &Commitment{
		m: m, MemberID: member, Generation: generation,
		Offsets: map[string]map[int32]kgo.EpochOffset{}, Parts: map[wire.Partition]Part{},
	}
}

// Part is what is committed of one partition.
type Part struct {
	Epoch    *Epoch
	Commit   offsets.Commit
	finished int // number of finished messages
}

// Part is what is committed of a partition. Newer brokers send only the id of its topic.
func (c *Commitment) Part(topic string, id kadm.TopicID, n int32) (Part, bool) {
	x, ok := c.Parts[wire.Partition{Topic: c.m.Name(topic, id), N: n}]
	return x, ok
}

// KnowsTopics reports whether all topics have ids. If not, only franz-go can negotiate the older version of a request.
func (c *Commitment) KnowsTopics() bool {
	for topic := range c.Offsets {
		if c.m.Topics[topic] == (kadm.TopicID{}) {
			return false
		}
	}
	return true
}

// Request is the commit's request as franz-go would make it.
func (c *Commitment) Request() *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation, req.InstanceID = c.m.Group, c.MemberID, c.Generation, c.m.Instance
	for topic, ps := range c.Offsets {
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic, t.TopicID = topic, c.m.Topics[topic]
		for n, o := range ps {
			p := kmsg.NewOffsetCommitRequestTopicPartition()
			p.Partition, p.Offset, p.LeaderEpoch = n, o.Offset, o.Epoch
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	c.Write(req)
	return req
}

// Write writes the metadata into a request.
func (c *Commitment) Write(req *kmsg.OffsetCommitRequest) {
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			if x, ok := c.Part(t.Topic, t.TopicID, t.Partitions[j].Partition); ok {
				t.Partitions[j].Metadata = &x.Commit.Metadata
			}
		}
	}
}

// InTransaction is the commit's request as a part of a transaction.
func (c *Commitment) InTransaction(txn string, producer int64, epoch int16) *kmsg.TxnOffsetCommitRequest {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = txn, producer, epoch
	req.Group, req.MemberID, req.Generation, req.InstanceID = c.m.Group, c.MemberID, c.Generation, c.m.Instance
	for topic, ps := range c.Offsets {
		t := kmsg.NewTxnOffsetCommitRequestTopic()
		t.Topic, t.TopicID = topic, c.m.Topics[topic]
		for n, o := range ps {
			p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
			x := c.Parts[wire.Partition{Topic: topic, N: n}]
			p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = n, o.Offset, o.Epoch, &x.Commit.Metadata
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	return req
}

// Question asks for the group's offsets of the commit's partitions, when no transaction is pending on them, as a later
// member knows their topics.
func (c *Commitment) Question(m *Member) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = true
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = m.Group
	for topic, ps := range c.Offsets {
		t := kmsg.NewOffsetFetchRequestGroupTopic()
		t.Topic, t.TopicID = topic, m.Topics[topic]
		t.Partitions = slices.Collect(maps.Keys(ps))
		g.Topics = append(g.Topics, t)
	}
	req.Groups = append(req.Groups, g)
	c.m = m
	return req
}

// isStored reports whether the broker has this commit. Partitions that were lost since then do not count: their next
// owner may have committed the same, and their results are dropped in any case. The caller holds Ledger.mu.
func (c *Commitment) isStored(resp *kmsg.OffsetFetchResponse) (stored bool, err error) {
	for _, g := range resp.Groups {
		if err := kerr.ErrorForCode(g.ErrorCode); err != nil {
			return false, err
		}
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return false, err
				}
				if x, ok := c.Part(t.Topic, t.TopicID, p.Partition); ok && x.Epoch.state != epochGone {
					stored = stored || p.Metadata != nil && x.Commit.Offset == p.Offset &&
						x.Commit.Metadata == *p.Metadata
				}
			}
		}
	}
	return stored, nil
}

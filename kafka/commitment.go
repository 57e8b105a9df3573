package kafka

import (
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// commitment is one commit of several partitions.
type commitment struct {
	m          *membership
	member     string // the committing member's id, read before the epochs: a later member may not own these partitions
	generation int32
	offsets    map[string]map[int32]kgo.EpochOffset
	parts      map[wire.Partition]partitionCommit
}

// newCommitment is an empty commit of a member, with its id and its generation of the group.
func newCommitment(m *membership, member string, generation int32) *commitment {
	return &commitment{
		m: m, member: member, generation: generation,
		offsets: map[string]map[int32]kgo.EpochOffset{}, parts: map[wire.Partition]partitionCommit{},
	}
}

type partitionCommit struct {
	e        *epoch
	c        offsets.Commit
	finished int // number of finished messages
}

// part is what is committed of a partition. Newer brokers send only the id of its topic.
func (c *commitment) part(topic string, id kadm.TopicID, n int32) (partitionCommit, bool) {
	x, ok := c.parts[wire.Partition{Topic: c.m.name(topic, id), N: n}]
	return x, ok
}

// knowsTopics reports whether all topics have ids. If not, only franz-go can negotiate the older version of a request.
func (c *commitment) knowsTopics() bool {
	for topic := range c.offsets {
		if c.m.topics[topic] == (kadm.TopicID{}) {
			return false
		}
	}
	return true
}

// request is the commit's request as franz-go would make it.
func (c *commitment) request() *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation, req.InstanceID = c.m.group, c.member, c.generation, c.m.instance
	for topic, ps := range c.offsets {
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic, t.TopicID = topic, c.m.topics[topic]
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

// write writes the metadata into a request.
func (c *commitment) write(req *kmsg.OffsetCommitRequest) {
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			if x, ok := c.part(t.Topic, t.TopicID, t.Partitions[j].Partition); ok {
				t.Partitions[j].Metadata = &x.c.Metadata
			}
		}
	}
}

// inTransaction is the commit's request as a part of a transaction.
func (c *commitment) inTransaction(txn string, producer int64, epoch int16) *kmsg.TxnOffsetCommitRequest {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = txn, producer, epoch
	req.Group, req.MemberID, req.Generation, req.InstanceID = c.m.group, c.member, c.generation, c.m.instance
	for topic, ps := range c.offsets {
		t := kmsg.NewTxnOffsetCommitRequestTopic()
		t.Topic, t.TopicID = topic, c.m.topics[topic]
		for n, o := range ps {
			p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
			x := c.parts[wire.Partition{Topic: topic, N: n}]
			p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = n, o.Offset, o.Epoch, &x.c.Metadata
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	return req
}

// question asks for the group's offsets of the commit's partitions, when no transaction is pending on them, as a later
// member knows their topics.
func (c *commitment) question(m *membership) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = true
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = m.group
	for topic, ps := range c.offsets {
		t := kmsg.NewOffsetFetchRequestGroupTopic()
		t.Topic, t.TopicID = topic, m.topics[topic]
		for n := range ps {
			t.Partitions = append(t.Partitions, n)
		}
		g.Topics = append(g.Topics, t)
	}
	req.Groups = append(req.Groups, g)
	c.m = m
	return req
}

// isStored reports whether the broker has this commit. Partitions that were lost since then do not count: their next
// owner may have committed the same, and their results are dropped in any case. The caller holds ledger.mu.
func (c *commitment) isStored(resp *kmsg.OffsetFetchResponse) (stored bool, err error) {
	for _, g := range resp.Groups {
		if err := kerr.ErrorForCode(g.ErrorCode); err != nil {
			return false, err
		}
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return false, err
				}
				x, ok := c.part(t.Topic, t.TopicID, p.Partition)
				ok = ok && x.e.state != epochGone
				stored = stored || ok && p.Metadata != nil && x.c.Offset == p.Offset && x.c.Metadata == *p.Metadata
			}
		}
	}
	return stored, nil
}

package kafka

import (
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// following is the cooperative sticky assignment of one topic; partitions of all other topics (its tiers) go to whom the
// topic's partition of their number goes to. So one member sees all that waits of a key.
func following(topic string) kgo.GroupBalancer {
	return &followingBalancer{GroupBalancer: kgo.CooperativeStickyBalancer(), topic: topic}
}

var errBalancer = errors.New("kafka: the sticky balancer is not what it was")

type followingBalancer struct {
	kgo.GroupBalancer
	topic string
}

// MemberBalancer takes this balancer's Balance instead of the one it stands on.
func (f *followingBalancer) MemberBalancer(members []kmsg.JoinGroupResponseMember) (kgo.GroupMemberBalancer, map[string]struct{}, error) {
	b, err := kgo.NewConsumerBalancer(f, members)
	return b, b.MemberTopics(), err
}

// Balance assigns the topic, then lets the tiers follow. A partition that first has to be revoked elsewhere is assigned to
// nobody in this round, and neither are those that follow it.
func (f *followingBalancer) Balance(b *kgo.ConsumerBalancer, topics map[string]int32) kgo.IntoSyncAssignment {
	inner, ok := f.GroupBalancer.(kgo.ConsumerBalancerBalance)
	count, known := topics[f.topic]
	if !ok || !known || len(topics) == 1 {
		if !ok {
			b.SetError(errBalancer)
			return nil
		}
		return inner.Balance(b, topics)
	}
	into := inner.Balance(b, map[string]int32{f.topic: count})
	plan, ok := into.(*kgo.BalancePlan)
	if !ok {
		b.SetError(errBalancer)
		return nil
	}
	byMember := plan.AsMemberIDMap()
	b.EachMember(func(member *kmsg.JoinGroupResponseMember, meta *kmsg.ConsumerMemberMetadata) {
		for topic, partitions := range topics {
			if topic == f.topic || !interested(meta, topic) {
				continue
			}
			for _, n := range byMember[member.MemberID][f.topic] {
				if n < partitions {
					plan.AddPartition(member, topic, n)
				}
			}
		}
	})
	return plan
}

func interested(meta *kmsg.ConsumerMemberMetadata, topic string) bool {
	return slices.Contains(meta.Topics, topic)
}

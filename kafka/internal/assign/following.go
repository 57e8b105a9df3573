package assign

import (
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/kafka/internal/layout"
)

// Following is the cooperative sticky assignment of a channel's topic; partitions of its tiers go to whom the topic's
// partition of their number goes to. So one member sees all that waits of a key.
//
// The leader assigns for all of the group, and not all may be of one channel: channel y in namespace x and channel x.y
// without one have groups of the same name. So what follows what is read from the names.
func Following(group string) kgo.GroupBalancer {
	return &followingBalancer{GroupBalancer: kgo.CooperativeStickyBalancer(), group: group}
}

var errBalancer = errors.New("kafka: the sticky balancer is not what it was")

type followingBalancer struct {
	kgo.GroupBalancer
	group string
}

// MemberBalancer takes this balancer's Balance instead of the one it stands on.
func (f *followingBalancer) MemberBalancer(members []kmsg.JoinGroupResponseMember) (kgo.GroupMemberBalancer,
	map[string]struct{}, error,
) {
	b, err := kgo.NewConsumerBalancer(f, members)
	return b, b.MemberTopics(), err
}

// Balance assigns what follows nothing, then lets the tiers follow. A partition that first has to be revoked elsewhere
// is assigned to nobody in this round, and neither are those that follow it.
func (f *followingBalancer) Balance(b *kgo.ConsumerBalancer, topics map[string]int32) kgo.IntoSyncAssignment {
	inner, ok := f.GroupBalancer.(kgo.ConsumerBalancerBalance)
	if !ok {
		b.SetError(errBalancer)
		return nil
	}
	first, home := map[string]int32{}, map[string]string{}
	for topic, partitions := range topics {
		of, tier := layout.Split(topic, f.group)
		if _, known := topics[of]; tier && known {
			home[topic] = of
		} else {
			first[topic] = partitions
		}
	}
	into := inner.Balance(b, first)
	plan, ok := into.(*kgo.BalancePlan)
	if len(home) == 0 || !ok {
		if !ok {
			b.SetError(errBalancer)
		}
		return into
	}
	byMember := plan.AsMemberIDMap()
	b.EachMember(func(member *kmsg.JoinGroupResponseMember, meta *kmsg.ConsumerMemberMetadata) {
		for topic, of := range home {
			if !interested(meta, topic) {
				continue
			}
			for _, n := range byMember[member.MemberID][of] {
				if n < topics[topic] {
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

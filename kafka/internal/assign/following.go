package assign

import (
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/kafka/internal/layout"
)

// Following is an assignor of franz-go with one addition: a partition of a tier goes to the member that has the
// channel's own partition of the same number. So one member has all waiting records of a key. If that member does not
// read the tier, because it is a program without Godwit, another one gets the tier's partition.
//
// The leader assigns the topics of the whole group, which may belong to several channels: channel y in namespace x, and
// channel x.y without a namespace, have groups of the same name, and several channels may be mapped to one group. So
// the names tell which topic is a tier of which.
//
// had returns the partitions of a member that has lost all of them, and would like to have them again, because it knows
// what is finished in them. Only a sticky assignor respects that wish.
func Following(
	assignor kgo.GroupBalancer, names layout.Names, group string, had func() map[string][]int32,
) kgo.GroupBalancer {
	return &followingBalancer{GroupBalancer: assignor, names: names, group: group, had: had}
}

var errBalancer = errors.New("kafka: franz-go's sticky balancer has other types than this version of Godwit expects: " +
	"use the version of franz-go in Godwit's go.mod")

type followingBalancer struct {
	kgo.GroupBalancer
	names layout.Names
	group string
	had   func() map[string][]int32
}

// JoinGroupMetadata names the partitions that the member had, if it has none now. They are in the data of the sticky
// assignment, where the leader looks for earlier owners, and not among the partitions that the member owns: nobody
// waits until it gives them up, and a member that owns one of them by now keeps it.
func (f *followingBalancer) JoinGroupMetadata(
	interests []string, current map[string][]int32, generation int32,
) []byte {
	own := f.GroupBalancer.JoinGroupMetadata(interests, current, generation)
	had := f.had()
	if len(current) > 0 || len(had) == 0 || !f.IsCooperative() {
		return own
	}
	// Without a generation, the leader reads the data.
	var meta kmsg.ConsumerMemberMetadata
	if err := meta.ReadFrom(f.GroupBalancer.JoinGroupMetadata(interests, had, -1)); err != nil {
		return own
	}
	meta.OwnedPartitions = nil
	return meta.AppendTo(nil)
}

// MemberBalancer makes the group call Balance of this balancer instead of the embedded one's.
func (f *followingBalancer) MemberBalancer(members []kmsg.JoinGroupResponseMember) (kgo.GroupMemberBalancer,
	map[string]struct{}, error,
) {
	b, err := kgo.NewConsumerBalancer(f, members)
	return b, b.MemberTopics(), err
}

// Balance assigns the partitions of all topics that are not tiers, and then those of the tiers. A partition that
// another member has to give up first is assigned in the next round, and so are the tiers' partitions of its number.
func (f *followingBalancer) Balance(b *kgo.ConsumerBalancer, topics map[string]int32) kgo.IntoSyncAssignment {
	inner, ok := f.GroupBalancer.(kgo.ConsumerBalancerBalance)
	if !ok {
		b.SetError(errBalancer)
		return nil
	}
	first, home := map[string]int32{}, map[string]string{}
	for topic, partitions := range topics {
		of, tier := f.names.Origin(topic, f.group)
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
	f.follow(b, plan, topics, home)
	return plan
}

// follow adds the partitions of tiers to a plan.
func (f *followingBalancer) follow(
	b *kgo.ConsumerBalancer, plan *kgo.BalancePlan, topics map[string]int32, home map[string]string,
) {
	byMember := plan.AsMemberIDMap()
	alone := map[string][]int32{} // the partitions whose owner of the original does not read the tier
	b.EachMember(func(member *kmsg.JoinGroupResponseMember, meta *kmsg.ConsumerMemberMetadata) {
		for topic, of := range home {
			for _, n := range byMember[member.MemberID][of] {
				switch {
				case n >= topics[topic]:
				case slices.Contains(meta.Topics, topic):
					plan.AddPartition(member, topic, n)
				default:
					alone[topic] = append(alone[topic], n)
				}
			}
		}
	})
	if len(alone) == 0 {
		return
	}
	for topic, ns := range alone {
		var readers []*kmsg.JoinGroupResponseMember
		b.EachMember(func(member *kmsg.JoinGroupResponseMember, meta *kmsg.ConsumerMemberMetadata) {
			if slices.Contains(meta.Topics, topic) {
				readers = append(readers, member)
			}
		})
		for _, n := range ns {
			plan.AddPartition(readers[int(n)%len(readers)], topic, n)
		}
	}
	if f.IsCooperative() {
		plan.AdjustCooperative(b)
	}
}

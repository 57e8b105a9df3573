package assign

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/layout"
)

// assigned returns the partitions that a group with this number of members assigns, as "topic-partition", with the
// member.
func assigned(t *testing.T, members int, topics map[string]int32) map[string]string {
	t.Helper()
	return assignedBy(t, sticky(nothing), members, topics)
}

// sticky is the balancer of a group orders of Godwit's members.
func sticky(had func() map[string][]int32) kgo.GroupBalancer {
	return Following(kgo.CooperativeStickyBalancer(), layout.Names{}, "orders", had)
}

// assignedBy is assigned with another balancer.
func assignedBy(t *testing.T, b kgo.GroupBalancer, members int, topics map[string]int32) map[string]string {
	t.Helper()
	var names []string
	for name := range topics {
		names = append(names, name)
	}
	var joined []kmsg.JoinGroupResponseMember
	for i := range members {
		m := kmsg.NewJoinGroupResponseMember()
		m.MemberID = fmt.Sprintf("m%d", i)
		m.ProtocolMetadata = b.JoinGroupMetadata(names, nil, 1)
		joined = append(joined, m)
	}
	return balanced(t, b, joined, topics)
}

// balanced is what a leader assigns to members.
func balanced(
	t *testing.T, b kgo.GroupBalancer, joined []kmsg.JoinGroupResponseMember, topics map[string]int32,
) map[string]string {
	t.Helper()
	mb, _, err := b.MemberBalancer(joined)
	if err != nil {
		t.Fatal(err)
	}
	into, err := mb.(kgo.GroupMemberBalancerOrError).BalanceOrError(topics)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for member, own := range into.(*kgo.BalancePlan).AsMemberIDMap() {
		for topic, ns := range own {
			for _, n := range ns {
				at := fmt.Sprintf("%s-%d", topic, n)
				if other, ok := got[at]; ok {
					t.Errorf("%s is assigned to %s and %s", at, other, member)
				}
				got[at] = member
			}
		}
	}
	return got
}

// Each partition of a tier goes to the owner of the original partition, and each partition to one member.
func TestTiersFollowTheirPartition(t *testing.T) {
	got := assigned(t, 3, map[string]int32{"orders": 5, "orders.orders.retry.5s": 5, "orders.orders.retry.1m": 5})
	if len(got) != 15 {
		t.Errorf("%d partitions are assigned, want 15", len(got))
	}
	for n := range 5 {
		for _, tier := range []string{"orders.orders.retry.5s", "orders.orders.retry.1m"} {
			owner, follower := got[fmt.Sprintf("orders-%d", n)], got[fmt.Sprintf("%s-%d", tier, n)]
			if owner != follower {
				t.Errorf("partition %d belongs to %s, and that of %s to %s", n, owner, tier, follower)
			}
		}
	}
}

// The tiers of mapped channels follow the topics that these are mapped to, also if two channels have one group.
func TestTiersOfMappedChannels(t *testing.T) {
	names := layout.Names{Mapping: layout.NewMapping("", map[driver.Channel]layout.Place{
		{Queue: "orders"}: {Topic: "Shop.Orders", Group: "billing"}, {Queue: "invoices"}: {Group: "billing"},
	})}
	got := assignedBy(t, Following(kgo.CooperativeStickyBalancer(), names, "billing", nothing), 3, map[string]int32{
		"Shop.Orders": 5, "orders.orders.retry.5s": 5, "invoices": 4, "invoices.invoices.retry.5s": 4,
	})
	for tier, of := range map[string]string{
		"orders.orders.retry.5s": "Shop.Orders", "invoices.invoices.retry.5s": "invoices",
	} {
		for n := range 4 {
			owner, follower := got[fmt.Sprintf("%s-%d", of, n)], got[fmt.Sprintf("%s-%d", tier, n)]
			if owner != follower || owner == "" {
				t.Errorf("partition %d of %s belongs to %s, and that of %s to %s", n, of, owner, tier, follower)
			}
		}
	}
}

// A topic that is not a tier of a topic of this group is assigned by itself, and so is a tier whose original topic the
// group does not read.
func TestOtherTopicsFollowNothing(t *testing.T) {
	got := assigned(t, 1, map[string]int32{"orders": 1, "mails.mails.retry.5s": 2, "bills.orders.retry.5s": 1})
	want := map[string]string{
		"orders-0": "m0", "mails.mails.retry.5s-0": "m0", "mails.mails.retry.5s-1": "m0",
		"bills.orders.retry.5s-0": "m0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// If a tier has another number of partitions than its original topic, only the common numbers are assigned.
func TestTiersWithAnotherNumberOfPartitions(t *testing.T) {
	for _, topics := range []map[string]int32{
		{"orders": 1, "orders.orders.retry.5s": 2}, {"orders": 2, "orders.orders.retry.5s": 1},
	} {
		got := assigned(t, 1, topics)
		delete(got, "orders-1")
		if diff := cmp.Diff(map[string]string{"orders-0": "m0", "orders.orders.retry.5s-0": "m0"}, got); diff != "" {
			t.Errorf("%v: %s", topics, diff)
		}
	}
}

// A partition of a tier goes to a member that reads the tier, also if a program without Godwit has the original
// partition. With a cooperative assignor, a member that has it by now gives it up first.
func TestTiersBesideOtherPrograms(t *testing.T) {
	const tier = "orders.orders.retry.5s"
	for _, assignor := range []kgo.GroupBalancer{
		kgo.CooperativeStickyBalancer(), kgo.RangeBalancer(), kgo.RoundRobinBalancer(),
	} {
		b := Following(assignor, layout.Names{}, "orders", nothing)
		join := func(id string, owns map[string][]int32, topics ...string) kmsg.JoinGroupResponseMember {
			m := kmsg.NewJoinGroupResponseMember()
			m.MemberID, m.ProtocolMetadata = id, b.JoinGroupMetadata(topics, owns, 1)
			return m
		}
		topics := map[string]int32{"orders": 6, tier: 6}
		got := balanced(t, b, []kmsg.JoinGroupResponseMember{
			join("m0", nil, "orders", tier), join("m1", nil, "orders", tier), join("theirs", nil, "orders"),
		}, topics)
		for n := range 6 {
			owner, follower := got[fmt.Sprintf("orders-%d", n)], got[fmt.Sprintf("%s-%d", tier, n)]
			if follower != owner && owner != "theirs" || follower == "theirs" || follower == "" {
				t.Errorf("%s: partition %d belongs to %s, and that of the tier to %s", assignor.ProtocolName(), n,
					owner, follower)
			}
		}
		got = balanced(t, b, []kmsg.JoinGroupResponseMember{
			join("m0", map[string][]int32{"orders": {0}, tier: {0, 1}}, "orders", tier),
			join("m1", map[string][]int32{"orders": {2}, tier: {2}}, "orders", tier),
			join("theirs", map[string][]int32{"orders": {1}}, "orders"),
		}, map[string]int32{"orders": 3, tier: 3})
		if owner := got[tier+"-1"]; assignor.IsCooperative() && owner != "" {
			t.Errorf("%s: partition 1 of the tier belongs to %s while m0 has it", assignor.ProtocolName(), owner)
		}
	}
}

// Members that have lost all partitions, because a broker has crashed for example, get those that they had, and without
// waiting for somebody to give them up. A member that owns one of them by now keeps it.
func TestLostPartitionsReturn(t *testing.T) {
	had := map[string]map[string][]int32{
		"m0": {"orders": {1, 3}}, "m1": {"orders": {0, 2, 4}}, "m2": {"orders": {3, 5}},
	}
	for range 10 { // without a wish, the assignment differs from time to time
		var joined []kmsg.JoinGroupResponseMember
		var b kgo.GroupBalancer
		for id, lost := range had {
			owns, generation := map[string][]int32(nil), int32(7)
			b = sticky(func() map[string][]int32 { return lost })
			if id == "m2" {
				owns, b = lost, sticky(nothing)
			}
			m := kmsg.NewJoinGroupResponseMember()
			m.MemberID, m.ProtocolMetadata = id, b.JoinGroupMetadata([]string{"orders"}, owns, generation)
			joined = append(joined, m)
		}
		want := map[string]string{
			"orders-0": "m1", "orders-1": "m0", "orders-2": "m1", "orders-3": "m2", "orders-5": "m2",
		}
		got := balanced(t, b, joined, map[string]int32{"orders": 6})
		delete(got, "orders-4") // m0 or m1
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
}

// nothing are the partitions of a member that has lost none.
func nothing() map[string][]int32 { return nil }

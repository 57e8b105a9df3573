package kafkalocal_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The answer about a new topic has a source for every config; Java's AdminClient throws otherwise.
func TestACreatedTopicsConfigsComeFromSomewhere(t *testing.T) {
	c := client(t, broker(t))
	topic := unique()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = []kmsg.CreateTopicsRequestTopic{
		newTopic(topic, 1, 1, "retention.ms", "60000"),
		newTopic(unique(), 1, 1),
	}
	resp, err := req.RequestWith(within(t), c)
	if err != nil {
		t.Fatal(err)
	}
	told := ""
	for _, rt := range resp.Topics {
		want(t, "the topic", kerr.ErrorForCode(rt.ErrorCode), nil)
		if rt.Configs == nil {
			t.Error("no list of configs")
		}
		for _, config := range rt.Configs {
			if config.Source < int8(kmsg.ConfigSourceDynamicTopicConfig) {
				t.Errorf("%s comes from %d", config.Name, config.Source)
			}
			if rt.Topic == topic && config.Name == "retention.ms" {
				told = *config.Value
			}
		}
	}
	if told != "60000" {
		t.Errorf("retention.ms is said to be %q", told)
	}
	resp, err = req.RequestWith(within(t), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, rt := range resp.Topics {
		if want := "Topic '" + rt.Topic + "' already exists."; rt.ErrorMessage == nil || *rt.ErrorMessage != want {
			t.Errorf("created again: %v, want %q", rt.ErrorMessage, want)
		}
	}
}

// Empty lists of partitions are not null; Java's AdminClient throws at a null.
func TestDescribedPartitionsHaveLists(t *testing.T) {
	c := client(t, broker(t))
	topic := unique()
	create(t, c, topic)
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	rt := kmsg.NewDescribeTopicPartitionsRequestTopic()
	rt.Topic = topic
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(within(t), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 2 {
		t.Fatalf("described: %+v", resp.Topics)
	}
	for _, p := range resp.Topics[0].Partitions {
		if p.EligibleLeaderReplicas == nil || p.LastKnownELR == nil {
			t.Errorf("partition %d: %v and %v, want empty lists", p.Partition, p.EligibleLeaderReplicas, p.LastKnownELR)
		}
	}
}

// A share fetch without records has an empty list, not null, which Java's share consumer cannot read.
func TestAShareFetchOfNothingHasRecords(t *testing.T) {
	c := client(t, broker(t))
	topic, group := unique(), unique()
	create(t, c, topic)
	member := "AAAAAAAAAAAAAAAAAAAAAQ"
	beat := kmsg.NewPtrShareGroupHeartbeatRequest()
	beat.GroupID, beat.MemberID, beat.SubscribedTopicNames = group, member, []string{topic}
	joined, err := beat.RequestWith(within(t), c)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "joining", kerr.ErrorForCode(joined.ErrorCode), nil)
	topics, err := kadm.NewClient(c).ListTopics(within(t), topic)
	if err != nil {
		t.Fatal(err)
	}
	req := kmsg.NewPtrShareFetchRequest()
	req.GroupID, req.MemberID, req.MaxBytes, req.MaxRecords = &group, &member, 1<<20, 10
	rt := kmsg.NewShareFetchRequestTopic()
	rt.TopicID = topics[topic].ID
	rt.Partitions = append(rt.Partitions, kmsg.NewShareFetchRequestTopicPartition())
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(within(t), c)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "fetching", kerr.ErrorForCode(resp.ErrorCode), nil)
	if os.Getenv(realBroker) == "" && len(resp.Topics) != 1 { // a real broker may omit an empty topic
		t.Fatalf("fetched: %+v", resp.Topics)
	}
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			if p.Records == nil {
				t.Errorf("null records, and code %d", p.ErrorCode)
			}
		}
	}
}

// Groups are found in any case of their type and state; Java's tools write Consumer.
func TestGroupsAreListedByKindAndState(t *testing.T) {
	reach := broker(t)
	c := client(t, reach)
	topic, group := unique(), unique()
	create(t, c, topic)
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: topic, Partition: 0, At: 1, LeaderEpoch: -1})
	if err := kadm.NewClient(c).CommitAllOffsets(within(t), group, offsets); err != nil {
		t.Fatal(err)
	}
	for _, filter := range []struct {
		kinds, states []string
		found         bool
	}{
		{nil, nil, true},
		{[]string{"Classic", "Consumer"}, nil, true},
		{nil, []string{"empty"}, true},
		{nil, []string{"EMPTY"}, true},
		{[]string{"CLASSIC"}, []string{"Empty"}, true},
		{[]string{"Consumer"}, nil, false},
		{nil, []string{"stable"}, false},
	} {
		req := kmsg.NewPtrListGroupsRequest()
		req.TypesFilter, req.StatesFilter = filter.kinds, filter.states
		resp, err := req.RequestWith(within(t), c)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, g := range resp.Groups {
			found = found || g.Group == group
		}
		if found != filter.found {
			t.Errorf("kinds %q, states %q: found is %v", filter.kinds, filter.states, found)
		}
	}
}

// A group of the newer protocol has the protocol type consumer, and its assignor has a name.
func TestANewerGroupSaysWhatItIs(t *testing.T) {
	c := client(t, broker(t))
	topic, group := unique(), unique()
	create(t, c, topic)
	beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	beat.Group, beat.MemberID, beat.RebalanceTimeoutMillis = group, "AAAAAAAAAAAAAAAAAAAAAQ", 10_000
	beat.SubscribedTopicNames, beat.Topics = []string{topic}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	joined, err := beat.RequestWith(within(t), c)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "joining", kerr.ErrorForCode(joined.ErrorCode), nil)
	listed, err := kadm.NewClient(c).ListGroups(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := listed[group].ProtocolType; got != "consumer" {
		t.Errorf("the group's protocol type is %q, want consumer", got)
	}
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{group}
	resp, err := req.RequestWith(within(t), c)
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.Groups[0].AssignorName; got != "uniform" {
		t.Errorf("the group's assignor is %q, want uniform", got)
	}
}

// A name that is not valid for a topic gives the error for an invalid name, not the one for an unknown topic, for which
// clients wait.
func TestMetadataOfAnInvalidName(t *testing.T) {
	c := client(t, broker(t))
	known, missing, invalid := unique(), unique(), "a b"
	create(t, c, known)
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range []string{known, missing, invalid} {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = new(name)
		req.Topics = append(req.Topics, rt)
	}
	resp, err := req.RequestWith(within(t), c)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int16{}
	for _, rt := range resp.Topics {
		got[*rt.Topic] = rt.ErrorCode
	}
	wants := map[string]int16{
		known: 0, missing: kerr.UnknownTopicOrPartition.Code,
		invalid: kerr.InvalidTopicException.Code,
	}
	if diff := cmp.Diff(wants, got); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
}

// Setting the current number of partitions is refused, because it is no increase.
func TestPartitionsOnlyGrow(t *testing.T) {
	c := client(t, broker(t))
	topic := unique()
	create(t, c, topic)
	for _, n := range []struct {
		count int32
		want  *kerr.Error
	}{{2, kerr.InvalidPartitions}, {1, kerr.InvalidPartitions}, {3, nil}, {3, kerr.InvalidPartitions}} {
		req := kmsg.NewPtrCreatePartitionsRequest()
		rt := kmsg.NewCreatePartitionsRequestTopic()
		rt.Topic, rt.Count = topic, n.count
		req.Topics = append(req.Topics, rt)
		resp, err := req.RequestWith(within(t), c)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "partitions", kerr.ErrorForCode(resp.Topics[0].ErrorCode), n.want)
	}
}

// An append to a list that was never set starts from its default, and a list has no element twice.
func TestListsBeginWithTheirDefault(t *testing.T) {
	c := client(t, broker(t))
	for _, change := range []struct {
		name  string
		first []string
		op    kadm.IncrementalOp
		value string
		want  string
	}{
		{"append to the default", nil, kadm.AppendConfig, "compact", "delete,compact"},
		{"append what is there", []string{"cleanup.policy", "delete"}, kadm.AppendConfig, "delete", "delete"},
		{
			"append to what was set",
			[]string{"cleanup.policy", "compact"},
			kadm.AppendConfig, "delete",
			"compact,delete",
		},
		{"take away", []string{"cleanup.policy", "compact,delete"}, kadm.SubtractConfig, "delete", "compact"},
	} {
		t.Run(change.name, func(t *testing.T) {
			topic := unique()
			create(t, c, topic, change.first...)
			adm := kadm.NewClient(c)
			alter := kadm.AlterConfig{Op: change.op, Name: "cleanup.policy", Value: &change.value}
			altered, err := adm.AlterTopicConfigs(within(t), []kadm.AlterConfig{alter}, topic)
			if err != nil || altered[0].Err != nil {
				t.Fatal(err, altered)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			got := ""
			for got != change.want && ctx.Err() == nil { // a real broker shows it a moment later
				got = configOf(t, c, topic, "cleanup.policy")
			}
			if got != change.want {
				t.Errorf("cleanup.policy is %q, want %q", got, change.want)
			}
		})
	}
}

func configOf(t *testing.T, c *kgo.Client, topic, name string) string {
	t.Helper()
	all, err := kadm.NewClient(c).DescribeTopicConfigs(within(t), topic)
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range all[0].Configs {
		if config.Key == name {
			return config.MaybeValue()
		}
	}
	t.Fatalf("%s has no %s", topic, name)
	return ""
}

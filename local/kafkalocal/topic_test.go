package kafkalocal_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/local/kafkalocal"
)

// Valid and invalid names of topics.
func TestTopicNames(t *testing.T) {
	c := client(t, broker(t))
	for _, name := range []string{"", ".", "..", "a b", "a/b", "é", "a,b", strings.Repeat("a", 250), "a@dlq"} {
		want(t, name, tryCreate(t, c, name, 1, 1), kerr.InvalidTopicException)
	}
	for _, name := range []string{unique() + ".b-c_D9", (unique() + strings.Repeat("a", 249))[:249]} {
		want(t, name, tryCreate(t, c, name, 1, 1), nil)
		want(t, name+" again", tryCreate(t, c, name, 1, 1), kerr.TopicAlreadyExists)
	}
}

// Invalid counts.
func TestTopicCounts(t *testing.T) {
	c := client(t, broker(t))
	for _, n := range []struct {
		partitions int32
		replicas   int16
		want       *kerr.Error
	}{
		{-1, -1, nil},
		{0, 1, kerr.InvalidPartitions},
		{-2, 1, kerr.InvalidPartitions},
		{1, 0, kerr.InvalidReplicationFactor},
		{1, -2, kerr.InvalidReplicationFactor},
		{1, 5, kerr.InvalidReplicationFactor},
	} {
		want(t, fmt.Sprintf("%d partitions, %d replicas", n.partitions, n.replicas),
			tryCreate(t, c, unique(), n.partitions, n.replicas), n.want)
	}
}

// An invalid topic in a request does not prevent the creation of the others.
func TestBadTopicAmongGood(t *testing.T) {
	c := client(t, broker(t))
	req := kmsg.NewPtrCreateTopicsRequest()
	good, bad, worse := unique(), unique()+"!", unique()
	req.Topics = []kmsg.CreateTopicsRequestTopic{
		newTopic(bad, 1, 1), newTopic(good, 1, 1),
		newTopic(worse, 1, 1, "retention.ms", "long"),
	}
	resp, err := req.RequestWith(within(t), c)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int16{}
	for _, rt := range resp.Topics {
		got[rt.Topic] = rt.ErrorCode
	}
	if diff := cmp.Diff(map[string]int16{good: 0, bad: kerr.InvalidTopicException.Code, worse: kerr.InvalidConfig.Code},
		got); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
	want(t, "the good one again", tryCreate(t, c, good, 1, 1), kerr.TopicAlreadyExists)
}

// configs are values of topic configs, and whether a broker accepts them.
var configs = []struct {
	name, value string
	ok          bool
}{
	{"nope", "1", false},
	{"message.format.version", "2.0", false},
	{"message.downconversion.enable", "true", false},
	{"retention.ms", "abc", false},
	{"retention.ms", "", false},
	{"retention.ms", "1e3", false},
	{"retention.ms", "-2", false},
	{"retention.ms", "-1", true},
	{"retention.ms", " 5 ", true},
	{"retention.bytes", "-7", true},
	{"cleanup.policy", "bogus", false},
	{"cleanup.policy", "", true},
	{"cleanup.policy", "compact,delete", true},
	{"cleanup.policy", "compact, compact", true},
	{"segment.bytes", "1000", false},
	{"segment.bytes", "1048576", true},
	{"segment.ms", "0", false},
	{"min.insync.replicas", "0", false},
	{"min.insync.replicas", "3", true},
	{"compression.type", "bogus", false},
	{"compression.type", "none", false},
	{"compression.type", "ZSTD", false},
	{"compression.type", "uncompressed", true},
	{"compression.gzip.level", "0", false},
	{"compression.gzip.level", "-1", true},
	{"compression.gzip.level", "9", true},
	{"compression.gzip.level", "10", false},
	{"compression.lz4.level", "0", false},
	{"compression.lz4.level", "18", false},
	{"compression.zstd.level", "23", false},
	{"compression.zstd.level", "-131072", true},
	{"message.timestamp.type", "bogus", false},
	{"message.timestamp.type", "LogAppendTime", true},
	{"message.timestamp.after.max.ms", "-1", false},
	{"message.timestamp.before.max.ms", "-1", false},
	{"min.cleanable.dirty.ratio", "1.5", false},
	{"min.cleanable.dirty.ratio", "-1", false},
	{"min.cleanable.dirty.ratio", "half", false},
	{"min.cleanable.dirty.ratio", "0.5", true},
	{"preallocate", "yes", false},
	{"preallocate", "TRUE", true},
	{"unclean.leader.election.enable", "true", true},
	{"max.message.bytes", "-1", false},
	{"max.message.bytes", "0", true},
	{"max.message.bytes", "3000000000", false},
	{"max.decompressed.message.bytes", "0", false},
	{"max.decompressed.message.bytes", "1", true},
	{"max.decompressed.message.bytes", "3000000000", false},
	{"errors.deadletterqueue.group.enable", "perhaps", false},
	{"errors.deadletterqueue.group.enable", "true", true},
	{"remote.copy.lag.ms", "-2", false},
	{"remote.copy.lag.ms", "-1", true},
	{"remote.copy.lag.bytes", "-2", false},
	{"remote.copy.lag.bytes", "-1", true},
	{"local.retention.ms", "-3", false},
	{"local.retention.ms", "-2", true},
	{"local.retention.bytes", "-3", false},
	{"local.retention.bytes", "-2", true},
	{"remote.storage.enable", "true", false},
	{"remote.storage.enable", "false", true},
	{"remote.log.copy.disable", "true", true},
	{"remote.log.delete.on.disable", "maybe", false},
	{"min.compaction.lag.ms", "-1", false},
	{"max.compaction.lag.ms", "0", false},
	{"file.delete.delay.ms", "-1", false},
	{"flush.messages", "0", false},
	{"flush.ms", "-1", false},
	{"segment.index.bytes", "3", false},
	{"segment.jitter.ms", "-1", false},
	{"index.interval.bytes", "-1", false},
	{"delete.retention.ms", "-1", false},
	{"leader.replication.throttled.replicas", "bogus", false},
	{"leader.replication.throttled.replicas", "*", true},
	{"follower.replication.throttled.replicas", "0:1,1:1", true},
	{"internal.segment.bytes", "2000", true},
}

// A config that does not exist, or whose value is invalid, is refused, and the error names it.
func TestTopicConfigs(t *testing.T) {
	c := client(t, broker(t))
	for _, config := range configs {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Topics = []kmsg.CreateTopicsRequestTopic{newTopic(unique(), 1, 1, config.name, config.value)}
		resp, err := req.RequestWith(within(t), c)
		if err != nil {
			t.Fatal(err)
		}
		answer := resp.Topics[0]
		what := config.name + "=" + config.value
		if config.ok {
			want(t, what, kerr.ErrorForCode(answer.ErrorCode), nil)
			continue
		}
		want(t, what, kerr.ErrorForCode(answer.ErrorCode), kerr.InvalidConfig)
		if answer.ErrorMessage == nil ||
			config.name != "remote.storage.enable" && !strings.Contains(*answer.ErrorMessage, config.name) {
			t.Errorf("%s: the refusal does not name the config", what)
		}
	}
}

// The same holds for changing a topic's configs, in both forms.
func TestAlterTopicConfigs(t *testing.T) {
	c := client(t, broker(t))
	topic := unique()
	create(t, c, topic)
	set, remove := kmsg.IncrementalAlterConfigOpSet, kmsg.IncrementalAlterConfigOpDelete
	add, subtract := kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract
	value := func(s string) *string { return &s }
	for _, change := range []struct {
		op    kmsg.IncrementalAlterConfigOp
		name  string
		value *string
		want  *kerr.Error
	}{
		{set, "retention.ms", value("60000"), nil},
		{set, "nope", value("1"), kerr.InvalidConfig},
		{set, "retention.ms", value("x"), kerr.InvalidConfig},
		{set, "retention.ms", nil, kerr.InvalidRequest},
		{remove, "nope", nil, nil},
		{remove, "retention.ms", nil, nil},
		{add, "cleanup.policy", value("bogus"), kerr.InvalidConfig},
		{add, "retention.ms", value("5"), kerr.InvalidConfig},
		{add, "cleanup.policy", value("compact"), nil},
		{subtract, "cleanup.policy", value("delete"), nil},
	} {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		res := kmsg.NewIncrementalAlterConfigsRequestResource()
		res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeTopic, topic
		config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		config.Op, config.Name, config.Value = change.op, change.name, change.value
		res.Configs = append(res.Configs, config)
		req.Resources = append(req.Resources, res)
		resp, err := req.RequestWith(within(t), c)
		if err != nil {
			t.Fatal(err)
		}
		want(t, change.op.String()+" "+change.name, kerr.ErrorForCode(resp.Resources[0].ErrorCode), change.want)
	}
	for name, bad := range map[string]*kerr.Error{"retention.bytes": nil, "nope": kerr.InvalidConfig} {
		req := kmsg.NewPtrAlterConfigsRequest()
		res := kmsg.NewAlterConfigsRequestResource()
		res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeTopic, topic
		config := kmsg.NewAlterConfigsRequestResourceConfig()
		config.Name, config.Value = name, value("1")
		res.Configs = append(res.Configs, config)
		req.Resources = append(req.Resources, res)
		resp, err := req.RequestWith(within(t), c)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "alter "+name, kerr.ErrorForCode(resp.Resources[0].ErrorCode), bad)
	}
}

// The server knows every topic config that a real broker describes.
func TestKnowsEveryTopicConfig(t *testing.T) {
	c := client(t, broker(t))
	topic := unique()
	create(t, c, topic)
	req := kmsg.NewPtrDescribeConfigsRequest()
	res := kmsg.NewDescribeConfigsRequestResource()
	res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	req.Resources = append(req.Resources, res)
	resp, err := req.RequestWith(within(t), c)
	if err != nil {
		t.Fatal(err)
	}
	known := kafkalocal.TopicConfigs()
	for _, config := range resp.Resources[0].Configs {
		if !slices.Contains(known, config.Name) && config.Name != "kfake.is_internal" {
			t.Errorf("%s is described by the broker but unknown to the server", config.Name)
		}
	}
}

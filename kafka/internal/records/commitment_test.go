package records

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// newTestCommitment is a commit of two partitions, by a member that knows the topic under an id.
func newTestCommitment(t *testing.T, id kadm.TopicID) *Commitment {
	m := newTestMember()
	m.Topics["orders"] = id
	return &Commitment{
		m: m, MemberID: "m-1", Generation: 7,
		Offsets: map[string]map[int32]kgo.EpochOffset{"orders": {
			0: {Epoch: 3, Offset: 10},
			1: {Epoch: 4, Offset: 20},
		}},
		Parts: map[wire.Partition]Part{
			{Topic: "orders", N: 0}: {Commit: offsets.Commit{Metadata: "zero"}},
			{Topic: "orders", N: 1}: {Commit: offsets.Commit{Metadata: "one"}},
		},
	}
}

// A request that bypasses franz-go has the member, and for each partition its offset and metadata.
func TestTheRequestOfACommit(t *testing.T) {
	id := kadm.TopicID{1}
	c := newTestCommitment(t, id)
	req := c.Request()
	if req.Group != "orders" || req.MemberID != "m-1" || req.Generation != 7 || req.InstanceID != nil {
		t.Errorf("group %s, member %s, generation %d, instance %v", req.Group, req.MemberID, req.Generation,
			req.InstanceID)
	}
	type part struct {
		Offset   int64
		Epoch    int32
		Metadata string
	}
	got := map[int32]part{}
	for _, topic := range req.Topics {
		if topic.Topic != "orders" || topic.TopicID != id {
			t.Errorf("the topic is %s with id %v", topic.Topic, topic.TopicID)
		}
		for _, p := range topic.Partitions {
			got[p.Partition] = part{p.Offset, p.LeaderEpoch, *p.Metadata}
		}
	}
	if diff := cmp.Diff(map[int32]part{0: {10, 3, "zero"}, 1: {20, 4, "one"}}, got); diff != "" {
		t.Error(diff)
	}
}

// franz-go's own request gets the metadata, too, also if it names the topic only by its id.
func TestMetadataIsWrittenByTopicID(t *testing.T) {
	c := newTestCommitment(t, kadm.TopicID{1})
	req := kmsg.NewPtrOffsetCommitRequest()
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.TopicID = kadm.TopicID{1}
	for n := range int32(3) {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition = n
		topic.Partitions = append(topic.Partitions, p)
	}
	req.Topics = append(req.Topics, topic)
	c.Write(req)
	for n, want := range []string{"zero", "one", ""} {
		if got := req.Topics[0].Partitions[n].Metadata; got == nil && want != "" || got != nil && *got != want {
			t.Errorf("partition %d has the metadata %v, want %q", n, got, want)
		}
	}
}

// A commit bypasses franz-go only if its topics have ids.
func TestCommitsThatBypassTheClient(t *testing.T) {
	if c := newTestCommitment(t, kadm.TopicID{1}); !c.KnowsTopics() {
		t.Error("a commit with topic ids does not bypass the client")
	}
	if c := newTestCommitment(t, kadm.TopicID{}); c.KnowsTopics() {
		t.Error("a commit without topic ids bypasses the client")
	}
}

// Metadata that the broker refuses as too large becomes shorter.
func TestMetadataBecomesShorter(t *testing.T) {
	l, e := newTestLedger(t)
	for i := range 20_000 {
		m := l.at(t, e, delivered)
		if i%7*i%5 == 3 {
			l.move(m, finished)
		}
	}
	before, _ := e.tracker.Commit()
	l.Answered(true, Part{Epoch: e, Commit: before})
	after, _ := e.tracker.Commit()
	if len(after.Metadata) >= len(before.Metadata) || len(before.Metadata) < 1000 {
		t.Errorf("metadata of %d characters after %d", len(after.Metadata), len(before.Metadata))
	}
}

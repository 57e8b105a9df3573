package records

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// The offsets of a group show whether a transaction was committed, but not those of a partition that was lost: its next
// owner may have committed the same after the transaction was aborted.
func TestOutcomeOfATransaction(t *testing.T) {
	const lost, kept = 0, 1
	for name, c := range map[string]struct {
		now  map[int32]int64 // the group's offsets
		want bool
	}{
		"aborted":                     {map[int32]int64{lost: 5, kept: 5}, false},
		"committed":                   {map[int32]int64{lost: 10, kept: 20}, true},
		"committed, and continued":    {map[int32]int64{lost: 11, kept: 20}, true},
		"aborted, and the same again": {map[int32]int64{lost: 10, kept: 5}, false},
	} {
		id := kadm.TopicID{1}
		what := newTestCommitment(t, id)
		gone, open := &Epoch{state: epochGone}, &Epoch{state: epochOpen}
		what.Parts[wire.Partition{Topic: "orders", N: lost}] = Part{Epoch: gone, Commit: offsets.Commit{Offset: 10}}
		what.Parts[wire.Partition{Topic: "orders", N: kept}] = Part{Epoch: open, Commit: offsets.Commit{Offset: 20}}
		topic := kmsg.NewOffsetFetchResponseGroupTopic()
		topic.TopicID = id
		for n, at := range c.now {
			p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			p.Partition, p.Offset, p.Metadata = n, at, new(string)
			topic.Partitions = append(topic.Partitions, p)
		}
		group := kmsg.NewOffsetFetchResponseGroup()
		group.Topics = append(group.Topics, topic)
		resp := kmsg.NewPtrOffsetFetchResponse()
		resp.Groups = append(resp.Groups, group)
		if got, err := what.isStored(resp); got != c.want || err != nil {
			t.Errorf("%s: committed %v, error %v, want %v", name, got, err, c.want)
		}
	}
}

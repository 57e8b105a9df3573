package deadletter

import (
	"context"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// recallMost is how many of the newest dead letters of a partition are read. Only those matter that were written after
// the channel's last commit, a second's work.
const recallMost = 2_000

// Known are the records of one topic that have a dead letter, by partition and offset.
type Known map[int32]map[int64]struct{}

// Has says whether a record has a dead letter.
func (k Known) Has(partition int32, offset int64) bool {
	_, has := k[partition][offset]
	return has
}

func (k Known) add(partition int32, offset int64) {
	if k[partition] == nil {
		k[partition] = map[int64]struct{}{}
	}
	k[partition][offset] = struct{}{}
}

// Source says whose records are looked for among dead letters: those of a topic as it is now, rejected by a group.
type Source struct{ Topic, Log, Group string }

// record says which record of the source a dead letter is a copy of.
func (s Source) record(letter *kgo.Record) (partition int32, offset int64, ok bool) {
	if wire.Header(letter, LogHeader) != s.Log || wire.Header(letter, GroupHeader) != s.Group ||
		wire.Header(letter, TopicHeader) != s.Topic {
		return 0, 0, false
	}
	p, perr := strconv.ParseInt(wire.Header(letter, PartitionHeader), 10, 32)
	offset, oerr := strconv.ParseInt(wire.Header(letter, OffsetHeader), 10, 64)
	return int32(p), offset, perr == nil && oerr == nil
}

// Recall reads the newest dead letters of some partitions of a topic. With an error, it returns what it has found so
// far.
func Recall(
	ctx context.Context, admin *kadm.Client, open func(...kgo.Opt) (*kgo.Client, error),
	topic string, of Source, partitions []int32,
) (Known, error) {
	starts, err := admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	from, unread := map[int32]kgo.Offset{}, map[int32]int64{}
	count := int32(len(ends[topic]))
	for _, n := range partitions {
		if count == 0 {
			break
		}
		n %= count
		first, _ := starts.Lookup(topic, n)
		last, _ := ends.Lookup(topic, n)
		if last.Offset > first.Offset {
			from[n] = kgo.NewOffset().At(max(first.Offset, last.Offset-recallMost))
			unread[n] = last.Offset
		}
	}
	if len(unread) == 0 {
		return nil, nil
	}
	client, err := open(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return read(ctx, client, of, unread)
}

// read polls until each partition is read up to the offset at which it ended.
func read(ctx context.Context, client *kgo.Client, of Source, unread map[int32]int64) (Known, error) {
	known := Known{}
	for len(unread) > 0 {
		fetches := client.PollFetches(ctx)
		if failure.Over(ctx) {
			return known, context.Cause(ctx)
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return known, errs[0].Err
		}
		fetches.EachRecord(func(letter *kgo.Record) {
			if n, offset, ok := of.record(letter); ok {
				known.add(n, offset)
			}
			if letter.Offset+1 >= unread[letter.Partition] {
				delete(unread, letter.Partition)
			}
		})
	}
	return known, nil
}

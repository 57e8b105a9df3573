package deadletter

import (
	"context"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// recallMost is how many of the newest dead letters of a partition are read. Only letters written after the channel's
// last commit matter, and a commit is made every second.
const recallMost = 2_000

// readPatience is how long the brokers may send no dead letters.
const readPatience = 10 * time.Second

// Known is the offsets of dead letters, by the partition and offset of their original.
type Known map[int32]map[int64]int64

// Has reports whether a record has a dead letter.
func (k Known) Has(partition int32, offset int64) bool {
	_, has := k[partition][offset]
	return has
}

func (k Known) add(partition int32, offset, letter int64) {
	if k[partition] == nil {
		k[partition] = map[int64]int64{}
	}
	k[partition][offset] = letter
}

// Source selects dead letters by their original: its topic, the id of that topic, and the group that rejected it.
type Source struct{ Topic, Log, Group string }

// record is the partition and offset of a dead letter's original; false: the original is not of this source.
func (s Source) record(letter *kgo.Record) (partition int32, offset int64, ok bool) {
	if wire.Header(letter, LogHeader) != s.Log || wire.Header(letter, GroupHeader) != s.Group ||
		wire.Header(letter, TopicHeader) != s.Topic {
		return 0, 0, false
	}
	p, perr := strconv.ParseInt(wire.Header(letter, PartitionHeader), 10, 32)
	offset, oerr := strconv.ParseInt(wire.Header(letter, OffsetHeader), 10, 64)
	return int32(p), offset, perr == nil && oerr == nil
}

// Log is a topic of dead letters at the time of Look. Letters of an open transaction do not exist yet.
type Log struct {
	topic  string
	starts kadm.ListedOffsets
	ends   kadm.ListedOffsets
	stable kadm.ListedOffsets // up to the first open transaction
}

// Look looks up the start and end of each partition of a topic of dead letters. A topic that does not exist has no
// partitions, and all of them count as empty.
func Look(ctx context.Context, c *cluster.Cluster, topic string) (l Log, err error) {
	l.topic = topic
	if l.starts, err = c.EachOffset(ctx, cluster.Start, topic); err != nil {
		return l, err
	}
	if l.ends, err = c.EachOffset(ctx, cluster.End, topic); err != nil {
		return l, err
	}
	l.stable, err = c.EachOffset(ctx, cluster.Stable, topic)
	return l, err
}

// partition is where the letters of one of the source's partitions are. The topic may have fewer partitions.
func (l Log) partition(n int32) (own int32, start, end int64) {
	count := int32(len(l.ends[l.topic]))
	if count == 0 {
		return 0, 0, 0
	}
	own = n % count
	first, _ := l.starts.Lookup(l.topic, own)
	last, _ := l.ends.Lookup(l.topic, own)
	return own, max(first.Offset, 0), max(last.Offset, 0)
}

// End is the offset that the next letter of a source's partition gets.
func (l Log) End(n int32) int64 {
	_, _, end := l.partition(n)
	return end
}

// Recall reads the newest dead letters of the source's partitions, beginning at the offset that partitions has for
// each. With an error, it also returns the letters that it has read so far.
func (l Log) Recall(
	ctx context.Context, c *cluster.Cluster, of Source, partitions map[int32]int64,
) (Known, error) {
	from, unread := map[int32]kgo.Offset{}, map[int32]int64{}
	for n, mark := range partitions {
		own, start, _ := l.partition(n)
		stable, _ := l.stable.Lookup(l.topic, own)
		end := stable.Offset
		at := max(start, end-recallMost, mark)
		if at >= end {
			continue
		}
		if before, ok := from[own]; !ok || at < before.EpochOffset().Offset {
			from[own], unread[own] = kgo.NewOffset().At(at), end
		}
	}
	if len(unread) == 0 {
		return nil, nil
	}
	r, err := c.Read(map[string]map[int32]kgo.Offset{l.topic: from}, readPatience,
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords()) // a log may end with a control record
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return read(ctx, r, of, unread)
}

// read polls until each partition is read up to the end that it had in Look.
func read(ctx context.Context, r *cluster.Reader, of Source, unread map[int32]int64) (Known, error) {
	known := Known{}
	for len(unread) > 0 {
		fetches, err := r.Poll(ctx)
		if err != nil {
			return known, err
		}
		fetches.EachRecord(func(letter *kgo.Record) {
			if n, offset, ok := of.record(letter); ok && !letter.Attrs.IsControl() {
				known.add(n, offset, letter.Offset)
			}
			if letter.Offset+1 >= unread[letter.Partition] {
				delete(unread, letter.Partition)
			}
		})
	}
	return known, nil
}

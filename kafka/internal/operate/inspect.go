package operate

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// Inspect is driver.Operations.Inspect, as kafka.Backend describes it.
func Inspect(ctx context.Context, n *Namespace, ch driver.Channel) (driver.Depth, error) {
	d, err := inspect(ctx, n, ch)
	if err == nil {
		err = inspectFormer(ctx, n, ch, &d)
	}
	return d, err
}

// inspect counts the records in the topics that a channel has by its names.
func inspect(ctx context.Context, n *Namespace, ch driver.Channel) (driver.Depth, error) {
	if ch.Queue == "" {
		return driver.Depth{}, failure.Permanent("channel %s: an exchange has no group: inspect its channels", ch)
	}
	if ch.Later {
		return inspectLater(ctx, n, ch)
	}
	own, err := n.find(ctx, ch)
	if err != nil {
		return driver.Depth{}, err
	}
	d := driver.Depth{Oldest: -1}
	uses := n.Channels.Uses(ch)
	l := lag{n.Cluster}
	committed, err := n.committed(ctx, ch)
	if err != nil {
		return d, err
	}
	ps, err := l.behind(ctx, own, committed)
	if err != nil {
		return d, err
	}
	for _, p := range l.measure(ctx, own, ps) {
		if ch.DeadLetter && p.mixed {
			l.count(ctx, own, &p)
		}
		d.Waiting += p.waiting
		d.Partitions = append(d.Partitions, driver.PartitionDepth{Partition: p.n, Waiting: p.waiting, Oldest: p.age})
		if p.completed == 0 {
			d.Oldest = max(d.Oldest, p.age)
		}
	}
	if ch.DeadLetter || n.Channels.OwnRetries {
		return d, nil
	}
	if uses.Share && len(uses.Tiers) > 0 {
		if committed, err = l.Committed(ctx, n.Channels.Retries(ch)); err != nil {
			return d, err
		}
	}
	for _, tier := range uses.Tiers {
		t, err := n.Cluster.Find(ctx, n.Channels.Tier(ch, tier))
		if driver.ClassOf(err) == driver.NotFound && err != nil {
			continue
		}
		if err == nil {
			ps, err = l.behind(ctx, t, committed)
		}
		if err != nil {
			return d, err
		}
		for _, p := range l.measure(ctx, t, ps) {
			d.Delayed += p.waiting
		}
	}
	return d, nil
}

// inspectFormer adds the records of a channel's group that are left in topics of earlier versions.
func inspectFormer(ctx context.Context, n *Namespace, ch driver.Channel, d *driver.Depth) error {
	f, err := FindFormer(ctx, n, ch)
	if err != nil {
		return err
	}
	for topic := range f.Topics {
		count, oldest, err := f.Count(ctx, topic)
		if err != nil {
			return err
		}
		if !ch.DeadLetter {
			d.Delayed += count
			continue
		}
		d.Waiting += count
		d.Oldest = max(d.Oldest, oldest)
	}
	return nil
}

// lag measures how far groups are behind.
type lag struct{ *cluster.Cluster }

// partitionLag is a partition with unfinished records.
type partitionLag struct {
	n         int32
	from, end int64 // offset of the first unfinished record, and behind the last one
	waiting   int64
	completed int64 // finished records after from
	age       time.Duration
	mixed     bool // its first batch is of a transaction, so not each offset is a record
}

// begins sets the offset of the first unfinished record.
func (p *partitionLag) begins(from int64) {
	if p.from, p.waiting = from, 0; from < p.end {
		p.waiting = max(1, p.end-from-p.completed)
	}
}

// behind returns the partitions of a topic that have records at or after the committed offset.
func (l lag) behind(
	ctx context.Context, t cluster.Topic, committed kadm.OffsetResponses,
) (all []partitionLag, err error) {
	starts, ends, err := l.Bounds(ctx, cluster.Stable, t.Name)
	if err != nil {
		return nil, err
	}
	ends.Each(func(end kadm.ListedOffset) {
		p := partitionLag{n: end.Partition, end: end.Offset, age: -1}
		from := int64(0)
		if start, ok := starts.Lookup(t.Name, p.n); ok {
			from = start.Offset
		}
		if c, ok := committed.Lookup(t.Name, p.n); ok && c.Err == nil && c.At >= from {
			from, p.completed = c.At, offsets.Completed(c.At, c.Metadata, wire.Log(t.ID, p.n))
		}
		if p.begins(from); p.waiting > 0 {
			all = append(all, p)
		}
	})
	slices.SortFunc(all, func(a, b partitionLag) int { return cmp.Compare(a.n, b.n) })
	return all, nil
}

const (
	// measureBytes is how many bytes of a partition are fetched for the age of its first record. Brokers send at least
	// one batch. While there is no record in them, the next fetch brings measureMore times as many.
	measureBytes = 1 << 10
	measureMore  = 8
	measureMost  = 1 << 20
	// measurePatience bounds the requests for ages. Without an answer, the age is unknown.
	measurePatience = 5 * time.Second
)

// measure looks for the first record of each partition that a consumer gets, and sets its age. It returns the
// partitions that have one: ends of transactions, and records of aborted ones, may be all that there is.
func (l lag) measure(ctx context.Context, t cluster.Topic, ps []partitionLag) []partitionLag {
	if len(ps) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, measurePatience)
	defer cancel()
	todo := make([]*partitionLag, len(ps))
	for i := range ps {
		todo[i] = &ps[i]
	}
	for bytes := measureBytes; len(todo) > 0 && ctx.Err() == nil; bytes = min(measureMore*bytes, measureMost) {
		todo = l.firsts(ctx, t, todo, int32(bytes))
	}
	return slices.DeleteFunc(ps, func(p partitionLag) bool { return p.waiting == 0 })
}

// firsts fetches from partitions, and returns those in which only the records after the fetched ones can tell.
func (l lag) firsts(ctx context.Context, t cluster.Topic, ps []*partitionLag, bytes int32) (again []*partitionLag) {
	fetches := map[int32]*cluster.Fetch{} // by leader
	for _, p := range ps {
		leader := t.Leaders[p.n]
		if fetches[leader] == nil {
			fetches[leader] = &cluster.Fetch{From: map[int32]int64{}, Bytes: bytes, Committed: true}
		}
		fetches[leader].From[p.n] = p.from
	}
	for leader, f := range fetches {
		parts, err := l.Fetch(ctx, t, leader, f)
		if err != nil {
			continue
		}
		for i := range parts {
			at := slices.IndexFunc(ps, func(p *partitionLag) bool { return p.n == parts[i].Partition })
			if at >= 0 && ps[at].look(t.Name, &parts[i]) {
				again = append(again, ps[at])
			}
		}
	}
	return again
}

// look reads what was fetched from the first unfinished record on. It reports whether none of it is for consumers, and
// more follows.
func (p *partitionLag) look(topic string, got *kmsg.FetchResponseTopicPartition) (again bool) {
	if at, plain := firstTime(got.RecordBatches); plain {
		p.age = max(0, time.Since(at))
		return false
	}
	p.mixed = true
	read, next := readCommitted(topic, p.n, p.from, got)
	switch {
	case len(read.Records) > 0:
		p.begins(read.Records[0].Offset)
		p.age = max(0, time.Since(read.Records[0].Timestamp))
	case read.Err == nil && next > p.from:
		p.begins(next)
		return next < p.end
	}
	return false
}

// countMost is how many fetches count the records of a partition.
const countMost = 16

// count counts the records of a partition that a consumer gets, by reading them. If they are too many, the number stays
// as it is.
func (l lag) count(ctx context.Context, t cluster.Topic, p *partitionLag) {
	ctx, cancel := context.WithTimeout(ctx, measurePatience)
	defer cancel()
	n := int64(0)
	if l.each(ctx, t, p, countMost, func(*kgo.Record) { n++ }) {
		p.waiting = max(0, n-p.completed)
	}
}

// each visits the records of a partition that a consumer gets, in a number of fetches at most, and reports whether
// those were all.
func (l lag) each(
	ctx context.Context, t cluster.Topic, p *partitionLag, most int, visit func(r *kgo.Record),
) (all bool) {
	from := p.from
	for range most {
		parts, err := l.Fetch(ctx, t, t.Leaders[p.n], &cluster.Fetch{
			From: map[int32]int64{p.n: from}, Bytes: measureMost, Committed: true,
		})
		if err != nil || len(parts) != 1 {
			return false
		}
		read, next := readCommitted(t.Name, p.n, from, &parts[0])
		if read.Err != nil || next <= from {
			return false
		}
		for _, r := range read.Records {
			if r.Offset < p.end {
				visit(r)
			}
		}
		if from = next; from >= p.end {
			return true
		}
	}
	return false
}

// readCommitted decodes the records of a fetch that a consumer gets, and returns the offset behind the fetched batches.
func readCommitted(
	topic string, n int32, from int64, got *kmsg.FetchResponseTopicPartition,
) (read kgo.FetchPartition, next int64) {
	return kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Topic: topic, Partition: n, Offset: from, IsolationLevel: kgo.ReadCommitted(),
	}, got, kgo.DefaultDecompressor(), nil)
}

// These are the positions of the version, the attributes, and the time of the first record, in an encoded batch.
const (
	batchMagic      = 16
	batchAttributes = 21
	batchFirstTime  = 27
	// ofTransaction are the bits of a batch of a transaction, and of its end.
	ofTransaction = 0x10 | 0x20
)

// firstTime is the time of the first record of a batch, if the batch is not of a transaction.
func firstTime(batch []byte) (at time.Time, plain bool) {
	if len(batch) < batchFirstTime+8 || batch[batchMagic] != 2 || batch[batchAttributes+1]&ofTransaction != 0 {
		return at, false
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(batch[batchFirstTime:]))), true
}

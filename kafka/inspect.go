package kafka

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// Inspect counts the records that a group has not finished. The counts come from OffsetFetch and ListOffsets, with
// stable offsets only, minus the records that the commit's metadata has as finished. (DescribeGroups does not know
// groups of KIP-848.) Waiting includes records in flight, because the log does not distinguish them; records in tiers
// count as Delayed. Oldest is the age of the oldest record, among partitions without finished records beyond the
// commit: in other partitions the oldest record is being handled, or waits for a retry.
func (b *Backend) Inspect(ctx context.Context, ch driver.Channel) (driver.Depth, error) {
	if err := b.open(); err != nil {
		return driver.Depth{}, err
	}
	if err := b.legal(ch); err != nil {
		return driver.Depth{}, err
	}
	if ch.Queue == "" {
		return driver.Depth{}, failure.Permanent("channel %s: an exchange has no group: inspect its channels", ch)
	}
	name := b.topicOf(ch)
	own, err := b.topics.find(ctx, name)
	if err != nil {
		return driver.Depth{}, err
	}
	d := driver.Depth{Oldest: -1}
	share := b.o.channel(ch).GroupProtocol == GroupShare && !ch.DeadLetter
	group := b.names.Group(ch)
	l := lag{b.admin, b.client}
	ask := l.committed
	if share {
		ask = l.shared
	}
	committed, err := ask(ctx, group)
	if err != nil {
		return d, err
	}
	ps, err := l.behind(ctx, own, committed)
	if err != nil {
		return d, err
	}
	l.measure(ctx, own, ps)
	for _, p := range ps {
		d.Waiting += p.waiting
		d.Partitions = append(d.Partitions, driver.PartitionDepth{Partition: p.n, Waiting: p.waiting, Oldest: p.age})
		if p.completed == 0 {
			d.Oldest = max(d.Oldest, p.age)
		}
	}
	if o := b.o.channel(ch); ch.DeadLetter || !o.tiered() || b.o.RetryQueue != nil {
		return d, nil
	}
	if share {
		if committed, err = l.committed(ctx, b.names.Retries(ch)); err != nil {
			return d, err
		}
	}
	for _, tier := range b.o.channel(ch).Tiers {
		t, err := b.topics.find(ctx, b.names.Tier(ch, tier))
		if driver.ClassOf(err) == driver.NotFound && err != nil {
			continue
		}
		if err == nil {
			ps, err = l.behind(ctx, t, committed)
		}
		if err != nil {
			return d, err
		}
		for _, p := range ps {
			d.Delayed += p.waiting
		}
	}
	return d, nil
}

// lag measures how far groups are behind.
type lag struct {
	admin  *kadm.Client
	client *client.Client
}

// partitionLag is a partition with unfinished records.
type partitionLag struct {
	n         int32
	from      int64 // offset of the first unfinished record
	waiting   int64
	completed int64 // finished records after from
	age       time.Duration
}

// committed are the offsets that a group has committed; none if the group does not exist.
func (l lag) committed(ctx context.Context, group string) (kadm.OffsetResponses, error) {
	got, err := l.admin.FetchOffsets(ctx, group)
	if err != nil && driver.ClassOf(failure.Classify(err)) != driver.NotFound {
		return nil, fmt.Errorf("ask what group %s has committed: %w", group, failure.Classify(err))
	}
	return got, nil
}

// shared are the start offsets of a share group: all earlier records are settled.
func (l lag) shared(ctx context.Context, group string) (kadm.OffsetResponses, error) {
	all, err := l.admin.DescribeShareGroupOffsets(ctx, group)
	if err == nil {
		err = all[group].Err
	}
	if err != nil && driver.ClassOf(failure.Classify(err)) != driver.NotFound {
		return nil, fmt.Errorf("ask how far share group %s has come: %w", group, failure.Classify(err))
	}
	got := kadm.OffsetResponses{}
	for topic, ps := range all[group].Offsets {
		for n, o := range ps {
			got.Add(kadm.OffsetResponse{Offset: kadm.Offset{Topic: topic, Partition: n, At: o.StartOffset}, Err: o.Err})
		}
	}
	return got, nil
}

// behind returns the partitions of a topic that have records at or after the committed offset.
func (l lag) behind(ctx context.Context, t topic, committed kadm.OffsetResponses) (all []partitionLag, err error) {
	starts, err := l.admin.ListStartOffsets(ctx, t.name)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("ask where the log of topic %s starts: %w", t.name, failure.Classify(err))
	}
	ends, err := l.admin.ListCommittedOffsets(ctx, t.name)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("ask where the log of topic %s ends: %w", t.name, failure.Classify(err))
	}
	ends.Each(func(end kadm.ListedOffset) {
		p := partitionLag{n: end.Partition, age: -1}
		if start, ok := starts.Lookup(t.name, p.n); ok {
			p.from = start.Offset
		}
		if c, ok := committed.Lookup(t.name, p.n); ok && c.Err == nil && c.At >= p.from {
			p.from, p.completed = c.At, offsets.Completed(c.At, c.Metadata, identity(t.id, p.n))
		}
		if p.from < end.Offset {
			p.waiting = max(1, end.Offset-p.from-p.completed)
			all = append(all, p)
		}
	})
	slices.SortFunc(all, func(a, b partitionLag) int { return cmp.Compare(a.n, b.n) })
	return all, nil
}

const (
	// measureBytes is how many bytes of a partition are fetched for the age of its first record. Brokers send at least
	// one batch.
	measureBytes = 1 << 10
	// measurePatience bounds the requests for ages. Without an answer, the age is unknown.
	measurePatience = 5 * time.Second
)

// measure sets the age of the first record of each partition: the time of the first record of its batch.
func (l lag) measure(ctx context.Context, t topic, ps []partitionLag) {
	if len(ps) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, measurePatience)
	defer cancel()
	known, err := l.admin.Metadata(ctx, t.name)
	if err != nil {
		return
	}
	requests := map[int32]*kmsg.FetchRequest{} // by leader
	for _, p := range ps {
		leader := known.Topics[t.name].Partitions[p.n].Leader
		req := requests[leader]
		if req == nil {
			req = newFirstsRequest(t)
			requests[leader] = req
		}
		one := kmsg.NewFetchRequestTopicPartition()
		one.Partition, one.FetchOffset, one.PartitionMaxBytes = p.n, p.from, measureBytes
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, one)
	}
	for leader, req := range requests {
		got, err := l.client.Broker(int(leader)).RetriableRequest(ctx, req)
		resp, ok := got.(*kmsg.FetchResponse)
		if err != nil || !ok {
			continue
		}
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				i := slices.IndexFunc(ps, func(x partitionLag) bool { return x.n == p.Partition })
				if at, ok := firstTime(p.RecordBatches); ok && i >= 0 {
					ps[i].age = max(0, time.Since(at))
				}
			}
		}
	}
}

func newFirstsRequest(t topic) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.IsolationLevel, req.MaxBytes = 1, fetchLeast
	one := kmsg.NewFetchRequestTopic()
	one.Topic, one.TopicID = t.name, t.id
	req.Topics = append(req.Topics, one)
	return req
}

// These are the positions of the version, and of the time of the first record, in an encoded batch.
const (
	batchMagic     = 16
	batchFirstTime = 27
)

// firstTime is the time of the first record of a batch.
func firstTime(batch []byte) (at time.Time, ok bool) {
	if len(batch) < batchFirstTime+8 || batch[batchMagic] != 2 {
		return at, false
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(batch[batchFirstTime:]))), true
}

package kafka

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/godwitmq/godwit/kafka/internal/deadletter"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// recallMost is how many of the newest dead letters of a partition are looked at when it is assigned. What counts is what
	// was rejected after the last commit, a second's work.
	recallMost = 2_000
	// recallPatience bounds that look: a dead letter twice is better than a partition that nobody reads.
	recallPatience = 10 * time.Second
)

// recall looks, before anything of newly assigned partitions is read, at what became of their records after the last commit:
// which are dead letters already, and how far their tiers reach.
func (r *receiver) recall(ctx context.Context, begun []*epoch) {
	if len(begun) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, recallPatience)
	defer cancel()
	if r.set.Retries == Park {
		if err := r.raiseBarriers(ctx, begun); err != nil {
			r.b.log.Warn("how far the tiers reach could not be asked: a parked key may be overtaken", "group", r.group, "error", err)
		}
	}
	q, ok := r.dead.(*deadTopic)
	if !ok {
		return
	}
	ns := make([]int32, len(begun))
	for i, e := range begun {
		ns[i] = e.N
	}
	letters := r.recallLetters(ctx, q, ns)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range begun {
		e.dead = letters[e.N]
	}
}

// raiseBarriers notes where the tiers end.
func (r *receiver) raiseBarriers(ctx context.Context, begun []*epoch) error {
	for topic := range r.tiers {
		starts, err := r.b.admin.ListStartOffsets(ctx, topic)
		if err != nil {
			return err
		}
		ends, err := r.b.admin.ListEndOffsets(ctx, topic)
		if err != nil {
			return err
		}
		r.mu.Lock()
		for _, e := range begun {
			first, ok1 := starts.Lookup(topic, e.N)
			last, ok2 := ends.Lookup(topic, e.N)
			if e.Topic == topic && ok1 && ok2 && last.Offset > first.Offset && last.Offset > e.from {
				e.barrier = last.Offset
				r.catching[e.N] = true
			}
		}
		r.mu.Unlock()
	}
	return nil
}

// recallLetters reads the newest dead letters of some partitions, and returns the offsets of what died, by partition.
func (r *receiver) recallLetters(ctx context.Context, q *deadTopic, ns []int32) map[int32]map[int64]struct{} {
	letters, err := r.newestLetters(ctx, r.b.names.DeadLetters(q.ch), ns)
	if err != nil {
		r.b.log.Warn("the newest dead letters could not be read: some may come twice", "group", r.speaker, "error", err)
	}
	return letters
}

func (r *receiver) newestLetters(ctx context.Context, topic string, ns []int32) (map[int32]map[int64]struct{}, error) {
	starts, err := r.b.admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	ends, err := r.b.admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	from, open := map[int32]kgo.Offset{}, map[int32]int64{}
	count := int32(len(ends[topic]))
	for _, n := range ns {
		if count == 0 {
			break
		}
		n %= count
		first, _ := starts.Lookup(topic, n)
		last, _ := ends.Lookup(topic, n)
		if last.Offset > first.Offset {
			from[n] = kgo.NewOffset().At(max(first.Offset, last.Offset-recallMost))
			open[n] = last.Offset
		}
	}
	if len(open) == 0 {
		return nil, nil
	}
	return r.readLetters(ctx, topic, from, open)
}

func (r *receiver) readLetters(ctx context.Context, topic string, from map[int32]kgo.Offset, open map[int32]int64) (map[int32]map[int64]struct{}, error) {
	opts, err := r.b.o.clientOptions(r.b.log, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}))
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	log, found := r.log(), map[int32]map[int64]struct{}{}
	for len(open) > 0 {
		fetches := client.PollFetches(ctx)
		if failure.Over(ctx) {
			return found, context.Cause(ctx)
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return found, errs[0].Err
		}
		fetches.EachRecord(func(rec *kgo.Record) {
			if n, offset, ok := r.ofOurs(rec, log); ok {
				if found[n] == nil {
					found[n] = map[int64]struct{}{}
				}
				found[n][offset] = struct{}{}
			}
			if rec.Offset+1 >= open[rec.Partition] {
				delete(open, rec.Partition)
			}
		})
	}
	return found, nil
}

// ofOurs says which record of this channel's topic, as it is now, a dead letter was.
func (r *receiver) ofOurs(letter *kgo.Record, log string) (n int32, offset int64, ok bool) {
	if wire.Header(letter, deadletter.LogHeader) != log || wire.Header(letter, deadletter.GroupHeader) != r.speaker || wire.Header(letter, deadletter.TopicHeader) != r.topic {
		return 0, 0, false
	}
	p, perr := strconv.ParseInt(wire.Header(letter, deadletter.PartitionHeader), 10, 32)
	offset, oerr := strconv.ParseInt(wire.Header(letter, deadletter.OffsetHeader), 10, 64)
	return int32(p), offset, perr == nil && oerr == nil
}

// log is which log the channel's topic is.
func (r *receiver) log() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.member == nil {
		return ""
	}
	return fmt.Sprint(r.member.topics[r.topic])
}

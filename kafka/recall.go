package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/kafka/internal/deadletter"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
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
	partitions := make([]int32, len(begun))
	for i, e := range begun {
		partitions[i] = e.N
	}
	known := r.recallLetters(ctx, partitions)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range begun {
		e.dead = known[e.N]
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

// recallLetters reads the newest dead letters of some partitions, if this channel has a topic of them.
func (r *receiver) recallLetters(ctx context.Context, partitions []int32) deadletter.Known {
	q, ok := r.dead.(*deadTopic)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, recallPatience)
	defer cancel()
	open := func(more ...kgo.Opt) (*kgo.Client, error) {
		opts, err := r.b.o.clientOptions(r.b.log, more...)
		if err != nil {
			return nil, err
		}
		return kgo.NewClient(opts...)
	}
	of := deadletter.Source{Topic: r.topic, Log: r.log(), Group: r.speaker}
	known, err := deadletter.Recall(ctx, r.b.admin, open, r.b.names.DeadLetters(q.ch), of, partitions)
	if err != nil {
		r.b.log.Warn("the newest dead letters could not be read: some may come twice", "group", r.speaker, "error", err)
	}
	return known
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

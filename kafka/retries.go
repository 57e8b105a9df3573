package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// RetryQueue is where a record waits if the core does not hold its retry. Several goroutines call it concurrently.
type RetryQueue interface {
	// Put takes records that are delivered again later, and returns an error or nil for each of them.
	Put(ctx context.Context, rs []Later) []error
	// Durable says who delivers the records again. True: the queue publishes them to the channel's topic, also after
	// this process has ended, and here they are finished. They are new records then, so RetryPark cannot keep their
	// order. False: this process holds them until they are due. They stay unfinished, and no commit passes them.
	Durable() bool
}

// Later is a record that is delivered again later.
type Later struct {
	Record  *kgo.Record // as received; not to be changed
	Due     time.Time
	Attempt int32 // number of starts so far
	// FirstFailure is the time of the record's first failure; zero: it has not failed, or the time is unknown.
	FirstFailure time.Time
}

// memoryRetries bounds a MemoryRetryQueue: after a crash, the records that wait in it are read from their topic again.
const memoryRetries = 10_000

// MemoryRetryQueue holds records in this process, for tests and where topics cannot be created. The zero value is ready
// to use.
type MemoryRetryQueue struct {
	mu  sync.Mutex
	due []time.Time
}

// Put takes records while there is room.
func (q *MemoryRetryQueue) Put(_ context.Context, rs []Later) []error {
	q.mu.Lock()
	defer q.mu.Unlock()
	errs := make([]error, len(rs))
	now := time.Now()
	kept := q.due[:0]
	for _, at := range q.due {
		if at.After(now) {
			kept = append(kept, at)
		}
	}
	q.due = kept
	for i := range rs {
		if len(q.due) >= memoryRetries {
			errs[i] = &driver.Error{
				Class: driver.Throttled,
				Err:   fmt.Errorf("%d records wait for their retry in memory, which is the limit", memoryRetries),
			}
			continue
		}
		q.due = append(q.due, rs[i].Due)
	}
	return errs
}

// Durable is false: the consumer holds the records itself.
func (q *MemoryRetryQueue) Durable() bool { return false }

// Waiting is the number of records that are not due yet.
func (q *MemoryRetryQueue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for now, i := time.Now(), 0; i < len(q.due); i++ {
		if q.due[i].After(now) {
			n++
		}
	}
	return n
}

// tierQueue is a RetryQueue on topics: the tiers of one channel.
type tierQueue struct {
	b        *Backend
	ch       driver.Channel
	consumer string // the channel's group, which the copies name
	tiers    []time.Duration
}

func (q *tierQueue) Durable() bool { return true }

// Put publishes a copy of each record to the tier that fits its wait.
func (q *tierQueue) Put(ctx context.Context, rs []Later) []error {
	copies, err := q.copies(ctx, rs)
	if err != nil {
		return slices.Repeat([]error{err}, len(rs))
	}
	return publish(ctx, q.b, q.ch, copies)
}

// copies makes a copy of each record, for a partition that exists.
func (q *tierQueue) copies(ctx context.Context, rs []Later) ([]*kgo.Record, error) {
	now, known := time.Now(), map[wire.Partition]bool{}
	copies := make([]*kgo.Record, len(rs))
	for i := range rs {
		copies[i] = wire.ForTier(rs[i].Record, rs[i].Due, rs[i].Attempt, rs[i].FirstFailure)
		wire.SetHeader(copies[i], wire.GroupHeader, q.consumer)
		copies[i].Topic = q.b.channels.Tier(q.ch, q.fitting(rs[i].Due.Sub(now)))
		at := wire.Partition{Topic: copies[i].Topic, N: copies[i].Partition}
		if known[at] {
			continue
		}
		if err := q.find(ctx, at); err != nil {
			return nil, err
		}
		known[at] = true
	}
	return copies, nil
}

// find makes sure that one partition of a tier exists, and that the producing client knows it: partitions may have been
// added to the channel's topic since the tiers were made. A topic that does not exist is left to publish.
func (q *tierQueue) find(ctx context.Context, at wire.Partition) error {
	if q.b.senders.Producer.Knows(at) {
		return nil
	}
	t, err := q.b.cluster.Find(ctx, at.Topic)
	switch {
	case err != nil && driver.ClassOf(err) != driver.NotFound:
		return err
	case err != nil || int(at.N) < t.Partitions:
	case !q.b.provisioner.Owns(q.ch):
		return &driver.Error{Class: driver.NotFound, Err: fmt.Errorf("topic %s has %d partitions and the record is of "+
			"partition %d of its own topic: add partitions to topic %s", at.Topic, t.Partitions, at.N, at.Topic)}
	default:
		if _, err := q.b.provisioner.Restore(ctx, q.ch); err != nil {
			return err
		}
	}
	if q.b.senders.Producer.Knows(wire.Partition{Topic: at.Topic}) { // with fewer partitions
		q.b.senders.Producer.Client.PurgeTopicsFromProducing(at.Topic)
	}
	return nil
}

// fitting is the shortest tier that is long enough, or else the longest: a record that is not due at its end moves on.
func (q *tierQueue) fitting(wait time.Duration) time.Duration {
	for _, d := range q.tiers {
		if d >= wait {
			return d
		}
	}
	return q.tiers[len(q.tiers)-1]
}

// publish publishes copies to topics that the consumer of a channel owns. A missing topic is created again, once.
func publish(ctx context.Context, b *Backend, ch driver.Channel, rs []*kgo.Record) []error {
	errs := b.senders.Producer.Produce(ctx, rs)
	missing := func(err error) bool { return err != nil && driver.ClassOf(err) == driver.NotFound }
	if !slices.ContainsFunc(errs, missing) {
		return errs
	}
	switch ours, err := b.provisioner.Restore(ctx, ch); {
	case err != nil:
		for i := range errs {
			if missing(errs[i]) {
				errs[i] = errors.Join(errs[i], err)
			}
		}
	case ours:
		b.senders.Producer.Again(ctx, rs, errs, missing)
	}
	return errs
}

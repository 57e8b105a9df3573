package kafka

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/wire"
	"github.com/twmb/franz-go/pkg/kgo"
)

// shiftAgain is how long a record waits here that could not be moved to its tier.
const shiftAgain = time.Second

// tierQueue is the topic form of a RetryQueue: the tiers of one channel.
type tierQueue struct {
	b     *Backend
	ch    driver.Channel
	tiers []time.Duration
}

func (q *tierQueue) Durable() bool { return true }

// Put publishes a copy of each record to the tier that fits.
func (q *tierQueue) Put(ctx context.Context, rs []Later) []error {
	now := time.Now()
	copies := make([]*kgo.Record, len(rs))
	for i := range rs {
		copies[i] = tierRecord(&rs[i])
		copies[i].Topic = q.b.names.Tier(q.ch, q.fitting(rs[i].Due.Sub(now)))
	}
	return q.b.produceMaking(ctx, q.ch, copies)
}

// fitting is the shortest tier that is long enough, else the longest, from where the record moves on.
func (q *tierQueue) fitting(wait time.Duration) time.Duration {
	for _, d := range q.tiers {
		if d >= wait {
			return d
		}
	}
	return q.tiers[len(q.tiers)-1]
}

// tierRecord is a copy that waits: what it was, when it is due, how often it was started, and where it was at first.
func tierRecord(l *Later) *kgo.Record {
	r := &kgo.Record{Key: l.Record.Key, Value: l.Record.Value, Headers: l.Record.Headers}
	where := wire.HomeOrHere(l.Record)
	r.Partition = where.N
	wire.SetHeader(r, wire.DueHeader, strconv.FormatInt(l.Due.Add(time.Millisecond-1).UnixMilli(), 10))
	wire.SetHeader(r, wire.AttemptHeader, strconv.Itoa(int(l.Attempt)))
	wire.SetHeader(r, wire.HomeHeader, where.String())
	return r
}

// original is a message's record as it was at first: that is what dies. The caller holds r.mu.
func (r *receiver) original(m *message) *kgo.Record {
	where, ok := wire.HomeOf(m.record)
	if !ok || m.epoch.stay == 0 {
		return m.record
	}
	first := *m.record
	first.Topic, first.Partition, first.Offset = where.Topic, where.N, where.Offset
	first.Headers = slices.DeleteFunc(slices.Clone(first.Headers), func(h kgo.RecordHeader) bool {
		return h.Key == wire.HomeHeader || h.Key == wire.AttemptHeader || h.Key == wire.DueHeader
	})
	return &first
}

// shift publishes messages that are not handled now to the tier that fits, and finishes them here.
func (r *receiver) shift(ctx context.Context, ms []*message) error {
	later := make([]Later, len(ms))
	r.mu.Lock()
	for i, m := range ms {
		m.shown = true
		later[i] = Later{Record: m.record, Due: r.dueBehind(m), Attempt: m.attempt}
		r.park(m, later[i].Due)
	}
	r.mu.Unlock()
	answers := r.retry.Put(ctx, later)
	r.mu.Lock()
	defer r.mu.Unlock()
	var failed error
	for i, m := range ms {
		if answers[i] == nil {
			r.moved(m)
			continue
		}
		failed = fmt.Errorf("move a record of %s that is not due to its tier: %w", r.from, answers[i])
		if m.epoch.wants() {
			m.parked = false
			r.line.add(m, time.Now().Add(shiftAgain))
		}
	}
	return failed
}

// moved finishes a message whose copy stands elsewhere. The caller holds r.mu.
func (r *receiver) moved(m *message) {
	if m.record == nil || m.epoch.gone {
		return
	}
	r.handed(m)
	r.end(m)
}

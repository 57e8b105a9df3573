package kafka

import (
	"context"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// tierQueue is a RetryQueue on topics: the tiers of one channel.
type tierQueue struct {
	b     *Backend
	ch    driver.Channel
	tiers []time.Duration
}

func (q *tierQueue) Durable() bool { return true }

// Put publishes a copy of each record to the tier that fits its wait.
func (q *tierQueue) Put(ctx context.Context, rs []Later) []error {
	now := time.Now()
	copies := make([]*kgo.Record, len(rs))
	for i := range rs {
		copies[i] = tierRecord(&rs[i])
		copies[i].Topic = q.b.names.Tier(q.ch, q.fitting(rs[i].Due.Sub(now)))
	}
	return q.b.copy(ctx, q.ch, copies)
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

// tierRecord is the copy of a record in a tier. Its headers have the due time, the number of starts, and the position
// of the original.
func tierRecord(l *Later) *kgo.Record {
	r := &kgo.Record{Key: l.Record.Key, Value: l.Record.Value, Headers: l.Record.Headers}
	where := wire.HomeOrHere(l.Record)
	r.Partition = where.N
	wire.SetHeader(r, wire.DueHeader, strconv.FormatInt(l.Due.Add(time.Millisecond-1).UnixMilli(), 10))
	wire.SetHeader(r, wire.AttemptHeader, strconv.Itoa(int(l.Attempt)))
	wire.SetHeader(r, wire.HomeHeader, where.String())
	return r
}

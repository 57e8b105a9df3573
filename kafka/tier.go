package kafka

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Headers of a record in a tier, besides its due time.
const (
	attemptHeader = "godwit-attempt" // starts so far
	homeHeader    = "godwit-home"    // where the record was at first: topic/partition/offset
)

// shiftAgain is how long a record waits here that could not be moved to its tier.
const shiftAgain = time.Second

// home is where a record was at first.
type home struct {
	partition
	offset int64
}

func homeAt(r *kgo.Record) home { return home{partition{r.Topic, r.Partition}, r.Offset} }

// String is what decode calls the record that is at home there.
func (h home) String() string { return string(appendPosition(nil, h.topic, h.n, h.offset)) }

// homeOf reads it from the copy in a tier.
func homeOf(r *kgo.Record) (h home, ok bool) {
	parts := strings.Split(header(r, homeHeader), "/")
	if len(parts) != 3 {
		return h, false
	}
	n, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		return h, false
	}
	if h.offset, err = strconv.ParseInt(parts[2], 10, 64); err != nil {
		return h, false
	}
	h.topic, h.n = parts[0], int32(n)
	return h, true
}

// homeBefore is homeOf for what may be at home here.
func homeBefore(r *kgo.Record) home {
	if h, ok := homeOf(r); ok {
		return h
	}
	return homeAt(r)
}

// starts is how often a record in a tier was started.
func starts(r *kgo.Record) int32 {
	n, err := strconv.ParseInt(header(r, attemptHeader), 10, 32)
	if err != nil || n < 0 {
		return 0
	}
	return int32(n)
}

func header(r *kgo.Record, name string) string { return string(lastHeader(r.Headers, name)) }

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
		copies[i].Topic = q.b.names.tier(q.ch, q.fitting(rs[i].Due.Sub(now)))
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
	where := homeBefore(l.Record)
	r.Partition = where.n
	setHeader(r, dueHeader, strconv.FormatInt(l.Due.Add(time.Millisecond-1).UnixMilli(), 10))
	setHeader(r, attemptHeader, strconv.Itoa(int(l.Attempt)))
	setHeader(r, homeHeader, where.String())
	return r
}

func setHeader(r *kgo.Record, name, value string) {
	hs := make([]kgo.RecordHeader, 0, len(r.Headers)+1) // never in place: copies share their headers with what came
	for _, h := range r.Headers {
		if h.Key != name {
			hs = append(hs, h)
		}
	}
	r.Headers = append(hs, kgo.RecordHeader{Key: name, Value: []byte(value)})
}

// original is a message's record as it was at first: that is what dies. The caller holds r.mu.
func (r *receiver) original(m *message) *kgo.Record {
	where, ok := homeOf(m.record)
	if !ok || m.epoch.stay == 0 {
		return m.record
	}
	first := *m.record
	first.Topic, first.Partition, first.Offset = where.topic, where.n, where.offset
	first.Headers = slices.DeleteFunc(slices.Clone(first.Headers), func(h kgo.RecordHeader) bool {
		return h.Key == homeHeader || h.Key == attemptHeader || h.Key == dueHeader
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

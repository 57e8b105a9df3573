package kafka

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

const (
	// releasePause is how long a record waits that was released, so that nothing spins.
	releasePause = time.Second
	// shiftAgain is how long a record waits here that could not be moved to its tier.
	shiftAgain = time.Second
)

// claimed is a message whose copy is published before it counts as settled.
type claimed struct {
	m      *message
	i      int         // of the batch's entry
	record *kgo.Record // a copy for the queue, which may keep it: the message's own memory is used again
	*driver.Settlement
}

// Settle finishes what is done in memory: a later commit tells the broker. What is retried or rejected is published
// first, and finished then. A release leaves the record unfinished: it is delivered again to the next owner of the
// partition.
func (r *receiver) Settle(ctx context.Context, batch []driver.Settlement) error {
	if r.group.closed.Load() {
		return r.errClosed()
	}
	errs := map[int]error{}
	retry, reject := r.claim(batch, errs)
	if len(retry) > 0 {
		r.postpone(ctx, retry, errs)
	}
	if len(reject) > 0 {
		r.reject(ctx, reject, errs)
	}
	return failure.Batch(errs)
}

// claim settles what needs no copy, and returns the rest.
func (r *receiver) claim(batch []driver.Settlement, errs map[int]error) (retry, reject []claimed) {
	l, now := r.ledger, time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range batch {
		switch s := &batch[i]; {
		case s.Action == driver.Done:
			l.claim(s.Handle, finished)
		case s.Action == driver.Release:
			// the receiver of a share group releases what is not handled now; else it waits in its lane
			if m := l.held(s.Handle); m != nil && r.sub.tiersOnly {
				m.due = now.Add(releasePause)
				l.delay(m, m.due)
			}
		case s.Action == driver.Retry && r.sub.retry == nil:
			errs[i] = failure.Permanent("channel %s keeps no retries: its Retries are RetryBlock, so whoever handles "+
				"holds them", r.sub.from)
		case s.Action == driver.Retry:
			if m := l.claim(s.Handle, retrying); m != nil {
				l.lots.reserve(m, now.Add(s.After))
				retry = append(retry, claimed{m, i, shown(m.record), s})
			}
		case s.Action == driver.Reject && r.sub.dead == nil:
			errs[i] = failure.Permanent("channel %s has no dead letters of its own", r.sub.from)
		case s.Action == driver.Reject:
			if m := l.claim(s.Handle, rejecting); m != nil {
				reject = append(reject, claimed{m, i, original(m), s})
			}
		default:
			errs[i] = failure.Permanent("settle: %s is no action", s.Action)
		}
	}
	return retry, reject
}

// shown is a record for a queue to see, and to keep.
func shown(r *kgo.Record) *kgo.Record {
	c := *r
	c.Context = nil // the copy is none of the client's
	return &c
}

// original is a message's record as it was at first, for the dead letters.
func original(m *message) *kgo.Record {
	first := shown(m.record)
	where, ok := wire.HomeOf(m.record)
	if !ok || m.epoch.stay == 0 {
		return first
	}
	first.Topic, first.Partition, first.Offset = where.Topic, where.N, where.Offset
	first.Timestamp = wire.SentAt(first)
	first.Headers = slices.DeleteFunc(slices.Clone(first.Headers), func(h kgo.RecordHeader) bool {
		return wire.OfTiers(h.Key)
	})
	return first
}

// postpone lets records wait for their retry.
func (r *receiver) postpone(ctx context.Context, batch []claimed, errs map[int]error) {
	now := time.Now()
	later := make([]Later, len(batch))
	for k, c := range batch {
		later[k] = Later{
			Record: c.record, Due: now.Add(c.After), Attempt: c.Attempt, FirstFailure: c.FirstFailure,
		}
	}
	answers := r.sub.retry.Put(ctx, later)
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, c := range batch {
		switch m := c.m; {
		case answers[k] != nil:
			errs[c.i] = answers[k]
			l.lots.reclaim(m)
			l.move(m, delivered)
		case r.sub.retry.Durable():
			l.move(m, finished)
		default:
			m.due, m.attempt, m.failed = later[k].Due, later[k].Attempt, later[k].FirstFailure
			l.delay(m, m.due)
		}
	}
}

// reject copies records to the dead letters. The mark is committed before the first of them, because after a crash the
// letters behind the mark count.
func (r *receiver) reject(ctx context.Context, batch []claimed, errs map[int]error) {
	if r.fresh(batch) {
		r.committer.commitNow(r.group.current())
	}
	rejected := make([]Rejected, len(batch))
	for k, c := range batch {
		rejected[k] = Rejected{Record: c.record, Group: r.sub.consumer(), Attempt: c.Attempt}
		if c.Death != nil {
			rejected[k].Death = *c.Death
		}
	}
	answers := r.sub.dead.Put(ctx, rejected)
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, c := range batch {
		switch {
		case answers[k] != nil:
			errs[c.i] = answers[k]
			l.move(c.m, delivered)
		case r.sub.dead.Durable():
			l.move(c.m, finished)
		default:
			l.move(c.m, kept)
		}
	}
}

// fresh says whether a message is of an epoch whose mark no commit has yet.
func (r *receiver) fresh(batch []claimed) bool {
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	return slices.ContainsFunc(batch, func(c claimed) bool { return c.m.epoch.fresh })
}

// shift publishes messages that are not handled now to the tier that fits, and finishes them here.
func (r *receiver) shift(ctx context.Context, ms []*message) error {
	l := r.ledger
	later := make([]Later, len(ms))
	l.mu.Lock()
	for i, m := range ms {
		later[i] = Later{Record: shown(m.record), Due: l.lots.behind(m), Attempt: m.attempt, FirstFailure: m.failed}
		l.lots.reserve(m, later[i].Due)
	}
	l.mu.Unlock()
	answers := r.sub.retry.Put(ctx, later)
	l.mu.Lock()
	defer l.mu.Unlock()
	var failed error
	for i, m := range ms {
		if answers[i] == nil {
			l.move(m, finished)
			continue
		}
		failed = fmt.Errorf("move a record of %s that is not due to its tier: %w", r.sub.from, answers[i])
		l.lots.reclaim(m)
		l.delay(m, time.Now().Add(shiftAgain))
	}
	return failed
}

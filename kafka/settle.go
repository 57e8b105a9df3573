package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

const (
	// releasePause is how long a released record waits, so that a loop of releases does not use up the processor.
	releasePause = time.Second
	// shiftAgain is how long a record waits in this process after its copy could not be published to a tier.
	shiftAgain = time.Second
)

// claimed is a message whose copy is published before the message counts as settled.
type claimed struct {
	m      *message
	i      int         // index of its entry in the batch
	record *kgo.Record // a copy for the queue, which may keep it: the memory of the message's own record is used again
	*driver.Settlement
}

// Settle finishes messages in memory; a later commit stores that. Retried and rejected messages are published first,
// and finished afterwards. A released message stays unfinished: the next owner of the partition gets it again.
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

// claim settles what needs no copy, and returns the entries that need one.
func (r *receiver) claim(batch []driver.Settlement, errs map[int]error) (retry, reject []claimed) {
	l, now := r.ledger, time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range batch {
		switch s := &batch[i]; {
		case s.Action == driver.Done:
			l.claim(s.Handle, finished)
		case s.Action == driver.Release:
			// The receiver of a share group releases what is not handled now. Elsewhere the message waits in its lane.
			if m := l.held(s.Handle); m != nil && r.sub.tiersOnly {
				m.due = now.Add(releasePause)
				l.delay(m, m.due)
			}
		case s.Action == driver.Retry && r.sub.retry == nil:
			errs[i] = failure.Permanent("channel %s takes no retries: its Retries is RetryBlock, so the consumer "+
				"holds them", r.sub.from)
		case s.Action == driver.Retry:
			if m := l.claim(s.Handle, retrying); m != nil {
				l.lots.reserve(m, now.Add(s.After))
				retry = append(retry, claimed{m, i, clone(m.record), s})
			}
		case s.Action == driver.Reject && r.sub.dead == nil:
			errs[i] = failure.Permanent("channel %s has no dead letters: use another verdict than reject", r.sub.from)
		case s.Action == driver.Reject:
			if m := l.claim(s.Handle, rejecting); m != nil {
				reject = append(reject, claimed{m, i, original(m), s})
			}
		default:
			errs[i] = failure.Permanent("channel %s: a settlement has the unknown action %d: use Done, Release, "+
				"Retry or Reject", r.sub.from, s.Action)
		}
	}
	return retry, reject
}

// clone is a copy of a record that a queue may keep.
func clone(r *kgo.Record) *kgo.Record {
	c := *r
	c.Context = nil // the copy does not belong to the client
	return &c
}

// original is the record as it first was, for the dead letters: a record of a tier without the tier's headers.
func original(m *message) *kgo.Record {
	if m.epoch.stay == 0 {
		return clone(m.record)
	}
	return clone(wire.Original(m.record))
}

// postpone publishes messages to where their retries wait.
func (r *receiver) postpone(ctx context.Context, batch []claimed, errs map[int]error) {
	now := time.Now()
	later := make([]Later, len(batch))
	for k, c := range batch {
		later[k] = Later{
			Record: c.record, Due: now.Add(c.After), Attempt: c.Attempt, FirstFailure: c.FirstFailure,
		}
	}
	ms := make([]*message, len(batch))
	for k, c := range batch {
		ms[k] = c.m
	}
	answers := r.putLater(ctx, ms, later)
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, c := range batch {
		switch m := c.m; {
		case errors.Is(answers[k], errInTransaction):
			errs[c.i] = answers[k]
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

// reject publishes records to the dead letters. It first commits the mark of new epochs: after a crash, only the dead
// letters from the mark on count.
func (r *receiver) reject(ctx context.Context, batch []claimed, errs map[int]error) {
	if r.fresh(batch) {
		_ = r.committer.commitNow(r.group.current())
	}
	rejected := make([]Rejected, len(batch))
	for k, c := range batch {
		rejected[k] = Rejected{Record: c.record, Group: r.sub.consumer, Attempt: c.Attempt}
		if c.Death != nil {
			rejected[k].Death = *c.Death
		}
	}
	answers := r.putDead(ctx, batch, rejected)
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, c := range batch {
		switch {
		case errors.Is(answers[k], errInTransaction):
			errs[c.i] = answers[k]
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

// putLater publishes the copies of messages that are retried.
func (r *receiver) putLater(ctx context.Context, ms []*message, later []Later) []error {
	tiers, ok := r.sub.retry.(*tierQueue)
	if r.committer.tx == nil || !ok {
		return r.sub.retry.Put(ctx, later)
	}
	copies, err := tiers.copies(ctx, later)
	if err != nil {
		return slices.Repeat([]error{err}, len(later))
	}
	return r.committer.tx.put(ctx, ms, copies)
}

// putDead publishes the dead letters of rejected messages.
func (r *receiver) putDead(ctx context.Context, batch []claimed, rejected []Rejected) []error {
	letters, ok := r.sub.dead.(*deadTopic)
	if r.committer.tx == nil || !ok {
		return r.sub.dead.Put(ctx, rejected)
	}
	ms := make([]*message, len(batch))
	for k, c := range batch {
		ms[k] = c.m
	}
	return r.committer.tx.put(ctx, ms, letters.letters(rejected))
}

// fresh reports whether a message belongs to an epoch whose mark is not committed yet. In a transaction, a dead letter
// needs no mark.
func (r *receiver) fresh(batch []claimed) bool {
	if r.sub.transforms {
		return false
	}
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	return slices.ContainsFunc(batch, func(c claimed) bool { return c.m.epoch.fresh })
}

// shift publishes messages that are not due to a tier, and finishes them here.
func (r *receiver) shift(ctx context.Context, ms []*message) error {
	l := r.ledger
	later := make([]Later, len(ms))
	l.mu.Lock()
	for i, m := range ms {
		later[i] = Later{Record: clone(m.record), Due: l.lots.behind(m), Attempt: m.attempt, FirstFailure: m.failed}
		l.lots.reserve(m, later[i].Due)
	}
	l.mu.Unlock()
	answers := r.putLater(ctx, ms, later)
	l.mu.Lock()
	defer l.mu.Unlock()
	var failed error
	for i, m := range ms {
		switch {
		case answers[i] == nil:
			l.move(m, finished)
		case !errors.Is(answers[i], errInTransaction): // then the message is finished together with its transaction
			failed = fmt.Errorf("move a record of %s that is not due to its tier: %w", r.sub.from, answers[i])
			l.lots.reclaim(m)
			l.delay(m, time.Now().Add(shiftAgain))
		}
	}
	return failed
}

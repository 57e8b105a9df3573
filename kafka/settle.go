package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// Settle finishes messages in memory; a later commit stores that. Retried and rejected messages are published first,
// and finished afterwards. A released message stays unfinished: the next owner of the partition gets it again.
func (r *receiver) Settle(ctx context.Context, batch []driver.Settlement) error {
	if r.group.closed.Load() {
		return r.errClosed()
	}
	retry, reject, errs := r.ledger.settle(batch)
	r.publish(ctx, retry, r.retry, errs)
	r.publish(ctx, reject, r.reject, errs)
	return failure.Batch(errs)
}

// publish publishes copies of messages, and moves the messages by the answers.
func (r *receiver) publish(
	ctx context.Context, batch []copied, put func(ctx context.Context, batch []copied) (answers []error, durable bool),
	errs map[int]error,
) {
	if len(batch) == 0 {
		return
	}
	answers, durable := put(ctx, batch)
	r.ledger.published(batch, answers, durable)
	for k, c := range batch {
		if answers[k] != nil {
			errs[c.entry] = answers[k]
		}
	}
}

// retry publishes messages to where their retries wait.
func (r *receiver) retry(ctx context.Context, batch []copied) (answers []error, durable bool) {
	later := make([]Later, len(batch))
	for k, c := range batch {
		later[k] = Later{Record: c.record, Due: c.due, Attempt: c.attempt, FirstFailure: c.failed}
	}
	tiers, ok := r.sub.retry.(*tierQueue)
	if r.committer.tx == nil || !ok {
		return r.sub.retry.Put(ctx, later), r.sub.retry.Durable()
	}
	copies, err := tiers.copies(ctx, later)
	if err != nil {
		return slices.Repeat([]error{err}, len(later)), true
	}
	return r.ledger.results.put(ctx, batch, copies), true
}

// reject publishes records to the dead letters. It first commits the mark of new epochs: after a crash, only the dead
// letters from the mark on count. In a transaction, a dead letter needs no mark.
func (r *receiver) reject(ctx context.Context, batch []copied) (answers []error, durable bool) {
	if !r.sub.transforms && slices.ContainsFunc(batch, func(c copied) bool { return c.fresh }) {
		_ = r.committer.commitNow(r.group.current())
	}
	rejected := make([]Rejected, len(batch))
	for k, c := range batch {
		rejected[k] = Rejected{Record: c.record, Group: r.sub.consumer, Attempt: c.attempt}
		if c.death != nil {
			rejected[k].Death = *c.death
		}
	}
	letters, ok := r.sub.dead.(*deadTopic)
	if r.committer.tx == nil || !ok {
		return r.sub.dead.Put(ctx, rejected), r.sub.dead.Durable()
	}
	return r.ledger.results.put(ctx, batch, letters.letters(rejected)), true
}

// shift publishes messages that are not due to a tier, and finishes them here.
func (r *receiver) shift(ctx context.Context, ms []*message) error {
	errs := map[int]error{}
	r.publish(ctx, r.ledger.shift(ms), r.retry, errs)
	for _, err := range errs {
		if !errors.Is(err, errInTransaction) {
			return fmt.Errorf("move a record of %s that is not due to its tier: %w", r.sub.from, err)
		}
	}
	return nil
}

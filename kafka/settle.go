package kafka

import (
	"context"
	"slices"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/records"
)

// Settle finishes messages in memory; a later commit stores that. Retried and rejected messages are published first,
// and finished afterwards. A released message stays unfinished: the next owner of the partition gets it again.
func (r *receiver) Settle(ctx context.Context, batch []driver.Settlement) error {
	if r.group.closed.Load() {
		return r.errClosed()
	}
	retry, reject, errs := r.ledger.Settle(batch)
	if len(retry) > 0 {
		r.retry(ctx, retry, errs)
	}
	if len(reject) > 0 {
		r.reject(ctx, reject, errs)
	}
	return failure.Batch(errs)
}

// retry publishes messages to where their retries wait.
func (r *receiver) retry(ctx context.Context, batch []records.Copy, errs map[int]error) {
	later := laterOf(batch)
	var answers []error
	if tiers, ok := r.sub.retry.(*tierQueue); !ok || r.committer.tx == nil {
		answers = r.sub.retry.Put(ctx, later)
	} else if copies, err := tiers.copies(ctx, later); err != nil {
		answers = slices.Repeat([]error{err}, len(later))
	} else {
		answers = r.ledger.Results.Put(ctx, batch, copies)
	}
	r.ledger.Published(batch, answers, r.sub.retry.Durable(), errs)
}

// reject publishes records to the dead letters. It first commits the mark of new epochs: after a crash, only the dead
// letters from the mark on count. In a transaction, a dead letter needs no mark.
func (r *receiver) reject(ctx context.Context, batch []records.Copy, errs map[int]error) {
	if !r.sub.transforms && slices.ContainsFunc(batch, func(c records.Copy) bool { return c.Fresh }) {
		_ = r.committer.commitNow(r.group.current())
	}
	rejected := rejectedOf(batch, r.sub.consumer)
	var answers []error
	if letters, ok := r.sub.dead.(*deadTopic); !ok || r.committer.tx == nil {
		answers = r.sub.dead.Put(ctx, rejected)
	} else {
		answers = r.ledger.Results.Put(ctx, batch, letters.letters(rejected))
	}
	r.ledger.Published(batch, answers, r.sub.dead.Durable(), errs)
}

// laterOf are copies for a RetryQueue.
func laterOf(batch []records.Copy) []Later {
	all := make([]Later, len(batch))
	for k, c := range batch {
		all[k] = Later{Record: c.Record, Due: c.Due, Attempt: c.Attempt, FirstFailure: c.FirstFailure}
	}
	return all
}

// rejectedOf are copies for a DeadLetterQueue.
func rejectedOf(batch []records.Copy, group string) []Rejected {
	all := make([]Rejected, len(batch))
	for k, c := range batch {
		all[k] = Rejected{Record: c.Record, Group: group, Attempt: c.Attempt}
		if c.Death != nil {
			all[k].Death = *c.Death
		}
	}
	return all
}

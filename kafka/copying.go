package kafka

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// copying are copies of messages that are published in transactions, for a caller that waits for the outcomes.
type copying struct {
	l        *ledger
	ms       []*message
	errs     []error      // the outcomes that the caller has got, and errInTransaction
	outcomes chan outcome // has room for all: the transactor must not wait
	left     bool         // the caller waits no longer; guarded by ledger.mu
}

// outcome is what has become of a copy.
type outcome struct {
	i   int
	err error
}

// errInTransaction is the outcome for a caller that left before the transaction of its copy ended. The message stays in
// its stage: it is finished together with the transaction, and not before.
var errInTransaction = errors.New("the copy is in a transaction whose outcome is not known yet")

// put publishes copies of messages in transactions, and waits for the outcomes until ctx ends.
func (t *transactor) put(ctx context.Context, ms []*message, copies []*kgo.Record) []error {
	c := &copying{
		l: t.ledger, ms: ms, errs: slices.Repeat([]error{errInTransaction}, len(ms)),
		outcomes: make(chan outcome, len(ms)),
	}
	c.enqueue(copies)
	for range ms {
		select {
		case o := <-c.outcomes:
			c.errs[o.i] = o.err
		case <-ctx.Done():
			c.leave(failure.Classify(context.Cause(ctx)))
			return c.errs
		}
	}
	return c.errs
}

// enqueue adds the copies to what waits for a transaction.
func (c *copying) enqueue(copies []*kgo.Record) {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	for i, m := range c.ms {
		c.l.results.queue = append(c.l.results.queue, &result{
			m: m, epoch: m.epoch, records: []*kgo.Record{copies[i]}, answer: func(err error) { c.answer(i, m, err) },
		})
	}
}

// answer is called with the outcome of a copy.
func (c *copying) answer(i int, m *message, err error) {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	switch {
	case !c.left:
		c.outcomes <- outcome{i, err}
	case err != nil && m.stage == moving: // the core does not hold the message, so it is copied again later
		c.l.lots.reclaim(m)
		c.l.delay(m, time.Now().Add(shiftAgain))
	}
	// Another message was reported to the core as not settled. If it has no copy, the partition's next owner gets it.
}

// leave ends the caller's wait, because of why. The copies that are in no transaction yet are not published.
func (c *copying) leave(why error) {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	c.left = true
	for len(c.outcomes) > 0 {
		o := <-c.outcomes
		c.errs[o.i] = o.err
	}
	for i, m := range c.ms {
		if errors.Is(c.errs[i], errInTransaction) && c.l.results.withdraw(m) {
			c.errs[i] = why
		}
	}
}

package records

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// copying are copies of messages that are published in transactions, for a caller that waits for the outcomes.
type copying struct {
	l     *Ledger
	batch []Copy
	done  chan struct{} // closed when all outcomes are known

	mu   sync.Mutex
	errs []error // the outcomes, and ErrInTransaction
	open int     // number of outcomes that are not known
	left bool    // the caller waits no longer
}

// Put publishes copies of messages in transactions, and waits for the outcomes until ctx ends.
func (rs *Results) Put(ctx context.Context, batch []Copy, copies []*kgo.Record) []error {
	c := &copying{
		l: rs.l, batch: batch, done: make(chan struct{}), errs: slices.Repeat([]error{ErrInTransaction}, len(batch)),
		open: len(batch),
	}
	rs.enqueue(batch, copies, c.answer)
	select {
	case <-c.done:
	case <-ctx.Done():
		c.leave(failure.Classify(context.Cause(ctx)))
	}
	return c.errs
}

// answer is called with the outcome of a copy.
func (c *copying) answer(i int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left {
		if err != nil {
			c.l.unpublished(c.batch[i])
		}
		return
	}
	c.errs[i] = err
	if c.open--; c.open == 0 {
		close(c.done)
	}
}

// leave ends the caller's wait, because of why. The copies that are in no transaction yet are not published.
func (c *copying) leave(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = true
	for i := range c.batch {
		if errors.Is(c.errs[i], ErrInTransaction) && c.l.Results.withdraw(c.batch[i]) {
			c.errs[i] = why
		}
	}
}

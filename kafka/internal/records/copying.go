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
	l        *Ledger
	batch    []Copy
	errs     []error      // the outcomes that the caller has got, and errInTransaction
	outcomes chan outcome // has room for all: the transactor must not wait

	mu   sync.Mutex
	left bool // the caller waits no longer
}

// outcome is what has become of a copy.
type outcome struct {
	i   int
	err error
}

// Put publishes copies of messages in transactions, and waits for the outcomes until ctx ends.
func (rs *Results) Put(ctx context.Context, batch []Copy, copies []*kgo.Record) []error {
	c := &copying{
		l: rs.l, batch: batch, errs: slices.Repeat([]error{ErrInTransaction}, len(batch)),
		outcomes: make(chan outcome, len(batch)),
	}
	rs.enqueue(batch, copies, c.answer)
	for range batch {
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

// answer is called with the outcome of a copy.
func (c *copying) answer(i int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.left:
		c.outcomes <- outcome{i, err}
	case err != nil:
		c.l.unpublished(c.batch[i])
	}
}

// leave ends the caller's wait, because of why. The copies that are in no transaction yet are not published.
func (c *copying) leave(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = true
	for len(c.outcomes) > 0 {
		o := <-c.outcomes
		c.errs[o.i] = o.err
	}
	for i := range c.batch {
		if errors.Is(c.errs[i], ErrInTransaction) && c.l.Results.withdraw(c.batch[i]) {
			c.errs[i] = why
		}
	}
}

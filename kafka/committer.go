package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

const (
	// commitEvery is how much work a crash can make undone at most, beyond what is in flight.
	commitEvery = time.Second
	// commitPatience bounds a commit: while its group rebalances, it has to wait.
	commitPatience = 10 * time.Second
	// commitTries bounds how often metadata is made shorter at once; each time it halves.
	commitTries = 5
)

// committer tells the broker what is finished: every second by a goroutine of its own, and when partitions go to
// another member.
type committer struct {
	sub    *subscription
	ledger *ledger
	turn   chan struct{} // holds one while a commit is under way: never two at once, and none is behind another

	mu        sync.Mutex
	trouble   error // of commits that nobody waits for, for the next Receive to return
	shortened int64 // commits whose metadata the broker called too large
}

func newCommitter(sub *subscription, l *ledger) *committer {
	return &committer{sub: sub, ledger: l, turn: make(chan struct{}, 1)}
}

// run commits until ctx ends. current is the member that commits.
func (c *committer) run(ctx context.Context, current func() *member) {
	tick := time.NewTicker(commitEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.commitNow(current())
		}
	}
}

// commitNow commits what there is. The end of the receiver does not cut it short: an answer that nobody waits for any
// more could be to a commit that takes effect after the next one.
func (c *committer) commitNow(m *member) {
	ctx, cancel := context.WithTimeout(context.Background(), commitPatience)
	defer cancel()
	if err := c.commit(ctx, m, c.ledger.of(m)); err != nil && !driver.ClassOf(err).Passing() {
		c.note(err)
	}
}

// commitLast is commit for what is another member's next: between two generations of the group it waits for the new
// one.
func (c *committer) commitLast(ctx context.Context, m *member, es []*epoch) error {
	ctx, cancel := context.WithTimeout(ctx, commitPatience)
	defer cancel()
	for {
		err := c.commit(ctx, m, es)
		between := errors.Is(err, kerr.RebalanceInProgress) || errors.Is(err, kerr.IllegalGeneration)
		if !between || failure.Over(ctx) {
			return err
		}
		_ = backoff.Sleep(ctx, joinPatience)
	}
}

// commit tells the broker what is finished of some epochs.
func (c *committer) commit(ctx context.Context, m *member, es []*epoch) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("commit for group %s: %w", c.sub.group, failure.Classify(context.Cause(ctx)))
	}
	defer func() { <-c.turn }()
	for try := 1; ; try++ {
		what := c.ledger.collect(m, es)
		if len(what.offsets) == 0 {
			return nil
		}
		what.send(ctx, m)
		tooLarge, err := c.answered(m, what)
		if !tooLarge || try == commitTries {
			return err
		}
	}
}

// answered takes the broker's answer in: for each partition, because one that failed leaves the others stored.
func (c *committer) answered(m *member, what *commitment) (tooLarge bool, err error) {
	if what.err != nil {
		return false, fmt.Errorf("commit for group %s: %w", c.sub.group, failure.Classify(what.err))
	}
	for _, t := range what.resp.Topics {
		name := m.name(t.Topic, t.TopicID)
		for _, p := range t.Partitions {
			x, ok := what.told[wire.Partition{Topic: name, N: p.Partition}]
			if !ok {
				continue
			}
			switch perr := kerr.ErrorForCode(p.ErrorCode); {
			case perr == nil:
				c.ledger.answered(x, false)
			case errors.Is(perr, kerr.OffsetMetadataTooLarge):
				c.shorten(x)
				tooLarge = true
			case errors.Is(perr, kerr.UnknownTopicID):
				m.g.createdAgain(m, name)
			default:
				err = fmt.Errorf("commit partition %d of topic %s for group %s: %w", p.Partition, name, c.sub.group,
					failure.Classify(perr))
			}
		}
	}
	return tooLarge, err
}

// shorten makes the metadata of a partition shorter from now on.
func (c *committer) shorten(x told) {
	c.ledger.answered(x, true)
	c.mu.Lock()
	c.shortened++
	times := c.shortened
	c.mu.Unlock()
	c.sub.b.log.Warn("the broker calls commit metadata too large, and gets less from now on: after a crash, more may "+
		"be handled again (offset.metadata.max.bytes)",
		"topic", x.e.Topic, "partition", x.e.N, "characters", len(x.c.Metadata), "times", times)
}

// note keeps an error for the next Receive to return.
func (c *committer) note(err error) {
	c.mu.Lock()
	c.trouble = err
	c.mu.Unlock()
	c.ledger.wakeup.wake()
}

// failed returns the error that was kept, once.
func (c *committer) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.trouble
	c.trouble = nil
	return err
}

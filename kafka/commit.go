package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
	"github.com/twmb/franz-go/pkg/kerr"
)

const (
	// commitEvery is how much work a crash can make undone at most, beyond what is in flight.
	commitEvery = time.Second
	// commitPatience bounds a commit: while the group is joined anew it has to wait.
	commitPatience = 10 * time.Second
	// commitTries bounds how often metadata is made shorter at once; each time it halves.
	commitTries = 5
	// watchEvery is how often topics are compared with what they were when the member joined.
	watchEvery = 10 * time.Second
)

// keepCommitting commits, and watches the topics, until the receiver stops.
func (r *receiver) keepCommitting() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.wg.Go(func() {
		<-r.stop
		cancel()
	})
	tick := time.NewTicker(commitEvery)
	defer tick.Stop()
	watch := time.NewTicker(watchEvery)
	defer watch.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-tick.C:
			r.commitNow()
		case <-watch.C:
			r.watch(ctx)
		}
	}
}

// commitNow commits what there is. The end of the receiver does not cut it short: an answer that nobody waits for any more could
// be to a commit that takes effect after the next one.
func (r *receiver) commitNow() {
	r.mu.Lock()
	m := r.member
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), commitPatience)
	defer cancel()
	if err := r.commit(ctx, m, m.all()); err != nil && !driver.ClassOf(err).Passing() {
		r.note(err)
	}
}

// commit tells the broker what is finished of some epochs. One is under way at a time, and none is ever behind another.
func (r *receiver) commit(ctx context.Context, m *member, es []*epoch) error {
	select {
	case r.committing <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("commit for group %s: %w", r.group, failure.Classify(context.Cause(ctx)))
	}
	defer func() { <-r.committing }()
	for try := 1; ; try++ {
		c := r.collect(m, es)
		if len(c.offsets) == 0 {
			return nil
		}
		c.send(ctx, m)
		tooLarge, err := r.committed(c)
		if !tooLarge || try == commitTries {
			return err
		}
	}
}

// commitLast is commit for what is another member's next: between two generations of the group it waits for the new one.
func (r *receiver) commitLast(ctx context.Context, m *member, es []*epoch) error {
	ctx, cancel := context.WithTimeout(ctx, commitPatience)
	defer cancel()
	for {
		err := r.commit(ctx, m, es)
		between := errors.Is(err, kerr.RebalanceInProgress) || errors.Is(err, kerr.IllegalGeneration)
		if !between || failure.Over(ctx) {
			return err
		}
		_ = backoff.Sleep(ctx, joinPatience)
	}
}

// committed takes the answer in: for each partition, because one that failed leaves the others stored.
func (r *receiver) committed(c *commitment) (tooLarge bool, err error) {
	if c.err != nil {
		return false, fmt.Errorf("commit for group %s: %w", r.group, failure.Classify(c.err))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range c.resp.Topics {
		name := c.names(t.Topic, t.TopicID)
		for _, p := range t.Partitions {
			x, ok := c.told[wire.Partition{Topic: name, N: p.Partition}]
			if !ok {
				continue
			}
			switch perr := kerr.ErrorForCode(p.ErrorCode); {
			case perr == nil:
				x.e.tracker.Committed(x.c)
			case errors.Is(perr, kerr.OffsetMetadataTooLarge):
				x.e.tracker.Shorten()
				r.shortened++
				tooLarge = true
				r.b.log.Warn("the broker calls commit metadata too large, and gets less from now on: after a crash, more may be handled again (offset.metadata.max.bytes)",
					"topic", name, "partition", p.Partition, "characters", len(x.c.Metadata), "times", r.shortened)
			case errors.Is(perr, kerr.UnknownTopicID):
				r.madeAnew(name)
			default:
				err = fmt.Errorf("commit partition %d of topic %s for group %s: %w", p.Partition, name, r.group, failure.Classify(perr))
			}
		}
	}
	return tooLarge, err
}

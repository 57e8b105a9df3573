package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/records"
	"github.com/godwitmq/godwit/kafka/internal/transact"
)

// joinPatience is how long a commit waits for a join in progress; most joins are over by then.
const joinPatience = 100 * time.Millisecond

const (
	// commitInterval and commitRecords are the defaults of the options of the same name.
	commitInterval = time.Second
	commitRecords  = 1_000
	// commitPause is the least time between two commits because of commitRecords: a thousand commits a second would
	// cost the client a third of its time, and the broker more.
	commitPause = 10 * time.Millisecond
	// commitPatience bounds a commit, which has to wait while its group rebalances.
	commitPatience = 10 * time.Second
	// commitTries bounds how often metadata that is too large is shortened in a row; each time it halves.
	commitTries = 5
)

// committer commits what is finished: every second in a goroutine of its own, and when partitions go to another member.
type committer struct {
	sub    *subscription
	ledger *records.Ledger
	tx     *transact.Transactor // nil: no transactions
	turn   chan struct{}        // holds one element during a commit: commits neither overlap nor overtake each other

	mu        sync.Mutex
	failure   error // the latest error of a background commit, for the next Receive to return
	shortened int64 // how many commits the broker refused because their metadata was too large
}

func newCommitter(sub *subscription, l *records.Ledger) *committer {
	c := &committer{sub: sub, ledger: l, turn: make(chan struct{}, 1)}
	if sub.transforms {
		c.tx = &transact.Transactor{Config: sub.transactions(l)}
	}
	return c
}

// run commits until ctx ends. current is the member that commits.
func (c *committer) run(ctx context.Context, current func() *member) {
	tick := time.NewTicker(c.sub.commitInterval())
	defer tick.Stop()
	var last time.Time
	for failed := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-c.ledger.Enough:
			if c.tx == nil {
				_ = backoff.Sleep(ctx, commitPause-time.Since(last))
			}
		}
		last = time.Now()
		err := c.commitNow(current())
		if err == nil {
			failed = 0
			continue
		}
		failed++
		again := commitAgain
		if c.tx != nil { // a transaction that is tried again needs a new client
			again = transactionAgain
			if failed >= transactionFailures {
				c.note(err)
			}
		}
		_ = backoff.Sleep(ctx, again.Jittered(failed))
	}
}

// transactionFailures is the number of transactions that fail in a row until the receiver reports it, whatever the
// reason: single ones fail when partitions move.
const transactionFailures = 3

// transactionAgain is the delay between two tries of a transaction.
var transactionAgain = backoff.Curve{First: 100 * time.Millisecond, Max: 5 * time.Second}

// commitNow commits what is finished. The end of the receiver does not cancel the commit: otherwise a request could
// take effect on the broker after the receiver's last commit.
func (c *committer) commitNow(m *member) error {
	ctx, cancel := context.WithTimeout(context.Background(), commitPatience)
	defer cancel()
	err := c.commit(ctx, m, c.ledger.Epochs.Of(m.Member))
	if err != nil && !driver.ClassOf(err).Passing() {
		c.note(err)
	}
	return err
}

// commitLast commits for partitions that go to another member. Between two generations of the group it waits for the
// new one.
func (c *committer) commitLast(ctx context.Context, m *member, es []*records.Epoch) error {
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

// commitEnd is the last commit of a receiver that is being closed. If the broker is away, it is tried again almost as
// long as the stop may take: it succeeds when the broker is back, or when the member has its partitions again.
func (c *committer) commitEnd(ctx context.Context, m *member) error {
	ends := time.Now().Add(commitPatience)
	if stop, ok := ctx.Deadline(); ok {
		ends = stop.Add(-min(leaveReserve, time.Until(stop)/10))
	}
	ctx, cancel := context.WithDeadline(ctx, ends)
	defer cancel()
	for try, why := 1, error(nil); ; try++ {
		err := c.commit(ctx, m, c.ledger.Epochs.Of(m.Member))
		if failure.Over(ctx) {
			return cmp.Or(why, err) // the service's error says more than the end of the time
		}
		again := c.ledger.Epochs.Uncommitted(m.Member) > 0 && driver.ClassOf(err).Passing()
		if err == nil {
			again = c.ledger.Epochs.Awaited()
		}
		if !again {
			return err
		}
		why = err
		_ = backoff.Sleep(ctx, commitAgain.Jittered(try))
	}
}

// commitAgain is the delay between two tries of a commit.
var commitAgain = backoff.Curve{First: joinPatience, Max: time.Second}

// leaveReserve is the part of a stop's time in which a member whose last commit has failed leaves its group; a tenth of
// a short time.
const leaveReserve = time.Second

// commit commits what is finished in some epochs.
func (c *committer) commit(ctx context.Context, m *member, es []*records.Epoch) error {
	if err := c.takeTurn(ctx); err != nil {
		return err
	}
	defer func() { <-c.turn }()
	if c.tx != nil {
		if err := c.tx.Commit(ctx, m.Member, m.commitment); err != nil {
			return err
		}
	}
	return c.store(ctx, m, es)
}

// commitStart commits where epochs begin, before they have records.
func (c *committer) commitStart(ctx context.Context, m *member, es []*records.Epoch) error {
	if err := c.takeTurn(ctx); err != nil {
		return err
	}
	defer func() { <-c.turn }()
	return c.store(ctx, m, es)
}

func (c *committer) takeTurn(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("commit for group %s: %w", c.sub.group, failure.Classify(context.Cause(ctx)))
	}
}

// store commits what some epochs have to commit, without a transaction.
func (c *committer) store(ctx context.Context, m *member, es []*records.Epoch) error {
	for try := 1; ; try++ {
		what := m.commitment()
		if c.ledger.Collect(what, es); len(what.Offsets) == 0 {
			return nil
		}
		answer, err := m.send(ctx, what)
		if err != nil {
			return fmt.Errorf("commit for group %s: %w", c.sub.group, failure.Classify(err))
		}
		tooLarge, err := c.answered(m, what, answer)
		if !tooLarge || try == commitTries {
			return err
		}
	}
}

// commitment is an empty commit of a member.
func (m *member) commitment() *records.Commitment {
	id, generation := m.client.GroupMetadata()
	return records.NewCommitment(m.Member, id, generation)
}

// send makes the request, with the metadata. While a group of the classic kind joins, franz-go delays commits until all
// members have joined: possibly for the session timeout of a crashed member. A second crash meanwhile would undo all
// that was finished in that time. Brokers accept commits of the generation that ends, so after joinPatience the request
// bypasses franz-go's wait.
func (m *member) send(ctx context.Context, c *records.Commitment) (answer *kmsg.OffsetCommitResponse, err error) {
	var begun atomic.Bool // either franz-go's request or the bypass has begun
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	if !m.byBroker() && c.KnowsTopics() {
		late := time.AfterFunc(joinPatience, func() {
			if begun.CompareAndSwap(false, true) {
				cancel()
			}
		})
		defer late.Stop()
	}
	past := false
	waiting = kgo.PreCommitFnContext(waiting, func(req *kmsg.OffsetCommitRequest) error {
		if past = !begun.CompareAndSwap(false, true); past {
			return errJoining
		}
		c.Write(req)
		return nil
	})
	m.client.CommitOffsetsSync(waiting, c.Offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest,
		resp *kmsg.OffsetCommitResponse, rerr error,
	) {
		answer, err = resp, rerr
	})
	if past || failure.Over(waiting) && !failure.Over(ctx) {
		return c.Request().RequestWith(ctx, m.client)
	}
	return answer, err
}

var errJoining = errors.New("the group is joining")

// answered processes the broker's answer, for each partition: if one fails, the others are stored all the same.
func (c *committer) answered(
	m *member, what *records.Commitment, answer *kmsg.OffsetCommitResponse,
) (tooLarge bool, err error) {
	for _, t := range answer.Topics {
		name := m.Name(t.Topic, t.TopicID)
		for _, p := range t.Partitions {
			x, ok := what.Part(name, t.TopicID, p.Partition)
			if !ok {
				continue
			}
			switch perr := kerr.ErrorForCode(p.ErrorCode); {
			case perr == nil:
				c.ledger.Answered(false, x)
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

// shorten shortens the metadata of a partition from now on.
func (c *committer) shorten(x records.Part) {
	c.ledger.Answered(true, x)
	c.mu.Lock()
	c.shortened++
	times := c.shortened
	c.mu.Unlock()
	c.sub.b.log.Warn("the broker refuses commit metadata as too large, so less is committed from now on, and a crash "+
		"may repeat more: raise offset.metadata.max.bytes of the brokers",
		"topic", x.Epoch.Topic, "partition", x.Epoch.N, "characters", len(x.Commit.Metadata), "times", times)
}

// note keeps an error for the next Receive.
func (c *committer) note(err error) {
	c.mu.Lock()
	c.failure = err
	c.mu.Unlock()
	c.ledger.Wakeup.Wake()
}

// failed returns the kept error, once.
func (c *committer) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.failure
	c.failure = nil
	return err
}

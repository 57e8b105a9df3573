package kafka

import (
	"errors"
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

// copied is a message whose copy is published before the message counts as settled.
type copied struct {
	m      *message
	entry  int         // index of its settlement in the batch
	record *kgo.Record // what its queue may keep: the memory of the message's own record is used again
	fresh  bool        // no commit has the mark of its epoch yet

	due     time.Time     // of a retry
	attempt int32         // number of starts
	failed  time.Time     // of a retry: the first failure; zero: unknown
	death   *driver.Death // of a dead letter; may be nil
}

// settle settles what needs no copy, and returns the entries that need one, with the errors of others.
func (l *ledger) settle(batch []driver.Settlement) (retry, reject []copied, errs map[int]error) {
	errs = map[int]error{}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range batch {
		switch s := &batch[i]; {
		case s.Action == driver.Done:
			l.claim(s.Handle, finished)
		case s.Action == driver.Release:
			if m := l.held(s.Handle); m != nil && l.rules.releases {
				m.due = now.Add(releasePause)
				l.delay(m, m.due)
			}
		case s.Action == driver.Retry && !l.rules.retries:
			errs[i] = failure.Permanent("channel %s takes no retries: its Retries is RetryBlock, so the consumer "+
				"holds them", l.rules.channel)
		case s.Action == driver.Retry:
			if m := l.claim(s.Handle, retrying); m != nil {
				c := copied{m: m, entry: i, record: clone(m.record), due: now.Add(s.After), attempt: s.Attempt}
				c.failed = s.FirstFailure
				l.lots.reserve(m, c.due)
				retry = append(retry, c)
			}
		case s.Action == driver.Reject && !l.rules.rejects:
			errs[i] = failure.Permanent("channel %s has no dead letters: use another verdict than reject",
				l.rules.channel)
		case s.Action == driver.Reject:
			if m := l.claim(s.Handle, rejecting); m != nil {
				reject = append(reject, copied{
					m: m, entry: i, record: original(m), fresh: m.epoch.fresh, attempt: s.Attempt, death: s.Death,
				})
			}
		default:
			errs[i] = failure.Permanent("channel %s: a settlement has the unknown action %d: use Done, Release, "+
				"Retry or Reject", l.rules.channel, s.Action)
		}
	}
	return retry, reject, errs
}

// shift returns the copies of messages that a round takes out of this process.
func (l *ledger) shift(ms []*message) []copied {
	all := make([]copied, len(ms))
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, m := range ms {
		all[i] = copied{m: m, entry: i, record: clone(m.record), attempt: m.attempt, failed: m.failed}
		all[i].due = l.lots.behind(m)
		l.lots.reserve(m, all[i].due)
	}
	return all
}

// errInTransaction is the answer for a copy whose transaction has not ended when its caller leaves. The message stays
// in its stage: it is finished together with the transaction, and not before.
var errInTransaction = errors.New("the copy is in a transaction whose outcome is not known yet")

// published moves the messages of copies, by their stage and by the answers of the queue. durable: the queue delivers
// the copies, or keeps them, after this process has ended.
func (l *ledger) published(batch []copied, answers []error, durable bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range batch {
		c := &batch[i]
		m, err := c.m, answers[i]
		switch {
		case errors.Is(err, errInTransaction):
		case err == nil && durable:
			l.move(m, finished)
		case err != nil && m.stage == moving:
			l.shiftLater(m)
		case err != nil:
			if m.stage == retrying {
				l.lots.reclaim(m)
			}
			l.move(m, delivered)
		case m.stage == rejecting:
			l.move(m, kept)
		default:
			m.due, m.attempt, m.failed = c.due, c.attempt, c.failed
			l.delay(m, m.due)
		}
	}
}

// unpublished is called when a copy was not published, and its caller has left. A message that the core holds was
// reported as not settled: if it has no copy, the partition's next owner gets it.
func (l *ledger) unpublished(c copied) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.m.stage == moving {
		l.shiftLater(c.m)
	}
}

// shiftLater lets a message wait in this process that could not be moved to its tier.
func (l *ledger) shiftLater(m *message) {
	l.lots.reclaim(m)
	l.delay(m, time.Now().Add(shiftAgain))
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

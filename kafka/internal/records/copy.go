package records

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

// Copy is a message whose copy is published before the message counts as settled.
type Copy struct {
	m      *Message
	Entry  int         // index of its settlement in the batch
	Record *kgo.Record // what its queue may keep: the memory of the message's own record is used again
	Fresh  bool        // no commit has the mark of its epoch yet

	Due          time.Time     // of a retry
	Attempt      int32         // number of starts
	FirstFailure time.Time     // of a retry: the first failure; zero: unknown
	Death        *driver.Death // of a dead letter; may be nil
}

// Settle settles what needs no copy, and returns the entries that need one, with the errors of others.
func (l *Ledger) Settle(batch []driver.Settlement) (retry, reject []Copy, errs map[int]error) {
	errs = map[int]error{}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range batch {
		switch s := &batch[i]; {
		case s.Action == driver.Done:
			l.claim(s.Handle, finished)
		case s.Action == driver.Release:
			if m := l.held(s.Handle); m != nil && l.Rules.Releases {
				m.due = now.Add(releasePause)
				l.delay(m, m.due)
			}
		case s.Action == driver.Retry && !l.Rules.Retries:
			errs[i] = failure.Permanent("channel %s takes no retries: its Retries is RetryBlock, so the consumer "+
				"holds them", l.Rules.Channel)
		case s.Action == driver.Retry:
			if m := l.claim(s.Handle, retrying); m != nil {
				c := Copy{m: m, Entry: i, Record: clone(m.Record), Due: now.Add(s.After), Attempt: s.Attempt}
				c.FirstFailure = s.FirstFailure
				l.lots.reserve(m, c.Due)
				retry = append(retry, c)
			}
		case s.Action == driver.Reject && !l.Rules.Rejects:
			errs[i] = failure.Permanent("channel %s has no dead letters: use another verdict than reject",
				l.Rules.Channel)
		case s.Action == driver.Reject:
			if m := l.claim(s.Handle, rejecting); m != nil {
				reject = append(reject, Copy{
					m: m, Entry: i, Record: original(m), Fresh: m.Epoch.fresh, Attempt: s.Attempt, Death: s.Death,
				})
			}
		default:
			errs[i] = failure.Permanent("channel %s: a settlement has the unknown action %d: use Done, Release, "+
				"Retry or Reject", l.Rules.Channel, s.Action)
		}
	}
	return retry, reject, errs
}

// Shift returns the copies of messages that a round takes out of this process.
func (l *Ledger) Shift(ms []*Message) []Copy {
	all := make([]Copy, len(ms))
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, m := range ms {
		all[i] = Copy{m: m, Entry: i, Record: clone(m.Record), Attempt: m.Attempt, FirstFailure: m.Failed}
		all[i].Due = l.lots.behind(m)
		l.lots.reserve(m, all[i].Due)
	}
	return all
}

// ErrInTransaction is the answer for a copy whose transaction has not ended when its caller leaves. The message stays
// in its stage: it is finished together with the transaction, and not before.
var ErrInTransaction = errors.New("the copy is in a transaction whose outcome is not known yet")

// Published moves the messages of copies, by their stage and the answers of the queue, and adds the errors to errs, by
// entry. durable: the queue delivers the copies, or keeps them, after this process has ended.
func (l *Ledger) Published(batch []Copy, answers []error, durable bool, errs map[int]error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range batch {
		c := &batch[i]
		m, err := c.m, answers[i]
		if err != nil {
			errs[c.Entry] = err
		}
		switch {
		case errors.Is(err, ErrInTransaction):
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
			m.due, m.Attempt, m.Failed = c.Due, c.Attempt, c.FirstFailure
			l.delay(m, m.due)
		}
	}
}

// unpublished is called when a copy was not published, and its caller has left. A message that the core holds was
// reported as not settled: if it has no copy, the partition's next owner gets it.
func (l *Ledger) unpublished(c Copy) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.m.stage == moving {
		l.shiftLater(c.m)
	}
}

// shiftLater lets a message wait in this process that could not be moved to its tier.
func (l *Ledger) shiftLater(m *Message) {
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
func original(m *Message) *kgo.Record {
	if m.Epoch.Stay == 0 {
		return clone(m.Record)
	}
	return clone(wire.Original(m.Record))
}

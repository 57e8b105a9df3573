package share

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/godwitmq/godwit/kafka/internal/failure"
)

const (
	// runLinger is how long finished records wait for the rest of their run, while handlers are fast and there are
	// several partitions. A broker keeps one state for a run that is accepted as a whole, and otherwise one for each
	// record, which is slower. With one partition the waiting would cost more: a broker locks 2,000 records of a
	// partition, so the next ones come after an acceptance.
	runLinger = 20 * time.Millisecond
	// lockGrace is how long after its end a lock still counts: the broker's clock decides.
	lockGrace = time.Second
)

// locks has the locks that one broker has given to a session, and the acks that the broker is to get. Its methods do no
// I/O. Guarded by the session's lock. freed, which many of them return, is how many locks without a verdict are gone.
type locks struct {
	budget   *budget
	runs     map[int32][]*run
	pending  []ack   // for the next request
	partial  []*run  // with acks that wait for the rest of their run
	suspects [][]ack // parts of a refused request: one of the acks was wrong
	lost     lostAcks
}

// lostAcks are finished records whose acceptance did not reach the broker, and that no call waits for.
type lostAcks struct {
	n   int
	err error
}

// enter adds a run, instead of the locks of the same offsets: the broker has delivered those again, because their time
// was over.
func (b *locks) enter(u *run, g *fetched, gaps []ack) (freed int) {
	for _, r := range g.acquired {
		freed += b.replaced(g.n, r.FirstOffset, r.LastOffset)
	}
	if u.open > 0 {
		b.runs[g.n] = append(b.runs[g.n], u)
	}
	b.pending = append(b.pending, gaps...)
	return freed
}

// replaced ends the locks of a range of offsets.
func (b *locks) replaced(partition int32, first, last int64) (freed int) {
	for _, u := range slices.Clone(b.runs[partition]) {
		if n := len(u.locks); u.locks[0].record.Offset > last || u.locks[n-1].record.Offset < first {
			continue
		}
		for i := range u.locks {
			if at := u.locks[i].record.Offset; at >= first && at <= last {
				freed += b.drop(&u.locks[i])
			}
		}
	}
	return freed
}

// claim gives a lock its verdict; false: the lock is lost, or has one.
func (b *locks) claim(l *lock) bool {
	if l.stage != held {
		return false
	}
	l.stage = settled
	return true
}

// unclaim takes the verdict back, because the copy of the record could not be published.
func (b *locks) unclaim(l *lock) {
	if l.stage == settled {
		l.stage = held
		b.budget.undone(1)
	}
}

// claimOld claims the locks of records that were delivered before, and returns them.
func (b *locks) claimOld() (old []*lock) {
	for _, us := range b.runs {
		for _, u := range us {
			for i := range u.locks {
				if l := &u.locks[i]; !l.fresh() && b.claim(l) {
					old = append(old, l)
				}
			}
		}
	}
	return old
}

// finish notes that a record is done. Nobody waits for the answer. several reports whether the session has several
// partitions. waits reports that the ack waits for others, so that nothing has to be sent at once.
func (b *locks) finish(l *lock, several bool) (freed int, waits bool) {
	switch l.stage {
	case held:
		l.stage = settled
		u := l.run
		if u.done == nil && (!b.budget.fast.Load() || !several) {
			b.pending = append(b.pending, ackOf(l, accept, nil, 0))
			return 1, false
		}
		if u.done == nil {
			u.done, u.since = make([]ack, 0, u.open), time.Now()
			b.partial = append(b.partial, u)
		}
		u.done = append(u.done, ackOf(l, accept, nil, 0))
		return 1, len(u.done) > 1 && len(u.done) < u.open
	case gone:
		b.lost.n, b.lost.err = b.lost.n+1, errEnded
	}
	return 0, false
}

// add queues acks.
func (b *locks) add(as []ack) {
	for i := range as {
		if l := as[i].lock; l != nil && l.stage == gone {
			b.answered(&as[i], errEnded, time.Time{})
		} else {
			b.pending = append(b.pending, as[i])
		}
	}
}

// join makes the acks of runs pending that have waited long enough.
func (b *locks) join(now time.Time) {
	b.partial = slices.DeleteFunc(b.partial, func(u *run) bool {
		if len(u.done) < u.open && now.Sub(u.since) < runLinger {
			return false
		}
		b.pending = append(b.pending, u.done...)
		u.done = nil
		return true
	})
}

// take returns the pending acks, to be sent.
func (b *locks) take() []ack {
	as := b.pending
	b.pending = nil
	return as
}

// suspect returns a part of a refused request, to be sent; nil: there is none.
func (b *locks) suspect() []ack {
	if len(b.suspects) == 0 {
		return nil
	}
	as := b.suspects[0]
	b.suspects = b.suspects[1:]
	return as
}

// answer answers the acks of a request, and returns how many held locks are gone.
func (b *locks) answer(x *exchange, a *answer) (freed int) {
	for i := range x.parts {
		p := &x.parts[i]
		err, told := a.acks[p.n]
		if !told {
			err = fmt.Errorf("the broker has not answered for partition %d", p.n)
		}
		freed += b.digest(p.acks, err, a.asked.Add(a.lock))
	}
	return freed
}

// digest ends the acks of a part of a request. If the broker refuses all of them because of one, whose lock has ended,
// they are sent again in halves.
func (b *locks) digest(as []ack, err error, renewed time.Time) (freed int) {
	if wrongState(err) && len(as) > 1 {
		half := len(as) / 2
		b.suspects = append(b.suspects, as[:half:half], as[half:])
		return 0
	}
	for i := range as {
		freed += b.answered(&as[i], err, renewed)
	}
	return freed
}

// answered ends an ack.
func (b *locks) answered(a *ack, err error, renewed time.Time) (freed int) {
	l := a.lock
	switch {
	case l == nil:
		return 0
	case err == nil && a.what == renew:
		if l.ends.Before(renewed) {
			l.ends = renewed
		}
	case err == nil:
		b.drop(l)
	case l.stage == gone:
		b.lose(a, err)
		err = lostFor(err)
	case again(err):
		err = failure.Classify(err)
		if a.call == nil { // nobody would repeat it
			b.pending = append(b.pending, *a)
			return 0
		}
		if a.what != renew {
			b.unclaim(l)
		}
	default:
		b.lose(a, err)
		err = lostFor(err)
		freed = b.drop(l)
	}
	if a.call != nil {
		a.call.answer(a.i, err)
	}
	return freed
}

// lose counts an acceptance that nobody waits for, and that the broker has not taken.
func (b *locks) lose(a *ack, err error) {
	if a.call == nil && a.what == accept {
		b.lost.n, b.lost.err = b.lost.n+1, err
	}
}

// takeLost returns what was lost since the last call.
func (b *locks) takeLost() lostAcks {
	l := b.lost
	b.lost = lostAcks{}
	return l
}

// drop ends a lock.
func (b *locks) drop(l *lock) (freed int) {
	if l.stage == gone {
		return 0
	}
	if l.stage == held {
		freed = 1
	}
	l.stage = gone
	u := l.run
	if u.open--; u.open == 0 {
		left := slices.DeleteFunc(b.runs[u.partition], func(other *run) bool { return other == u })
		if b.runs[u.partition] = left; len(left) == 0 {
			delete(b.runs, u.partition)
		}
	}
	return freed
}

// dropAll ends all locks of a partition.
func (b *locks) dropAll(partition int32) (freed int) {
	for _, u := range slices.Clone(b.runs[partition]) {
		u.lost.Store(true)
		for i := range u.locks {
			freed += b.drop(&u.locks[i])
		}
	}
	return freed
}

// sweep ends the locks whose time is over, so that they hold nothing of the budget.
func (b *locks) sweep(now time.Time) (freed int) {
	for _, us := range b.runs {
		for _, u := range slices.Clone(us) {
			for i := range u.locks {
				if l := &u.locks[i]; l.stage == held && now.Sub(l.ends) > lockGrace {
					freed += b.drop(l)
				}
			}
		}
	}
	return freed
}

// clear ends everything, with the acks of the request that was sent last.
func (b *locks) clear(sent []ack, err error) (freed int) {
	for partition := range b.runs {
		freed += b.dropAll(partition)
	}
	b.join(time.Now().Add(runLinger))
	ended := slices.Concat(slices.Concat(b.suspects...), b.take(), sent)
	b.suspects = nil
	for i := range ended {
		b.answered(&ended[i], err, time.Time{})
	}
	return freed
}

// wrongState says that the broker does not know a lock of the request.
func wrongState(err error) bool {
	return errors.Is(err, kerr.InvalidRecordState) || errors.Is(err, kerr.InvalidRequest)
}

// again reports whether the broker still holds the lock after such an error, so that the verdict can be repeated.
func again(err error) bool {
	return errors.Is(err, kerr.KafkaStorageError) || errors.Is(err, kerr.RequestTimedOut) ||
		errors.Is(err, kerr.CoordinatorNotAvailable) || errors.Is(err, kerr.CoordinatorLoadInProgress)
}

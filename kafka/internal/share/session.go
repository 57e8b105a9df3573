package share

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

const (
	// heldWait is how long a fetch waits for records while locks are held: their verdicts and renewals wait behind it,
	// because a session has one request at a time.
	heldWait = 100 * time.Millisecond
	// ackLinger is how long acks wait for a fetch that they can travel with.
	ackLinger = 10 * time.Millisecond
	// runLinger is how long finished records wait for the rest of their run, while handlers are fast and there are
	// several partitions. A broker keeps one state for a run that is accepted as a whole, and otherwise one for each
	// record, which is slower. With one partition the waiting would cost more: a broker locks 2,000 records of a
	// partition, so the next ones come after an acceptance.
	runLinger = 20 * time.Millisecond
	// sweepEvery is how often a session looks for locks that have ended.
	sweepEvery = time.Second
	// lockGrace is how long after its end a lock still counts: the broker's clock decides.
	lockGrace = time.Second
)

var (
	errEnded     = errors.New("the lock of the record has ended")
	errRecreated = errors.New("the topic was deleted and created again")
	errReset     = errors.New("the session with the broker began again")
)

// session is the exchange of requests with one broker. A broker numbers the requests of a member, so there is one at a
// time, and all are sent by the session's goroutine.
type session struct {
	r       *Receiver
	broker  int32
	wake    chan struct{} // holds one: there may be something to send
	answers chan *answer  // with records, to be admitted
	decode  decoder       // of their goroutine

	mu       sync.Mutex
	topicID  [16]byte
	want     map[int32]bool // partitions to fetch
	have     map[int32]bool // partitions that the broker fetches for this session
	epoch    int32          // of the next request; 0: there is no session yet
	resets   int            // how often the session began again: an answer of an older one does not count
	runs     map[int32][]*run
	pending  []ack
	waiting  time.Time // since when acks wait for a fetch; zero: none do
	partial  []*run    // with acks that wait for the rest of their run
	suspects [][]ack   // parts of a refused request: one of the acks was wrong
	lost     lostAcks
	fails    int // requests in a row that failed
}

// lostAcks are finished records whose acceptance did not reach the broker, and that no call waits for.
type lostAcks struct {
	n   int
	err error
}

func newSession(r *Receiver, broker int32) *session {
	return &session{
		r: r, broker: broker, wake: make(chan struct{}, 1), answers: make(chan *answer, 1),
		decode: newDecoder(r.c.Topic), want: map[int32]bool{}, have: map[int32]bool{}, runs: map[int32][]*run{},
	}
}

// run sends requests until the receiver ends.
func (s *session) run() {
	var admission sync.WaitGroup
	defer admission.Wait()
	defer close(s.answers)
	admission.Go(s.admit)
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	linger := time.NewTimer(0)
	defer linger.Stop()
	for !failure.Over(s.r.polls) {
		x, wait := s.next(time.Now())
		if x != nil {
			if err := s.exchange(s.r.requests, x); err != nil {
				s.failed(err)
			} else {
				s.fails = 0
			}
			continue
		}
		if wait > 0 {
			linger.Reset(wait)
		}
		select {
		case <-s.wake:
		case <-linger.C:
		case <-sweep.C:
			s.sweep(time.Now())
		case <-s.r.polls.Done():
		}
	}
}

// failed waits after a failed request. The first failure alone is not reported: a broker that closes an idle
// connection is no trouble.
func (s *session) failed(err error) {
	if failure.Over(s.r.polls) {
		return
	}
	s.fails++
	s.r.member.lookAgain()
	if err = failure.Classify(err); s.fails > 1 || !driver.ClassOf(err).Passing() {
		s.r.queue.put(nil, fmt.Errorf("poll topic %s at broker %d: %w", s.r.c.Topic, s.broker, err))
	}
	_ = backoff.Sleep(s.r.polls, pollPauses.Wait(s.fails))
}

// next is what to send now; nil: nothing, and wait says when to look again at the latest, if it is not 0.
func (s *session) next(now time.Time) (_ *exchange, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.join(now)
	x := &exchange{resets: s.resets}
	switch {
	case len(s.suspects) > 0:
		x.acks = s.suspects[0]
		s.suspects = s.suspects[1:]
	case s.ackAlone():
		x.acks, s.pending = s.pending, nil
	default:
		n, whole := s.room()
		switch {
		case n > 0:
		case len(s.pending) == 0 && len(s.partial) > 0:
			return nil, runLinger
		case len(s.pending) == 0:
			return nil, 0
		case s.waiting.IsZero():
			s.waiting = now
			return nil, ackLinger
		case now.Sub(s.waiting) < ackLinger:
			return nil, ackLinger - now.Sub(s.waiting)
		}
		x.fetch, x.whole = n, whole
		x.acks, s.pending = s.pending, nil
	}
	s.waiting = time.Time{}
	x.arrange()
	if x.fetch == 0 && len(x.parts) == 0 {
		return nil, 0
	}
	return x, 0
}

// join makes the acks of runs pending that have waited long enough. The caller holds the lock.
func (s *session) join(now time.Time) {
	s.partial = slices.DeleteFunc(s.partial, func(u *run) bool {
		if len(u.done) < u.open && now.Sub(u.since) < runLinger {
			return false
		}
		s.pending = append(s.pending, u.done...)
		u.done = nil
		return true
	})
}

// ackAlone reports whether the pending acks cannot travel with a fetch: a renewal may not, because the lock might end
// while the fetch waits, and what is acknowledged for a partition with a fetch is fetched as well.
func (s *session) ackAlone() bool {
	return slices.ContainsFunc(s.pending, func(a ack) bool { return a.what == renew || !s.want[a.partition] })
}

// room is how many records to fetch now.
func (s *session) room() (n int, whole bool) {
	if len(s.want) == 0 {
		return 0, false
	}
	wanted, lacks := s.r.queue.lacks()
	if lacks == 0 {
		return 0, false
	}
	n, whole = s.r.budget.ask(s.r.member.sessionsNow())
	if wanted >= mostAtOnce {
		return n, whole
	}
	return min(n, lacks), false // something else limits the core, a rate for example
}

// exchange sends a request, and digests the answer. All acks of the request are answered afterwards.
func (s *session) exchange(ctx context.Context, x *exchange) error {
	a, err := s.send(ctx, x)
	s.mu.Lock()
	if err == nil && s.resets != x.resets {
		err = errReset
	}
	if sessionOver(err) {
		err = &driver.Error{Class: driver.Transient, Err: err}
	}
	if err != nil {
		freed := s.reset(err, x)
		s.mu.Unlock()
		s.r.freed(freed)
		return err
	}
	s.epoch = max(1, s.epoch+1) // after the largest number comes 1
	freed := s.digestAcks(x, a)
	for n := range a.failed {
		freed += s.dropAll(n) // a new leader knows nothing of locks
	}
	s.mu.Unlock()
	if x.fetch > 0 {
		s.r.budget.took(a.count(), time.Since(a.asked))
	}
	s.r.freed(freed)
	if len(a.got) > 0 {
		s.answers <- a
	}
	return s.trouble(a)
}

// admit makes deliveries of the records of answers, while the goroutine of the session sends the next request.
func (s *session) admit() {
	for a := range s.answers {
		s.mu.Lock()
		current := s.resets == a.resets
		s.mu.Unlock()
		if !current {
			s.r.freed(a.count())
			continue
		}
		runs := s.digestRecords(a)
		for _, u := range runs {
			s.r.admit(u)
		}
	}
}

// trouble is what the answer says about partitions that could not be fetched. Where the partition is somewhere else by
// now, its new leader is looked up.
func (s *session) trouble(a *answer) error {
	var worst error
	for n, err := range a.failed {
		s.mu.Lock()
		delete(s.want, n) // until the member has looked
		s.mu.Unlock()
		if !failure.ClassOf(err).Passing() && failure.ClassOf(err) != driver.NotFound {
			worst = fmt.Errorf("partition %d: %w", n, err)
		}
	}
	if len(a.failed) > 0 {
		s.r.member.lookAgain()
	}
	return worst
}

// digestAcks answers the acks of a request, and returns how many held locks are gone. The caller holds the lock.
func (s *session) digestAcks(x *exchange, a *answer) (freed int) {
	for i := range x.parts {
		p := &x.parts[i]
		err, told := a.acks[p.n]
		if !told {
			err = fmt.Errorf("the broker has not answered for partition %d", p.n)
		}
		if wrongState(err) && len(p.acks) > 1 {
			// The broker refuses all acks of the partition because of one, whose lock has ended.
			half := len(p.acks) / 2
			s.suspects = append(s.suspects, p.acks[:half:half], p.acks[half:])
			continue
		}
		for j := range p.acks {
			freed += s.answered(&p.acks[j], err, a.asked.Add(a.lock))
		}
	}
	return freed
}

// sessionOver says that the broker has forgotten the session, as after a restart: the next one succeeds.
func sessionOver(err error) bool {
	return errors.Is(err, kerr.ShareSessionNotFound) || errors.Is(err, kerr.InvalidShareSessionEpoch) ||
		errors.Is(err, errReset)
}

// wrongState says that the broker does not know a lock of the request.
func wrongState(err error) bool {
	return errors.Is(err, kerr.InvalidRecordState) || errors.Is(err, kerr.InvalidRequest)
}

// answered ends an ack, and returns how many held locks are gone because of it. The caller holds the lock.
func (s *session) answered(a *ack, err error, renewed time.Time) (freed int) {
	l := a.lock
	switch {
	case l == nil:
		return 0
	case err == nil && a.what == renew:
		if l.ends.Before(renewed) {
			l.ends = renewed
		}
	case err == nil:
		s.drop(l)
	case l.stage == gone:
		if a.call == nil && a.what == accept {
			s.lost.n, s.lost.err = s.lost.n+1, err
		}
		err = lostFor(err)
	case again(err):
		err = failure.Classify(err)
		if a.call == nil { // nobody would repeat it
			s.pending = append(s.pending, *a)
			return 0
		}
		if a.what != renew {
			l.stage = held
			s.r.budget.undone(1)
		}
	default:
		if a.call == nil && a.what == accept {
			s.lost.n, s.lost.err = s.lost.n+1, err
		}
		err = lostFor(err)
		freed = s.drop(l)
	}
	if a.call != nil {
		a.call.answer(a.i, err)
	}
	return freed
}

// again reports whether the broker still holds the lock after such an error, so that the verdict can be repeated.
func again(err error) bool {
	return errors.Is(err, kerr.KafkaStorageError) || errors.Is(err, kerr.RequestTimedOut) ||
		errors.Is(err, kerr.CoordinatorNotAvailable) || errors.Is(err, kerr.CoordinatorLoadInProgress)
}

// lostFor says that a record is not ours any more.
func lostFor(err error) error {
	return &driver.Error{Class: driver.Permanent, Err: fmt.Errorf("%w: %w", driver.ErrLost, err)}
}

// drop ends a lock, and returns 1 if it had no verdict. The caller holds the lock of the session.
func (s *session) drop(l *lock) (freed int) {
	if l.stage == gone {
		return 0
	}
	if l.stage == held {
		freed = 1
	}
	l.stage = gone
	u := l.run
	if u.open--; u.open == 0 {
		left := slices.DeleteFunc(s.runs[u.partition], func(other *run) bool { return other == u })
		if s.runs[u.partition] = left; len(left) == 0 {
			delete(s.runs, u.partition)
		}
	}
	return freed
}

// dropAll ends all locks of a partition, and returns how many had no verdict. The caller holds the lock.
func (s *session) dropAll(partition int32) (freed int) {
	for _, u := range slices.Clone(s.runs[partition]) {
		u.lost.Store(true)
		for i := range u.locks {
			freed += s.drop(&u.locks[i])
		}
	}
	return freed
}

// reset begins a new session after an error. The broker releases what the old session had locked when it notices that
// the connection is gone, and may deliver it to another process; so all locks are lost. The caller holds the lock.
func (s *session) reset(err error, x *exchange) (freed int) {
	for partition := range s.runs {
		freed += s.dropAll(partition)
	}
	s.join(time.Now().Add(runLinger))
	lost := slices.Concat(slices.Concat(s.suspects...), s.pending, x.acks)
	s.suspects, s.pending = nil, nil
	for i := range lost {
		s.answered(&lost[i], err, time.Time{})
	}
	s.epoch = 0
	s.resets++
	clear(s.have)
	return freed
}

// sweep ends locks whose time is over, so that they hold nothing of the budget.
func (s *session) sweep(now time.Time) {
	s.mu.Lock()
	freed := 0
	for _, us := range s.runs {
		for _, u := range slices.Clone(us) {
			for i := range u.locks {
				if l := &u.locks[i]; l.stage == held && now.Sub(l.ends) > lockGrace {
					freed += s.drop(l)
				}
			}
		}
	}
	s.mu.Unlock()
	s.r.freed(freed)
}

// assign says which partitions to fetch. A topic that was created again has another id, and its old locks are lost.
func (s *session) assign(topicID [16]byte, partitions map[int32]bool) {
	s.mu.Lock()
	freed := 0
	if s.topicID != topicID {
		freed = s.reset(errRecreated, &exchange{})
	}
	s.topicID, s.want = topicID, partitions
	s.mu.Unlock()
	s.r.freed(freed)
	wake(s.wake)
}

// tell queues acks.
func (s *session) tell(as ...ack) {
	s.mu.Lock()
	for i := range as {
		if l := as[i].lock; l != nil && l.stage == gone {
			s.answered(&as[i], errEnded, time.Time{})
		} else {
			s.pending = append(s.pending, as[i])
		}
	}
	s.mu.Unlock()
	wake(s.wake)
}

// claim gives a lock its verdict; false: the lock is lost, or has one.
func (s *session) claim(l *lock) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.stage != held {
		return false
	}
	l.stage = settled
	return true
}

// unclaim takes the verdict back, because the copy of the record could not be published.
func (s *session) unclaim(l *lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.stage == settled {
		l.stage = held
		s.r.budget.undone(1)
	}
}

// finish notes that a record is done. Nobody waits for the answer.
func (s *session) finish(l *lock) (freed int) {
	waits := false
	s.mu.Lock()
	switch l.stage {
	case held:
		l.stage, freed = settled, 1
		u := l.run
		if u.done == nil && (!s.r.budget.fast.Load() || len(s.want) < 2) {
			s.pending = append(s.pending, ackOf(l, accept, nil, 0))
			break
		}
		if u.done == nil {
			u.done, u.since = make([]ack, 0, u.open), time.Now()
			s.partial = append(s.partial, u)
		}
		u.done = append(u.done, ackOf(l, accept, nil, 0))
		waits = len(u.done) > 1 && len(u.done) < u.open
	case gone:
		s.lost.n, s.lost.err = s.lost.n+1, errEnded
	}
	s.mu.Unlock()
	if !waits {
		wake(s.wake)
	}
	return freed
}

// takeLost returns the finished records whose acceptance has failed since the last call.
func (s *session) takeLost() lostAcks {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lost
	s.lost = lostAcks{}
	return l
}

// end tells the broker everything that is pending, and ends the session; the broker then releases what is still locked.
// What was delivered before is moved to a tier instead. The goroutine has ended before.
func (s *session) end(ctx context.Context) {
	s.move(ctx)
	for range maxSuspects {
		s.mu.Lock()
		s.join(time.Now().Add(runLinger))
		x := &exchange{resets: s.resets}
		if n := len(s.suspects); n > 0 {
			x.acks, s.suspects = s.suspects[n-1], s.suspects[:n-1]
		} else {
			x.acks, s.pending = s.pending, nil
		}
		begun := s.epoch > 0
		s.mu.Unlock()
		if x.arrange(); len(x.parts) == 0 {
			break
		}
		if !begun || s.exchange(ctx, x) != nil {
			return
		}
	}
	s.mu.Lock()
	begun := s.epoch > 0
	s.mu.Unlock()
	if begun {
		_, _ = s.sendAcks(ctx, &exchange{}, true) // otherwise the broker notices the end of the connection
	}
}

// maxSuspects bounds the requests at the end of a session: two for each halving of the largest request.
const maxSuspects = 64

// move moves what was delivered before, and has no verdict, to a tier.
func (s *session) move(ctx context.Context) {
	var vs []verdict
	s.mu.Lock()
	for _, us := range s.runs {
		for _, u := range us {
			for i := range u.locks {
				if l := &u.locks[i]; l.stage == held && !l.fresh() {
					l.stage = settled
					vs = append(vs, verdict{lock: l, st: driver.Settlement{Action: driver.Release}, what: accept})
				}
			}
		}
	}
	s.mu.Unlock()
	for _, v := range s.r.publish(ctx, vs, newCall()) {
		s.tell(ackOf(v.lock, v.what, nil, 0))
	}
}

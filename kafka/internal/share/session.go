package share

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

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
	// sweepEvery is how often a session looks for locks that have ended.
	sweepEvery = time.Second
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

	mu      sync.Mutex
	topicID [16]byte
	want    map[int32]bool // partitions to fetch
	have    map[int32]bool // partitions that the broker fetches for this session
	epoch   int32          // of the next request; 0: there is no session yet
	resets  int            // how often the session began again: an answer of an older one does not count
	locks   locks
	waiting time.Time // since when acks wait for a fetch; zero: none do
	fails   int       // requests in a row that failed
}

func newSession(r *Receiver, broker int32) *session {
	return &session{
		r: r, broker: broker, wake: make(chan struct{}, 1), answers: make(chan *answer, 1),
		decode: decoder{topic: r.c.Topic, last: map[int32]batch{}, codec: kgo.DefaultDecompressor()},
		want:   map[int32]bool{}, have: map[int32]bool{},
		locks: locks{budget: r.budget, runs: map[int32][]*run{}},
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
	wake(s.r.member.look)
	if err = failure.Classify(err); s.fails > 1 || !driver.ClassOf(err).Passing() {
		s.r.queue.put(nil, fmt.Errorf("poll topic %s at broker %d: %w", s.r.c.Topic, s.broker, err))
	}
	_ = backoff.Sleep(s.r.polls, pollPauses.Wait(s.fails))
}

// next is what to send now; nil: nothing, and wait says when to look again at the latest, if it is not 0.
func (s *session) next(now time.Time) (_ *exchange, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &s.locks
	b.join(now)
	x := &exchange{resets: s.resets, acks: b.suspect()}
	switch {
	case x.acks != nil:
	// A renewal does not travel with a fetch, because the lock might end while the fetch waits. And the partitions of
	// acks that travel with a fetch are fetched as well.
	case slices.ContainsFunc(b.pending, func(a ack) bool { return a.what == renew || !s.want[a.partition] }):
		x.acks = b.take()
	default:
		n, whole := s.room()
		switch {
		case n > 0:
		case len(b.pending) == 0 && len(b.partial) > 0:
			return nil, runLinger
		case len(b.pending) == 0:
			return nil, 0
		case s.waiting.IsZero():
			s.waiting = now
			return nil, ackLinger
		case now.Sub(s.waiting) < ackLinger:
			return nil, ackLinger - now.Sub(s.waiting)
		}
		x.fetch, x.whole, x.acks = n, whole, b.take()
	}
	s.waiting = time.Time{}
	x.arrange()
	if x.fetch == 0 && len(x.parts) == 0 {
		return nil, 0
	}
	return x, 0
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
	freed := s.locks.answer(x, a)
	for n := range a.failed {
		freed += s.locks.dropAll(n) // a new leader knows nothing of locks
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
		wake(s.r.member.look)
	}
	return worst
}

// sessionOver says that the broker has forgotten the session, as after a restart: the next one succeeds.
func sessionOver(err error) bool {
	return errors.Is(err, kerr.ShareSessionNotFound) || errors.Is(err, kerr.InvalidShareSessionEpoch) ||
		errors.Is(err, errReset)
}

// lostFor says that a record is not ours any more.
func lostFor(err error) error {
	return &driver.Error{Class: driver.Permanent, Err: fmt.Errorf("%w: %w", driver.ErrLost, err)}
}

// reset begins a new session after an error. The broker releases what the old session had locked when it notices that
// the connection is gone, and may deliver it to another process; so all locks are lost. The caller holds the lock.
func (s *session) reset(err error, x *exchange) (freed int) {
	freed = s.locks.clear(x.acks, err)
	s.epoch = 0
	s.resets++
	clear(s.have)
	return freed
}

// sweep ends the locks whose time is over.
func (s *session) sweep(now time.Time) {
	s.mu.Lock()
	freed := s.locks.sweep(now)
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
	s.locks.add(as)
	s.mu.Unlock()
	wake(s.wake)
}

// claim gives a lock its verdict; false: the lock is lost, or has one.
func (s *session) claim(l *lock) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.locks.claim(l)
}

// unclaim takes the verdict back, because the copy of the record could not be published.
func (s *session) unclaim(l *lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locks.unclaim(l)
}

// finish notes that a record is done. Nobody waits for the answer.
func (s *session) finish(l *lock) (freed int) {
	s.mu.Lock()
	freed, waits := s.locks.finish(l, len(s.want) > 1)
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
	return s.locks.takeLost()
}

// end tells the broker everything that is pending, and ends the session; the broker then releases what is still locked.
// What was delivered before is moved to a tier instead. The goroutine has ended before.
func (s *session) end(ctx context.Context) {
	s.mu.Lock()
	old := s.locks.claimOld()
	s.mu.Unlock()
	vs := make([]verdict, len(old))
	for i, l := range old {
		vs[i] = verdict{lock: l, st: driver.Settlement{Action: driver.Release}, what: accept}
	}
	for _, v := range s.r.publish(ctx, vs, newCall()) {
		s.tell(ackOf(v.lock, v.what, nil, 0))
	}
	for range maxSuspects {
		s.mu.Lock()
		s.locks.join(time.Now().Add(runLinger))
		x := &exchange{resets: s.resets, acks: s.locks.suspect()}
		if x.acks == nil {
			x.acks = s.locks.take()
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

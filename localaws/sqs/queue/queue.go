package queue

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/random"
)

// ErrDeleted is returned by every operation on a deleted queue, and by polls that were waiting on it.
var ErrDeleted = errors.New("queue: the queue is deleted")

// Options are the fixed properties of a queue.
type Options struct {
	ARN    string // identifies the source of its dead letters
	FIFO   bool
	Clock  *clock.Clock
	Random *random.Source
	Config Config
	// DeadLetters returns the queue for messages that were received MaxReceives times. If it is nil or returns nil,
	// these messages stay in this queue. It is called without any queue's lock.
	DeadLetters func() *Queue
	// Woken is called when a sleeping queue has a call or a message; nil: nothing is counted. It may be called with the
	// queue's lock held, and must not call the queue.
	Woken func(*Queue)
	// Journal is where the queue keeps its messages; nil: in memory alone.
	Journal *Journal
}

// Config are the properties of a queue that may change. It is replaced as a whole.
type Config struct {
	Visibility   time.Duration // of a receive without one
	Delay        time.Duration // of a message without one
	Retention    time.Duration // a message is deleted after this time
	MaxReceives  int           // a message becomes a dead letter after this many; 0: never
	InFlight     int           // the most messages in flight; 0: no limit
	DedupByGroup bool          // only messages of the same group can be duplicates
	Chaos        Chaos
}

// Chaos makes a standard queue deliver twice or out of order, as AWS may. The zero value turns it off.
type Chaos struct {
	Duplicate float64 // share of receives that leave the message visible
	Reorder   float64 // share of receives in which a later message overtakes
}

// Queue holds messages.
type Queue struct {
	opts    Options
	config  atomic.Pointer[Config]
	journal *journal // nil: nothing is kept
	stamp   uint64   // marks the handles of this queue; another queue of the same name has another stamp

	mu      sync.Mutex
	deleted bool
	closed  bool   // polls do not wait any more
	items   table  // by key, which is the order of arrival
	ready   ready  // of a standard queue
	timed   heap   // delayed and in-flight items, by due time
	aged    heap   // by sent; items that are older than their neighbours in order of arrival
	counts  [3]int // by State
	meter   meter

	groups      map[string]*group // of a FIFO queue
	locked      int               // groups with messages in flight
	readyGroups list[group]
	dedup       dedup
	attempts    map[string]*attempt
	polls       map[string]*waiter // those that wait, by their attempt id
	attemptAges []*attempt
	waiters     list[waiter]
	watched     chan struct{} // closed at the next change; nil while no call of Await waits
	alarm       func()        // stops the timer; nil: there is none
	alarmAt     time.Duration
}

// New returns an empty queue or, with a journal, one with what that has kept.
func New(o Options) *Queue {
	q := &Queue{
		opts: o, journal: newJournal(o.Journal, o.Clock),
		items: newTable(1), ready: newReady(), timed: dueHeap(), aged: ageHeap(),
		readyGroups: list[group]{link: groupLink},
		waiters:     list[waiter]{link: waiterLink},
	}
	if o.FIFO {
		q.groups, q.attempts, q.polls = map[string]*group{}, map[string]*attempt{}, map[string]*waiter{}
	}
	q.dedup = newDedup(q.journal.forgotten())
	q.config.Store(&o.Config)
	if o.Journal == nil {
		q.stamp = o.Random.Uint64()
		return q
	}
	q.stamp = o.Journal.Stamp
	o.Journal.Kept.fill(q)
	o.Journal.Kept = nil
	return q
}

// Config returns the current configuration.
func (q *Queue) Config() Config { return *q.config.Load() }

// Configure replaces the configuration. As on AWS, messages that are delayed or in flight keep their times, and the
// retention applies to all messages at once.
func (q *Queue) Configure(c Config) {
	q.config.Store(&c)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.catchUp()
	q.changed()
}

// Purge removes every message, and clears the deduplication table: the same MessageDeduplicationId is then new.
func (q *Queue) Purge() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for it := q.items.head(); it != nil; it = q.items.head() {
		q.drop(it)
	}
	for _, a := range q.dedup.entries[q.dedup.gone:] {
		q.journal.unknown(a.key)
	}
	q.dedup = newDedup(q.journal.forgotten())
	q.changed()
}

// Delete ends the queue and its waiting polls. Its journal forgets everything.
func (q *Queue) Delete() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.deleted = true
	if q.journal != nil {
		q.journal.end(q)
	}
	for w := q.waiters.head; w != nil; w = q.waiters.head {
		q.signal(w)
	}
	q.changed()
}

// Close ends waiting polls without messages; later polls do not wait. Everything else continues to work.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for w := q.waiters.head; w != nil; w = q.waiters.head {
		q.signal(w)
	}
	q.changed()
}

// now returns the time since the clock's start.
func (q *Queue) now() time.Duration { return q.opts.Clock.Elapsed() }

// catchUp applies what time has changed: delays and visibility timeouts that ended, and messages whose retention is
// over. The caller holds the lock.
func (q *Queue) catchUp() time.Duration {
	now := q.now()
	for it := q.timed.top(); it != nil && it.due <= now; it = q.timed.top() {
		q.timed.remove(it)
		q.makeReady(it)
	}
	kept := now - q.config.Load().Retention
	for it := q.items.head(); it != nil && it.sent <= kept; it = q.items.head() {
		q.drop(it)
	}
	for it := q.aged.top(); it != nil && it.sent <= kept; it = q.aged.top() {
		q.drop(it)
	}
	return now
}

// changed ends every operation that may have changed the queue: it writes the journal, notifies Await, and sets the
// timer for waiting polls. The caller holds the lock.
func (q *Queue) changed() {
	q.journal.write()
	if q.watched != nil {
		close(q.watched)
		q.watched = nil
	}
	q.arm()
}

// setState sets an item's state and updates the counts.
func (q *Queue) setState(it *item, s State) {
	q.counts[it.state]--
	it.state = s
	q.counts[s]++
}

// makeReady makes an item visible that is in no heap.
func (q *Queue) makeReady(it *item) {
	was := it.state
	q.setState(it, Visible)
	if g := it.group; g != nil {
		if was == InFlight {
			q.flight(g, -1)
		}
		q.settle(g)
		return
	}
	if was == InFlight {
		q.ready.putBack(it)
	} else {
		q.ready.push(it)
	}
	q.wake()
}

// hold puts an item into the heap until due: delayed or in flight.
func (q *Queue) hold(it *item, s State, due time.Duration) {
	q.setState(it, s)
	it.due = due
	q.timed.push(it)
}

// drop removes an item from the queue and from its journal.
func (q *Queue) drop(it *item) {
	q.journal.dropped(it)
	it.leave(q)
}

// leave removes an item from the queue.
func (it *item) leave(q *Queue) {
	q.journal.let(it)
	q.items.remove(it.key)
	q.counts[it.state]--
	if it.state != Visible && it.timedAt > 0 {
		q.timed.remove(it)
	}
	if it.agedAt > 0 {
		q.aged.remove(it)
	}
	if g := it.group; g != nil {
		g.items.remove(it)
		if it.state == InFlight {
			q.flight(g, -1)
		}
		q.settle(g)
	} else if it.state == Visible {
		q.ready.remove(it)
	}
}

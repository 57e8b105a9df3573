package queue

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/random"
)

// ErrDeleted is what every operation on a deleted queue returns, and every poll
// that waited on it.
var ErrDeleted = errors.New("queue: the queue is deleted")

// Options are what a queue is made with and keeps.
type Options struct {
	ARN    string // marks its dead letters
	FIFO   bool
	Clock  *clock.Clock
	Random *random.Source
	Config Config
	// DeadLetters finds the queue that messages go to which were received
	// MaxReceives times; nil, or nil from it, keeps them here. It is called
	// without any queue's lock.
	DeadLetters func() *Queue
}

// Config is what may change while a queue lives. It is replaced as a whole.
type Config struct {
	Visibility   time.Duration // of a receive that names none
	Delay        time.Duration // of a message that names none
	Retention    time.Duration // after which a message is gone
	MaxReceives  int           // before a message is a dead letter; 0 means no end
	InFlight     int           // most messages in flight; 0 means no limit
	DedupByGroup bool          // a duplicate is one of the same group only
	Chaos        Chaos
}

// Chaos is what a standard queue may do and a kind one does not. Zero is kind.
type Chaos struct {
	Duplicate float64 // share of receives that leave the message visible
	Reorder   float64 // share of receives that let another message overtake
}

// Queue holds messages.
type Queue struct {
	opts   Options
	config atomic.Pointer[Config]
	stamp  uint64 // marks handles of this queue, and of this life of its name

	mu      sync.Mutex
	deleted bool
	closed  bool   // polls do not wait any more
	items   table  // by key, which is the order of arrival
	ready   table  // of a standard queue, by place
	timed   heap   // delayed and in flight, by due
	aged    heap   // by sent: what came older than those that arrived before it
	counts  [3]int // by State

	groups      map[string]*group // of a FIFO queue
	readyGroups list[group]
	dedup       dedup
	attempts    map[string]*attempt
	attemptAges []*attempt
	waiters     list[waiter]
	watched     chan struct{} // closed at the next change; nil while nobody looks
	alarm       func()        // stops the timer; nil without one
	alarmAt     time.Duration
}

// middle is where the line of the ready begins: items are put back before it.
const middle = 1 << 40

// New returns an empty queue.
func New(o Options) *Queue {
	q := &Queue{
		opts:  o,
		stamp: o.Random.Uint64(),
		items: newTable(1), ready: newTable(middle), timed: dueHeap(), aged: ageHeap(), dedup: newDedup(),
		readyGroups: list[group]{link: groupLink},
		waiters:     list[waiter]{link: waiterLink},
	}
	if o.FIFO {
		q.groups, q.attempts = map[string]*group{}, map[string]*attempt{}
	}
	q.config.Store(&o.Config)
	return q
}

// Config is the present configuration.
func (q *Queue) Config() Config { return *q.config.Load() }

// Configure replaces the configuration. Messages that are delayed or in flight
// keep their times, as on AWS; retention holds for all at once.
func (q *Queue) Configure(c Config) {
	q.config.Store(&c)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.catchUp()
	q.changed()
}

// Purge removes every message, and forgets what was accepted before: the same
// MessageDeduplicationId is a new message afterwards.
func (q *Queue) Purge() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for it := q.items.head(); it != nil; it = q.items.head() {
		q.drop(it)
	}
	q.dedup = newDedup()
	q.changed()
}

// Delete ends the queue and every poll that waits on it.
func (q *Queue) Delete() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.deleted = true
	for w := q.waiters.head; w != nil; w = q.waiters.head {
		q.signal(w)
	}
	q.changed()
}

// Close ends every poll that waits, with nothing; no poll waits afterwards. All
// else goes on working.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for w := q.waiters.head; w != nil; w = q.waiters.head {
		q.signal(w)
	}
	q.changed()
}

// now is the queue's idea of time.
func (q *Queue) now() time.Duration { return q.opts.Clock.Elapsed() }

// catchUp brings the queue to the present: delays and visibilities that ended,
// messages too old to keep. It needs the lock.
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

// changed ends every operation that may have changed something: it tells who
// watches, and sets the timer for who waits. It needs the lock.
func (q *Queue) changed() {
	if q.watched != nil {
		close(q.watched)
		q.watched = nil
	}
	q.arm()
}

// setState keeps the counts.
func (q *Queue) setState(it *item, s State) {
	q.counts[it.state]--
	it.state = s
	q.counts[s]++
}

// makeReady makes visible an item that is in no heap.
func (q *Queue) makeReady(it *item) {
	was := it.state
	q.setState(it, Visible)
	if g := it.group; g != nil {
		if was == InFlight {
			g.inFlight--
		}
		q.settle(g)
		return
	}
	it.place = q.ready.push(it)
	q.wake()
}

// unready takes an item out of the line of what is ready.
func (q *Queue) unready(it *item) {
	q.ready.remove(it.place)
	it.place = 0
}

// hold makes an item wait in the heap until due: delayed or in flight.
func (q *Queue) hold(it *item, s State, due time.Duration) {
	q.setState(it, s)
	it.due = due
	q.timed.push(it)
}

// drop removes an item from everything.
func (q *Queue) drop(it *item) {
	q.items.remove(it.key)
	q.counts[it.state]--
	if it.timedAt > 0 {
		q.timed.remove(it)
	}
	if it.agedAt > 0 {
		q.aged.remove(it)
	}
	if g := it.group; g != nil {
		g.items.remove(it)
		if it.state == InFlight {
			g.inFlight--
		}
		q.settle(g)
	} else if it.state == Visible {
		q.unready(it)
	}
}

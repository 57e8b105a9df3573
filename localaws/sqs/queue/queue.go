package queue

import (
	"context"
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
	stamp   stamp

	mu      sync.Mutex
	deleted bool
	contents
	meter    meter
	dedup    dedup
	attempts attempts

	watched chan struct{} // closed at the next change; nil while no call of Await waits
	alarm   func()        // stops the timer; nil: there is none
	alarmAt time.Duration
}

// New returns an empty queue or, with a journal, one with what that has kept.
func New(o Options) *Queue {
	q := &Queue{opts: o, journal: newJournal(o.Journal, o.Clock), contents: newContents(o.FIFO)}
	if o.FIFO {
		q.attempts.byName = map[string]*attempt{}
	}
	q.dedup = newDedup(q.journal.forgotten())
	q.config.Store(&o.Config)
	if o.Journal == nil {
		q.stamp = stamp(o.Random.Uint64())
		return q
	}
	q.stamp = stamp(o.Journal.Stamp)
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
		it.drop(q)
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
	q.wakeAll()
	q.changed()
}

// Close ends waiting polls without messages; later polls do not wait. Everything else continues to work.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wakeAll()
	q.changed()
}

// catchUp applies what time has changed: delays and visibility timeouts that ended, and messages whose retention is
// over. The caller holds the lock.
func (q *Queue) catchUp() time.Duration {
	now := q.opts.Clock.Elapsed()
	for it := q.timed.top(); it != nil && it.due <= now; it = q.timed.top() {
		q.timed.remove(it)
		q.makeReady(it)
	}
	kept := now - q.config.Load().Retention
	for it := q.items.head(); it != nil && it.sent <= kept; it = q.items.head() {
		it.drop(q)
	}
	for it := q.aged.top(); it != nil && it.sent <= kept; it = q.aged.top() {
		it.drop(q)
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

// arm sets the timer to the next end of a delay or visibility timeout if a poll or Await waits, and stops it otherwise.
// The caller holds the lock.
func (q *Queue) arm() {
	next := q.timed.top()
	wanted := next != nil && (q.waiters.head != nil || q.watched != nil)
	if q.alarm != nil && (!wanted || q.alarmAt != next.due) {
		q.alarm()
		q.alarm = nil
	}
	if wanted && q.alarm == nil {
		q.alarmAt = next.due
		q.alarm = q.opts.Clock.AfterFunc(next.due-q.opts.Clock.Elapsed(), func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.alarm = nil
			q.catchUp()
			q.changed()
		})
	}
}

// Await blocks until ok returns true for the queue's counts, or ctx ends. It checks after every change, and when a
// delay or a visibility timeout ends.
func (q *Queue) Await(ctx context.Context, ok func(Stats) bool) error {
	for {
		q.mu.Lock()
		q.catchUp()
		stats := q.stats()
		var change chan struct{}
		if !ok(stats) {
			if q.watched == nil {
				q.watched = make(chan struct{})
			}
			change = q.watched
			q.arm()
		}
		q.mu.Unlock()
		if change == nil {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

package queue

import (
	"sync/atomic"
	"time"
)

// Counts are what happened in a queue since it was asked last, and what is in it now.
type Counts struct {
	Sent          int         // messages that were added by senders; dead letters and moved messages are not
	Deduplicated  int         // messages that were recognized as duplicates, and not added
	Received      int         // messages that receives returned
	EmptyReceives int         // receives that returned none
	Deleted       int         // successful deletions, also of messages that were deleted already
	Sizes         map[int]int // of the sent messages: their number by size in bytes; nil: none was sent

	Visible, InFlight, Delayed int
	Groups                     int // of a FIFO queue: groups with messages in flight

	// Age is how long the oldest message has been in this queue; a negative one means that none counts. In a standard
	// queue, a message that was received three times does not count, because SQS moves it behind the others.
	Age time.Duration
}

const (
	// poison is the number of receives after which a message of a standard queue does not count for the age.
	poison = 3
	// exactSizes is how many sizes are counted apart; beyond it, sizes are rounded to a multiple of coarse.
	exactSizes = 4096
	coarse     = 1024
)

// meter counts for Collect. Its fields are guarded by the queue's lock, except the atomic ones.
type meter struct {
	counts Counts
	fresh  int64 // no item with a smaller key counts for the age
	empty  atomic.Int64
	called atomic.Int64 // the time of the last call, a duration
	awake  atomic.Bool  // somebody collects
}

// Touch says that there was a call for this queue, of any kind and with any outcome. A queue without calls and messages
// sleeps; Options.Woken is called when it wakes.
func (q *Queue) Touch() {
	q.meter.called.Store(int64(q.now()))
	q.stir()
}

// stir wakes a sleeping queue.
func (q *Queue) stir() {
	if !q.meter.awake.Load() && q.opts.Woken != nil && q.meter.awake.CompareAndSwap(false, true) {
		q.opts.Woken(q)
	}
}

// Collect returns the counts, and starts again. If the queue has no messages and there was no call for the time idle,
// or if the queue is deleted, it sleeps from now on, and awake is false.
func (q *Queue) Collect(idle time.Duration) (c Counts, awake bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.catchUp()
	c, q.meter.counts = q.meter.counts, Counts{}
	c.EmptyReceives = int(q.meter.empty.Swap(0))
	c.Visible, c.InFlight, c.Delayed = q.counts[Visible], q.counts[InFlight], q.counts[Delayed]
	c.Groups, c.Age = q.locked, -1
	if it := q.oldest(); it != nil {
		c.Age = now - it.entered
	}
	q.changed()
	active := func() bool {
		return !q.deleted && (q.items.n > 0 || now-time.Duration(q.meter.called.Load()) < idle)
	}
	if active() {
		return c, true
	}
	q.meter.awake.Store(false)
	// A call that came meanwhile has seen an awake queue, and waked nobody.
	return c, active() && q.meter.awake.CompareAndSwap(false, true)
}

// oldest returns the item that decides about the age, or nil.
func (q *Queue) oldest() *item {
	head := q.items.head()
	if head == nil || q.opts.FIFO {
		return head
	}
	for number := max(q.items.first, q.meter.fresh); number < q.items.next; number++ {
		q.meter.fresh = number
		if it := q.items.at(number); it != nil && it.turn.receives() < poison {
			return it
		}
	}
	return nil
}

// count adds a sent message.
func (m *meter) count(message *Message) {
	m.counts.Sent++
	size := message.Size()
	if m.counts.Sizes == nil {
		m.counts.Sizes = map[int]int{}
	}
	if len(m.counts.Sizes) >= exactSizes && m.counts.Sizes[size] == 0 {
		size -= size % coarse
	}
	m.counts.Sizes[size]++
}

// Size returns the size of a message, with its attributes, as SQS counts it.
func (m *Message) Size() int {
	n := len(m.Body)
	for name, a := range m.Attributes {
		n += len(name) + len(a.Type) + len(a.Text) + len(a.Binary)
	}
	return n
}

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

// stir wakes a sleeping queue.
func (m *meter) stir(q *Queue) {
	if !m.awake.Load() && q.opts.Woken != nil && m.awake.CompareAndSwap(false, true) {
		q.opts.Woken(q)
	}
}

// oldest returns the item that decides about the age, or nil.
func (m *meter) oldest(c *contents) *item {
	head := c.items.head()
	if head == nil || c.groups != nil {
		return head
	}
	for number := max(c.items.first, m.fresh); number < c.items.next; number++ {
		m.fresh = number
		if it := c.items.at(number); it != nil && it.turn.receives() < poison {
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
func (m *Message) Size() int { return len(m.Body) + m.Details().Size() }

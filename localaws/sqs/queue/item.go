package queue

import (
	"crypto/md5" //nolint:gosec // SQS answers with it
	"time"
)

// Message is what was sent. It is never modified.
type Message struct {
	ID     string
	Body   string
	MD5    [md5.Size]byte // of the body
	Sender string         // SenderId
	Given  *Details       // nil: the sender has given nothing of this
}

// Details is what only some senders give. It is apart, because a backlog may have millions of messages without it.
type Details struct {
	Attributes    map[string]Attribute // nil: none
	AttributesMD5 string
	Trace         string // AWSTraceHeader
	Group         string // MessageGroupId
	Dedup         string // MessageDeduplicationId
}

// Details returns what the sender has given beside the body. It may not be changed.
func (m *Message) Details() *Details {
	if m.Given == nil {
		return &Details{}
	}
	return m.Given
}

// Kept returns a copy for a message; nil: there is nothing to keep.
func (d *Details) Kept() *Details {
	if d.Attributes == nil && d.Trace == "" && d.Group == "" && d.Dedup == "" {
		return nil
	}
	kept := *d
	return &kept
}

// Size returns how much the attributes count as the size of a message: their names, types and values.
func (d *Details) Size() (n int) {
	for name, a := range d.Attributes {
		n += len(name) + len(a.Type) + len(a.Text) + len(a.Binary)
	}
	return n
}

// Attribute is a message attribute: a type and a text or bytes.
type Attribute struct {
	Type   string
	Text   string
	Binary []byte
}

// State is the state of a message in a queue.
type State uint8

// The states of a message in a queue.
const (
	Visible  State = iota // can be received (in a FIFO queue: if its group is not locked)
	Delayed               // cannot be received yet
	InFlight              // received, until its visibility timeout ends
)

func (s State) String() string {
	return [...]string{"visible", "delayed", "in flight"}[s]
}

// item is a message's state in a queue.
type item struct {
	message *Message
	key     int64 // identifies it in handles; grows in order of arrival
	place   int64 // its number among the fresh ready items; 0: not among them
	state   State
	count   int32  // all receives, also in earlier queues
	group   *group // of FIFO queues, else nil
	past    *past  // nil: it was never received, and is no dead letter

	due     time.Duration // when its delay or visibility timeout ends
	sent    time.Duration // retention is counted from here
	entered time.Duration // when it was added to this queue
	turn    turn          // of the newest receive in this queue
	hiding  turn          // of the newest receive that hid it; older handles are superseded

	order   link[item] // in its group
	timedAt int32      // index in the heap of due times or, if it is visible, of returned items
	agedAt  int32      // index in the heap of ages, for messages moved from another queue
}

// sequence returns the item's sequence number, which only FIFO queues have; 0: none.
func (it *item) sequence() int64 {
	if it.group == nil {
		return 0
	}
	return it.key
}

// enter gives an item its key, and adds it to the ready or the delayed items.
func (it *item) enter(q *Queue, delay, now time.Duration) {
	it.entered = now
	it.key = q.items.push(it)
	q.meter.stir(q)
	q.counts[it.state]++
	if q.opts.FIFO {
		it.group = q.groupOf(it.message.Details().Group)
		it.group.items.pushBack(it)
	}
	if delay > 0 {
		q.hold(it, Delayed, now+delay)
	} else {
		q.makeReady(it)
	}
	q.journal.message(it)
	q.journal.hold(it)
}

// restore adds an item again under its old key, so that its handles remain valid.
func (it *item) restore(q *Queue) {
	q.items.restore(it.key, it)
	q.journal.hold(it)
	q.meter.fresh = min(q.meter.fresh, it.key)
	q.meter.stir(q)
	q.aged.push(it)
	q.counts[it.state]++
	if it.group == nil {
		q.ready.putBack(it)
		q.wake()
		return
	}
	it.group = q.groupOf(it.group.name)
	it.group.items.pushFront(it)
	q.settle(it.group)
}

// drop removes an item from its queue and from the queue's journal.
func (it *item) drop(q *Queue) {
	q.journal.dropped(it)
	it.leave(q)
}

// leave removes an item from its queue.
func (it *item) leave(q *Queue) {
	q.journal.let(it)
	q.remove(it)
}

// past is what happened to an item: apart from it, because most items of a backlog have none.
type past struct {
	source   string        // ARN of the source queue of a dead letter
	first    time.Duration // first receive
	latest   time.Duration // latest receive
	receives []receive     // the latest of them
	one      [1]receive    // the memory of receives, at first
}

// history returns the item's past, which may be changed.
func (it *item) history() *past {
	if it.past == nil {
		it.past = &past{}
		it.past.receives = it.past.one[:0]
	}
	return it.past
}

// seen returns the item's past, which may not be changed.
func (it *item) seen() *past {
	if it.past == nil {
		return &past{}
	}
	return it.past
}

// receive is one entry of an item's history.
type receive struct {
	at      time.Duration
	by      string
	changed bool // its visibility timeout was changed since
}

// maxHistory bounds an item's history, so that a message that is received again and again does not grow without limit.
const maxHistory = 16

func (p *past) remember(r receive) {
	if len(p.receives) == maxHistory {
		copy(p.receives, p.receives[1:])
		p.receives = p.receives[:maxHistory-1]
	}
	p.receives = append(p.receives, r)
}

// newest returns the latest receive of an item that was received.
func (p *past) newest() *receive { return &p.receives[len(p.receives)-1] }

// turn identifies a receive of an item in its queue: the epoch, which is the number of the server's start, in the upper
// half, and the number of the receive in the lower half.
type turn uint64

// next returns the turn of the next receive.
func (t turn) next(epoch uint32) turn { return turn(epoch)<<32 | turn(t.receives()+1) }

// receives returns the number of receives.
func (t turn) receives() uint32 { return uint32(t) }

// superseded reports whether a later receive than that of a handle hid the message, or whether the receive of the
// handle was lost in a crash.
func (it *item) superseded(t turn) bool { return t < it.hiding || it.lost(t) }

// lost reports whether the receive of a handle was lost in a crash: the receives after it belong to a later epoch.
func (it *item) lost(t turn) bool { return t > it.turn }

func orderOf(it *item) *link[item] { return &it.order }

func dueHeap() heap {
	return heap{
		less: func(a, b *item) bool { return a.due < b.due || a.due == b.due && a.key < b.key },
		at:   func(it *item) *int32 { return &it.timedAt },
	}
}

func ageHeap() heap {
	return heap{
		less: func(a, b *item) bool { return a.sent < b.sent },
		at:   func(it *item) *int32 { return &it.agedAt },
	}
}

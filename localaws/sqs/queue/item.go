package queue

import "time"

// Message is what was sent. Nobody changes it afterwards.
type Message struct {
	ID            string
	Body          string
	BodyMD5       string
	Attributes    map[string]Attribute // nil where there are none
	AttributesMD5 string
	Trace         string // AWSTraceHeader
	Sender        string // who sent it: SenderId
	Group         string // MessageGroupId
	Dedup         string // MessageDeduplicationId
}

// Attribute is a message attribute: a type and a text or bytes.
type Attribute struct {
	Type   string
	Text   string
	Binary []byte
}

// State is where a message stands.
type State uint8

// The states of a message in a queue.
const (
	Visible  State = iota // may be received (in a FIFO queue: once its group is free)
	Delayed               // not yet
	InFlight              // received by somebody, until its visibility ends
)

func (s State) String() string {
	return [...]string{"visible", "delayed", "in flight"}[s]
}

// item is a message's place in a queue.
type item struct {
	message  *Message
	key      int64 // names it in handles; grows with arrival
	place    int64 // in the line of what is ready; 0 is outside
	sequence int64 // of FIFO queues
	state    State
	group    *group // of FIFO queues, else nil
	source   string // ARN of the queue whose dead letter it is

	due      time.Duration // when its delay or visibility ends
	sent     time.Duration // retention counts from here
	count    int           // receives in all, through redrives
	serial   uint32        // receives in this queue: the newest handle's
	first    time.Duration // first receive
	latest   time.Duration // latest receive
	receives []receive     // the latest of them

	order   link[item] // in its group
	timedAt int        // in the heap of dues
	agedAt  int        // in the heap of ages, for what came with an age of its own
}

// receive is one entry of an item's history.
type receive struct {
	at      time.Duration
	by      string
	changed bool // its visibility was changed since
}

// maxHistory bounds an item's history: more says nothing new, and a message
// that is received for ever must not grow for ever.
const maxHistory = 16

func (it *item) remember(r receive) {
	if len(it.receives) == maxHistory {
		copy(it.receives, it.receives[1:])
		it.receives = it.receives[:maxHistory-1]
	}
	it.receives = append(it.receives, r)
}

func orderOf(it *item) *link[item] { return &it.order }

func dueHeap() heap {
	return heap{
		less: func(a, b *item) bool { return a.due < b.due || a.due == b.due && a.key < b.key },
		at:   func(it *item) *int { return &it.timedAt },
	}
}

func ageHeap() heap {
	return heap{
		less: func(a, b *item) bool { return a.sent < b.sent },
		at:   func(it *item) *int { return &it.agedAt },
	}
}

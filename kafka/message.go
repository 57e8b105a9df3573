package kafka

import (
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// message is a record that was admitted: what a driver.Handle refers to. Guarded by receiver.mu.
type message struct {
	epoch   *epoch
	record  *kgo.Record // nil once finished
	seq     uint64
	attempt int32     // starts known from before
	due     time.Time // zero: now
	buried  bool      // its copy stands in the dead letters
	back    bool      // it waited here for a retry: nothing else is asked of it
	parked  bool      // it is in its key's lot
	taken   bool      // it is in the core's hands
	handed  bool      // likewise, and counted by its key's lot
	waits   bool      // it waits for what is in the core's hands
	shown   bool      // a queue has seen its record, and may have kept it

	use   uint64      // of the receiver's: what a Handle means, since a message is used again when nothing needs it any more
	ended atomic.Bool // the core is done with it
	next  *message    // that was finished before it, while both are on the list
}

// key is what order is kept by.
func (m *message) key(o Ordering) string {
	if o == ByPartition {
		return ""
	}
	return string(m.record.Key)
}

const (
	// messageSlab is how many messages are allocated together.
	messageSlab = 64
	// messagesKept is how many that nothing needs any more are kept for the next: as many as a receiver holds at most.
	messagesKept = window
)

// messages hands out messages, and takes them back. Guarded by receiver.mu.
type messages struct {
	use  uint64 // the latest
	idle []*message
}

// take returns a blank message.
func (ms *messages) take() *message {
	if len(ms.idle) == 0 {
		slab := make([]message, messageSlab)
		for i := range slab {
			ms.idle = append(ms.idle, &slab[i])
		}
	}
	last := len(ms.idle) - 1
	m := ms.idle[last]
	ms.idle = ms.idle[:last]
	ms.use++
	m.use = ms.use
	return m
}

// put takes a message back that nothing refers to, but for a Handle that nobody uses again.
func (ms *messages) put(m *message) {
	if len(ms.idle) < messagesKept {
		*m = message{}
		ms.idle = append(ms.idle, m)
	}
}

package records

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/kafka/internal/parking"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// Message is an admitted record. A driver.Handle refers to it. Guarded by Ledger.mu.
type Message struct {
	Epoch   *Epoch
	Record  *kgo.Record // nil once finished
	seq     uint64      // number of its slot in the epoch's tracker
	Attempt int32       // starts by earlier owners, or of a tier's copy
	due     time.Time   // zero: now
	came    time.Time   // when this process admitted it
	Failed  time.Time   // for the first time; zero: not before, or nobody knows
	stage   stage
	stands  parking.Standing // its position in the lot of its key
	lane    *lane            // nil: its partition is not strained

	before, next *Message // in its epoch's list

	Use uint64 // number of its current use, for Handle.Seq: a Handle of an earlier use must not mean this one
}

// home is the record's offset in the channel's own partition: of a record in a tier, the offset of its original.
func (m *Message) home() int64 {
	if m.Epoch.Stay == 0 {
		return m.Record.Offset
	}
	return wire.HomeOrHere(m.Record).Offset
}

// slow reports whether a message has failed before, or has been in this process for long. nil: no message.
func (m *Message) slow(now time.Time) bool {
	return m != nil && (m.Attempt > 0 || now.Sub(m.came) >= slowAfter)
}

// started notes how often a message was started: in its lane if the lane is aside, else in the tracker.
func (m *Message) started(times int32) {
	m.Attempt = max(m.Attempt, times)
	switch ln := m.lane; {
	case ln == nil || !ln.aside:
		m.Epoch.tracker.Started(m.seq, times)
	case ln.waiting[0] == m:
		m.Epoch.lanes.update(ln)
	}
}

const (
	// messageSlab is how many messages are allocated together.
	messageSlab = 64
	// messagesKept is how many unused messages are kept for reuse: as many as a receiver holds at most.
	messagesKept = Window
)

// messages allocates messages and keeps unused ones. Guarded by Ledger.mu.
type messages struct {
	use  uint64 // of the message taken last
	idle []*Message
}

// take returns a blank message.
func (ms *messages) take() *Message {
	if len(ms.idle) == 0 {
		slab := make([]Message, messageSlab)
		for i := range slab {
			ms.idle = append(ms.idle, &slab[i])
		}
	}
	last := len(ms.idle) - 1
	m := ms.idle[last]
	ms.idle = ms.idle[:last]
	ms.use++
	m.Use = ms.use
	return m
}

// put keeps a message for reuse. Nothing may refer to it except a Handle that was settled.
func (ms *messages) put(m *Message) {
	if len(ms.idle) < messagesKept {
		*m = Message{}
		ms.idle = append(ms.idle, m)
	}
}

// censusSize is how many records are counted before their keys are judged.
const censusSize = 1_000

// census counts the records of a channel that have no key. Guarded by Ledger.mu.
type census struct{ records, without int }

// counts counts a record. It returns true once: when enough records are counted, and half of them have no key.
func (c *census) counts(key bool) bool {
	if c.records == censusSize {
		return false
	}
	c.records++
	if !key {
		c.without++
	}
	return c.records == censusSize && c.without >= censusSize/2
}

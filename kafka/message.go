package kafka

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/kafka/internal/parking"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// message is a record that was admitted: what a driver.Handle refers to. Guarded by ledger.mu.
type message struct {
	epoch   *epoch
	record  *kgo.Record // nil once finished
	seq     uint64      // of its epoch's tracker
	attempt int32       // starts known from before
	due     time.Time   // zero: now
	failed  time.Time   // for the first time; zero: not before, or nobody knows
	stage   stage
	stands  parking.Standing // in its key's lot
	lane    *lane            // nil: its partition is not strained

	before, next *message // in its epoch's list

	use uint64 // of the ledger's: what a Handle means, since a message is used again when nothing needs it any more
}

// home is the offset that the record has, or had at first, in the channel's own partition.
func (m *message) home() int64 {
	if m.epoch.stay == 0 {
		return m.record.Offset
	}
	return wire.HomeOrHere(m.record).Offset
}

// started notes how often a message was started: with its lane, or in the tracker.
func (m *message) started(times int32) {
	m.attempt = max(m.attempt, times)
	switch ln := m.lane; {
	case ln == nil || !ln.aside:
		m.epoch.tracker.Started(m.seq, times)
	case ln.waiting[0] == m:
		m.epoch.lanes.goOn(ln)
	}
}

const (
	// messageSlab is how many messages are allocated together.
	messageSlab = 64
	// messagesKept is how many that nothing needs any more are kept for the next: as many as a receiver holds at most.
	messagesKept = window
)

// messages hands out messages, and takes them back. Guarded by ledger.mu.
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

package records

import (
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/intake"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

const (
	// trackerPlaces bounds the distance between the oldest unfinished record of a partition and the newest admitted
	// one: it is how many records can be handled while one is stuck. A record takes 16 bytes, allocated as needed.
	trackerPlaces = 1 << 18
	// waitingMost is how many records of one partition may wait in this process until they are due, or until others of
	// their key are settled.
	waitingMost = 10_000
	// waitingBytes is the same bound in bytes. Beyond it, large records wait on the broker, where they take no memory.
	waitingBytes = 16 << 20
)

// epochState says which of an epoch's messages still count.
type epochState uint8

const (
	epochOpen    epochState = iota
	epochLeaving            // revoked: no record is admitted, and the delivered ones are drained
	epochGone               // ended: none of its messages counts
)

// Epoch is one assignment of a partition to a member, from assignment to revocation or loss: a driver.Source. Guarded
// by Ledger.mu, except the fields that do not change: Source, Partition, member and stay.
type Epoch struct {
	driver.Source
	wire.Partition
	member *Member
	Stay   time.Duration // in a tier: how long a record stays at most; 0: the channel's own topic
	mixed  bool          // its records are dead letters of several groups

	state     epochState
	tracker   *offsets.Tracker
	backlog   intake.Backlog[*Epoch]
	open      messageList // its unfinished messages
	lanes     lanes
	next      int64           // offset of the next record to be read; -1: none was read yet
	started   bool            // its position is known
	From      int64           // committed offset at the start; -1: none
	dead      map[int64]int64 // offsets of dead letters, by the original's offset in the channel's own partition
	fresh     bool            // no commit has this epoch's mark yet
	waiting   int             // number of messages that wait in this process
	waitingB  int             // their bytes
	finished  int             // number of finished messages
	stalled   time.Time       // since when no record can be admitted; zero: records can be
	committed int             // how many of the finished messages are committed
}

func newEpoch(m *Member, p wire.Partition, r *Rules) *Epoch {
	e := &Epoch{
		Source: driver.Source{Name: p.String()}, Partition: p, member: m, Stay: r.Stays[p.Topic],
		mixed:   p.Topic == r.Letters,
		tracker: offsets.New(trackerPlaces), next: -1, From: -1,
	}
	e.lanes = lanes{tracker: e.tracker, ordered: r.InOrder}
	e.backlog.Of = e
	e.tracker.Bind(wire.Log(m.Topics[p.Topic], p.N))
	return e
}

// uncommitted is how many finished messages are not committed yet.
func (e *Epoch) uncommitted() int { return e.finished - e.committed }

// wait counts a message that begins to wait in this process, or, with -1, stops waiting.
func (e *Epoch) wait(m *Message, n int) {
	e.waiting += n
	e.waitingB += n * len(m.Record.Value)
}

// crowded reports whether no more records may wait in this process.
func (e *Epoch) crowded() bool { return e.waiting >= waitingMost || e.waitingB >= waitingBytes }

// halfCrowded reports whether half of the room for waiting records is taken. The rereader leaves the other half free.
func (e *Epoch) halfCrowded() bool { return e.waiting >= waitingMost/2 || e.waitingB >= waitingBytes/2 }

// leave stops the admission of records.
func (e *Epoch) leave() {
	e.state = epochLeaving
	e.backlog.Drop()
}

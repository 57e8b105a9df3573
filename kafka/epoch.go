package kafka

import (
	"iter"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/intake"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

const (
	// trackerPlaces bounds the records between the oldest unfinished one of a partition and the newest: so far others
	// get ahead of one that is stuck. 16 bytes each, taken as needed.
	trackerPlaces = 1 << 18
	// waitingMost is how many records of one partition may wait here until they are due, or until others of their key
	// are settled.
	waitingMost = 10_000
	// waitingBytes bounds the same in bytes: large records had better wait on the broker.
	waitingBytes = 16 << 20
)

// epochState is how far an epoch has come.
type epochState uint8

const (
	epochOpen    epochState = iota
	epochLeaving            // revoked: nothing more is admitted, what was delivered is drained
	epochGone               // nothing of it counts any more
)

// epoch is one assignment of a partition, from assigned to revoked or lost: the seam's Source. Guarded by ledger.mu,
// but for what does not change: Source, Partition, member and stay.
type epoch struct {
	driver.Source
	wire.Partition
	member *member
	stay   time.Duration // in a tier: how long records stay at most; 0: the channel's own topic

	state    epochState
	tracker  *offsets.Tracker
	backlog  intake.Backlog[*epoch]
	open     messageList // its unfinished messages
	lanes    lanes
	next     int64           // the log was read up to here; -1: nowhere yet
	from     int64           // what the group had committed; -1: nothing
	dead     map[int64]int64 // letters, by the offset at home of the record that was dead-lettered in an earlier life
	fresh    bool            // no commit has its mark yet
	waiting  int             // records that wait here
	waitingB int             // their bytes
	finished int             // messages
	stalled  time.Time       // since when nothing more is admitted; zero: it is
	told     int             // how many of them the broker has been told of
}

func newEpoch(m *member, p wire.Partition, s *subscription) *epoch {
	e := &epoch{
		Source: driver.Source{Name: p.String()}, Partition: p, member: m, stay: s.tiers[p.Topic],
		tracker: offsets.New(trackerPlaces), next: -1, from: -1,
	}
	e.lanes = lanes{tracker: e.tracker, ordered: s.from.Ordered}
	e.backlog.Of = e
	e.tracker.Bind(identity(m.topics[p.Topic], p.N))
	return e
}

// untold is how many finished messages the broker has not been told of.
func (e *epoch) untold() int { return e.finished - e.told }

// wait counts a message that waits here from now on, or with -1 no more.
func (e *epoch) wait(m *message, n int) {
	e.waiting += n
	e.waitingB += n * len(m.record.Value)
}

// crowded says that no more records may wait here.
func (e *epoch) crowded() bool { return e.waiting >= waitingMost || e.waitingB >= waitingBytes }

// halfCrowded says that the room of what may wait here is half full: what is read again leaves the rest to others.
func (e *epoch) halfCrowded() bool { return e.waiting >= waitingMost/2 || e.waitingB >= waitingBytes/2 }

// leave stops the admission of records.
func (e *epoch) leave() {
	e.state = epochLeaving
	e.backlog.Drop()
}

// backlogs are those of all epochs.
func backlogs(epochs map[wire.Partition]*epoch) iter.Seq[*intake.Backlog[*epoch]] {
	return func(yield func(*intake.Backlog[*epoch]) bool) {
		for _, e := range epochs {
			if !yield(&e.backlog) {
				return
			}
		}
	}
}

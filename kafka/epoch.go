package kafka

import (
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/wire"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// trackerPlaces bounds the records between the oldest unfinished one of a partition and the newest: so far others get
	// ahead of one that is stuck. 16 bytes each, taken as needed.
	trackerPlaces = 1 << 18
	// backlogMost is how many polled records of a partition that stands still may wait here before it is paused. A pause costs
	// the fetches under way, so it is never for the ordinary back pressure, which is that nothing is polled.
	backlogMost = window
	// heldMost is how many records of one partition may wait here until they are due.
	heldMost = 10_000
	// waitingBytes bounds both in bytes: what is large is waited for where it is, on the broker.
	waitingBytes = 16 << 20
)

// epoch is one assignment of a partition, from assigned to revoked or lost: the seam's Source. Guarded by receiver.mu, but for
// what does not change.
type epoch struct {
	driver.Source
	wire.Partition
	stay time.Duration // in a tier: how long records stay at most; 0: the channel's own topic. Never changes.

	tracker  *offsets.Tracker
	next     int64         // the log was read up to here; -1: nowhere yet
	backlog  []*kgo.Record // polled, and not yet admitted
	backlogB int           // their bytes
	taken    int           // in the core's hands
	enough   int           // while more than these are, none is admitted
	paused   bool
	held     int                // records that wait here until they are due
	heldB    int                // their bytes
	dead     map[int64]struct{} // offsets, at home, of records that were dead-lettered in an earlier life
	begun    time.Time          // when it was assigned
	from     int64              // what the group had committed; -1: nothing
	barrier  int64              // of a tier: the channel's own partition waits until the log was read up to here; 0: it does not
	leaving  bool               // revoked: nothing more is admitted
	gone     bool               // nothing of it counts any more
}

func newEpoch(p wire.Partition, stay time.Duration, identity string) *epoch {
	e := &epoch{Source: driver.Source{Name: p.String()}, Partition: p, stay: stay, tracker: offsets.New(trackerPlaces), next: -1, from: -1, begun: time.Now()}
	e.tracker.Bind(identity)
	return e
}

// died says that a record's dead letter stands since an earlier life.
func (e *epoch) died(r *kgo.Record) bool {
	if len(e.dead) == 0 {
		return false
	}
	offset := r.Offset
	if e.stay > 0 {
		offset = wire.HomeOrHere(r).Offset
	}
	_, died := e.dead[offset]
	return died
}

// hold counts what waits here.
func (e *epoch) hold(m *message, n int) {
	e.held += n
	if m.record != nil {
		e.heldB += n * len(m.record.Value)
	}
}

// crowded says that no more records may wait here until they are due.
func (e *epoch) crowded() bool { return e.held >= heldMost || e.heldB >= waitingBytes }

// overdue says that so much waits for a place that the partition had better not be read.
func (e *epoch) overdue() bool { return len(e.backlog) >= backlogMost || e.backlogB >= waitingBytes }

// wants says whether an epoch takes more records.
func (e *epoch) wants() bool { return !e.leaving && !e.gone }

// bring puts polled records behind those that wait already.
func (e *epoch) bring(rs []*kgo.Record) {
	for _, r := range rs {
		e.backlogB += len(r.Value)
	}
	if len(e.backlog) == 0 {
		e.backlog = rs
		return
	}
	e.backlog = append(e.backlog, rs...)
}

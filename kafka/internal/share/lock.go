package share

import (
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// ackType is what the broker is told about records. The values are the protocol's. Its 3, reject, is not used: a
// broker with dead letters of its own (KIP-1191) would write a second one.
type ackType int8

const (
	gap     ackType = 0 // there is no such record: it was compacted, or ends a transaction
	accept  ackType = 1
	release ackType = 2
	renew   ackType = 4 // the lock lasts from now on (KIP-1222, Kafka 4.2)
)

// run is the records of one partition that one answer brought. Its fields are guarded by the session's lock, but for
// those that do not change.
type run struct {
	s         *session
	partition int32
	locks     []lock
	open      int         // locks that are not gone
	lost      atomic.Bool // all of them: what is on the queue is not ours any more

	done  []ack     // of finished records, which wait for the rest of the run
	since time.Time // the first of them
}

// stage is how far a lock is.
type stage uint8

const (
	held    stage = iota // without a verdict
	settled              // it has a verdict, and the broker may not know it yet
	gone                 // the broker knows the verdict, or the lock is lost
)

// lock is one record that the broker has locked for this member: what a driver.Handle refers to.
type lock struct {
	run    *run
	record *kgo.Record
	count  int16 // deliveries, this one included
	copied bool  // its copy is in a tier or in the dead letters; only for whoever has claimed the lock

	// guarded by the session's lock
	ends  time.Time
	stage stage
}

// fresh reports whether the record is delivered for the first time. Only a fresh record is handled from where it is,
// or released: a broker that notices a crash gives the records of the crashed process to the fetches that wait, and may
// not have noticed yet that these are of the same process, so that each of them uses up a delivery that no process
// sees. After five, by default, it archives the record.
func (l *lock) fresh() bool { return l.count <= 1 }

// ack is what the broker is told about the records of a range of offsets.
type ack struct {
	partition   int32
	first, last int64
	what        ackType

	lock *lock // nil: a gap
	call *call // that waits for the answer; nil: none does
	i    int   // the entry of the call
}

// ackOf is an ack of one record.
func ackOf(l *lock, what ackType, c *call, i int) ack {
	return ack{
		partition: l.record.Partition, first: l.record.Offset, last: l.record.Offset,
		what: what, lock: l, call: c, i: i,
	}
}

package records

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
)

// Window is how many places the core should have: the messages of a busy key take many while they wait in its lane, and
// other keys need places beside them.
const Window = 16_384

// Rules are what the ledger needs to know of its channel. They do not change.
type Rules struct {
	Channel  string // as errors name it
	Topic    string
	Consumer string                   // the channel's group
	Stays    map[string]time.Duration // how long records wait in each tier
	Letters  string                   // the topic with the dead letters of several groups; "": there is none
	DiedIn   string                   // the group whose dead letters of that topic are received
	Filter   driver.Filter

	ByPartition bool // all records of a partition are in order
	Unordered   bool // no records are in order
	InOrder     bool // records without a key are in order among each other
	Parks       bool // later messages of a key wait behind those in tiers
	Blocks      bool // later messages of a key wait in this process while one of it is retried, or is slow
	Moves       bool // records that are not due wait in a tier, or else in this process
	// MarksEnds: the member gets control records. Until a tier is read to its end, a key's first record is not known.
	MarksEnds  bool
	Releases   bool // released messages are delivered again here, because other deliveries do not wait for them
	Retries    bool // retries may wait outside of the core
	Rejects    bool // there are dead letters
	Transforms bool // results and completions are in transactions
	Recycles   bool // records' memory is used again

	Places int   // roughly how many places the core has
	Bytes  int64 // how many bytes it holds; 0: without limit
	Commit int   // the number of finished records that is committed before the interval is over
}

// Keeps reports whether a record has an order that RetryPark keeps. On a channel that is not ordered, a record
// without a key has none.
func (r *Rules) Keeps(rec *kgo.Record) bool {
	return r.Parks && (len(rec.Key) > 0 || r.InOrder || r.ByPartition)
}

// laneRoom is the room of each key if the receiver has this number of partitions.
func (r *Rules) laneRoom(partitions int) laneRoom {
	partitions = max(partitions, 1)
	places := r.Places / partitions
	room := laneRoom{
		messages: min(max(places/8, laneLeast), laneMost), bytes: laneBytes, unstrained: max(places/4, strainedLeast),
	}
	if r.Bytes > 0 {
		room.bytes = min(max(int(r.Bytes)/partitions/8, laneBytesLeast), laneBytes)
	}
	return room
}

// recycle returns the memory of a record that nothing refers to any more.
func (r *Rules) recycle(rec *kgo.Record) {
	if r.Recycles {
		rec.Recycle()
	}
}

package kafka

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
)

// window is how many places the core should have: the messages of a busy key take many while they wait in its lane, and
// other keys need places beside them.
const window = 16_384

// rules are what the ledger needs to know of its channel. They do not change.
type rules struct {
	channel  string // as errors name it
	topic    string
	consumer string                   // the channel's group
	stays    map[string]time.Duration // how long records wait in each tier
	filter   driver.Filter

	byPartition bool // all records of a partition are in order
	unordered   bool // no records are in order
	inOrder     bool // records without a key are in order among each other
	parks       bool // later messages of a key wait behind those in tiers
	blocks      bool // later messages of a key wait in this process while one of it is retried, or is slow
	moves       bool // records that are not due wait in a tier, or else in this process
	// marksEnds: the member gets control records. Until a tier is read to its end, a key's first record is not known.
	marksEnds  bool
	releases    bool // released messages are delivered again here, because other deliveries do not wait for them
	retries     bool // retries may wait outside of the core
	rejects     bool // there are dead letters
	transforms  bool // results and completions are in transactions
	recycles    bool // records' memory is used again

	places int   // roughly how many places the core has
	bytes  int64 // how many bytes it holds; 0: without limit
	commit int   // the number of finished records that is committed before the interval is over
}

// ordered reports whether a record has an order that RetryPark keeps. On a channel that is not ordered, a record
// without a key has none.
func (r *rules) ordered(rec *kgo.Record) bool {
	return r.parks && (len(rec.Key) > 0 || r.inOrder || r.byPartition)
}

// laneRoom is the room of each key if the receiver has this number of partitions.
func (r *rules) laneRoom(partitions int) laneRoom {
	partitions = max(partitions, 1)
	places := r.places / partitions
	room := laneRoom{
		messages: min(max(places/8, laneLeast), laneMost), bytes: laneBytes, unstrained: max(places/4, strainedLeast),
	}
	if r.bytes > 0 {
		room.bytes = min(max(int(r.bytes)/partitions/8, laneBytesLeast), laneBytes)
	}
	return room
}

// recycle returns the memory of a record that nothing refers to any more.
func (r *rules) recycle(rec *kgo.Record) {
	if r.recycles {
		rec.Recycle()
	}
}

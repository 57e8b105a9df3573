package records

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/internal/offsets"
)

const (
	// laneMost is how many messages of one key wait in this process while their partition is strained. Further ones are
	// forgotten, and read again when the lane has room.
	laneMost = 1024
	// laneLeast is the smallest such bound, if many partitions share the places.
	laneLeast = 16
	// laneBytes is the same bound in bytes. It is lower if many partitions share the core's bytes.
	laneBytes      = 4 << 20
	laneBytesLeast = 128 << 10
	// asideFrom is the number of waiting messages from which a lane is set aside.
	asideFrom = 64
	// forgottenMost is how many records in a row may be forgotten. Then the member stops reading: the next
	// records are likely to be of the same key, and each forgotten record has to be read twice.
	forgottenMost = 1 << 18
	// slowAfter is how long a message may be in this process until its key counts as slow. Without slow keys, a full
	// window is the normal state of a backlog, and all keys progress.
	slowAfter = 5 * time.Second
	// strainedLeast is how many records of a partition are in flight, at least, before the partition counts as
	// strained.
	strainedLeast = 64
)

// lane is the waiting messages of one key. A partition has lanes only while it is strained: while many of its records
// are in flight behind one that fails or is slow, so that its key may delay the others. Guarded by Ledger.mu.
//
// A long lane is set aside: its messages leave the tracker, and commits record that every record of the key from the
// first unfinished one on is unfinished (offsets.Tracker.Block). Messages beyond laneMost are forgotten.
type lane struct {
	hash    uint64     // hash of the key: keys of the same hash share a lane
	waiting []*Message // its unfinished messages, in the order of the log
	bytes   int
	aside   bool
	missing int64 // offset of the first forgotten record; -1: none is forgotten
	lost    int   // number of forgotten records
	refill  bool  // its records are being read again
	returns int   // how many of waiting were read again and are not delivered yet
}

// first is the offset and the number of attempts of the first unfinished record; false: there is none.
func (ln *lane) first() (offset int64, attempt int32, ok bool) {
	if len(ln.waiting) > 0 {
		m := ln.waiting[0]
		return m.Record.Offset, m.Attempt, true
	}
	return ln.missing, 0, ln.missing >= 0
}

// count is the number of unfinished records, with the forgotten ones.
func (ln *lane) count() int { return len(ln.waiting) + ln.lost }

func (ln *lane) full(r laneRoom) bool { return len(ln.waiting) >= r.messages || ln.bytes >= r.bytes }

// lacks reports whether forgotten records of the lane should be read again now.
func (ln *lane) lacks(r laneRoom) bool {
	return ln.missing >= 0 && len(ln.waiting) <= r.messages/2 && ln.bytes <= r.bytes/2
}

// laneRoom bounds the waiting messages of one key: to a small part of the places and bytes that a partition always has.
type laneRoom struct {
	messages, bytes int
	unstrained      int // a partition with more records in flight than this is strained
}

// lanes are the lanes of one partition. Guarded by Ledger.mu.
type lanes struct {
	tracker   *offsets.Tracker // of the partition
	ordered   bool             // messages without a key are in order among each other
	byHash    map[uint64]*lane // nil: the partition is not strained
	forgotten int              // how many records in a row were forgotten
	again     []*Message       // messages that were read again, in the order in which they are delivered next
}

// survey builds the lanes of a partition that has become strained, and removes them when it no longer is. open are the
// partition's unfinished messages.
func (ls *lanes) survey(open *messageList, room laneRoom, now time.Time) {
	strained := (ls.tracker.Strained(room.unstrained) || open.bytes > 2*room.bytes) && open.first.slow(now)
	switch {
	case strained && ls.byHash == nil:
		ls.byHash = map[uint64]*lane{}
		for m := open.first; m != nil; m = m.next {
			ls.join(m, ls.of(m.Record.Key))
		}
	case !strained && ls.byHash != nil:
		for _, ln := range ls.byHash {
			if ln.aside {
				return
			}
		}
		ls.byHash = nil
		for m := open.first; m != nil; m = m.next {
			m.lane = nil
		}
	}
}

// of is the lane of a key; nil: the partition is not strained, or messages without a key have no order.
func (ls *lanes) of(key []byte) *lane {
	if ls.byHash == nil || len(key) == 0 && !ls.ordered {
		return nil
	}
	hash := offsets.Hash(key)
	ln := ls.byHash[hash]
	if ln == nil {
		ln = &lane{hash: hash, missing: -1}
		ls.byHash[hash] = ln
	}
	return ln
}

// join adds a message to the end of its lane. A nil lane is ignored.
func (ls *lanes) join(m *Message, ln *lane) {
	if ln == nil {
		return
	}
	m.lane = ln
	ln.waiting = append(ln.waiting, m)
	ln.bytes += len(m.Record.Value)
	switch {
	case ln.aside:
		ls.tracker.Finish(m.seq)
		m.seq = 0
		ls.update(ln)
	case len(ln.waiting) >= asideFrom:
		ls.setAside(ln)
	}
}

// setAside takes a lane out of the tracker; false: the commit has no room for one more lane.
func (ls *lanes) setAside(ln *lane) bool {
	if ln.aside {
		return true
	}
	first, attempt, ok := ln.first()
	if !ok || !ls.tracker.Block(ln.hash, first, attempt, ln.count()) {
		return false
	}
	ln.aside = true
	for _, m := range ln.waiting {
		ls.tracker.Finish(m.seq)
		m.seq = 0
	}
	return true
}

// setLongestAside sets the longest lane aside, so that the commit has room for the next record.
func (ls *lanes) setLongestAside() bool {
	var longest *lane
	for _, ln := range ls.byHash {
		if !ln.aside && len(ln.waiting) > 1 && (longest == nil || len(ln.waiting) > len(longest.waiting)) {
			longest = ln
		}
	}
	return longest != nil && ls.setAside(longest)
}

// forgets reports whether a record of a lane must be forgotten: its lane is full and slow, or an earlier record was
// forgotten.
func (ls *lanes) forgets(ln *lane, offset int64, room laneRoom, now time.Time) bool {
	if ln.missing < 0 && (!ln.full(room) || !ln.waiting[0].slow(now) || !ls.setAside(ln)) {
		return false
	}
	if ln.missing < 0 || offset < ln.missing {
		ln.missing = offset
	}
	ln.lost++
	ls.forgotten++
	ls.update(ln)
	return true
}

// remove removes a finished message from its lane.
func (ls *lanes) remove(m *Message) {
	ln := m.lane
	m.lane = nil
	switch i := slices.Index(ln.waiting, m); {
	case i < 0:
		ls.update(ln)
		return
	case i == 0: // nearly always, and a lane may be long
		ln.waiting[0] = nil
		ln.waiting = ln.waiting[1:]
	default:
		ln.waiting = slices.Delete(ln.waiting, i, i+1)
	}
	ln.bytes -= len(m.Record.Value)
	ls.update(ln)
}

// update updates the lane's first unfinished record in the tracker. An empty lane is deleted.
func (ls *lanes) update(ln *lane) {
	switch first, attempt, ok := ln.first(); {
	case ok && ln.aside:
		ls.tracker.Block(ln.hash, first, attempt, ln.count())
	case !ok:
		ls.tracker.Unblock(ln.hash)
		delete(ls.byHash, ln.hash)
	}
}

// hold keeps a message for the next round, behind the messages that were read again before it.
func (ls *lanes) hold(m *Message) {
	m.lane.returns++
	ls.again = append(ls.again, m)
}

// next takes the first message of hold; nil: there is none.
func (ls *lanes) next() *Message {
	if len(ls.again) == 0 {
		return nil
	}
	m := ls.again[0]
	ls.again = ls.again[1:]
	m.lane.returns--
	return m
}

// refill selects the lanes whose forgotten records should be read again, and returns the offset from which to read;
// false: there is no such lane.
func (ls *lanes) refill(room laneRoom) (from int64, ok bool) {
	for _, ln := range ls.byHash {
		if ln.refill = ln.lacks(room); ln.refill && (!ok || ln.missing < from) {
			from, ok = ln.missing, true
		}
	}
	return from, ok
}

// refilling reports whether a lane is being read again.
func (ls *lanes) refilling() bool {
	for _, ln := range ls.byHash {
		if ln.refill {
			return true
		}
	}
	return false
}

// taking is the lane for a record that is read again; nil: no lane needs it.
func (ls *lanes) taking(rec *kgo.Record) *lane {
	ln := ls.byHash[offsets.Hash(rec.Key)]
	if ln == nil || !ln.refill || rec.Offset < ln.missing || rec.Attrs.IsControl() {
		return nil
	}
	return ln
}

// refilled ends the reading of all lanes that are being read again: none of their records is missing. It returns the
// number of these lanes.
func (ls *lanes) refilled() (n int) {
	for _, ln := range ls.byHash {
		if ln.refill {
			ln.refill, ln.missing, ln.lost = false, -1, 0
			ls.update(ln)
			n++
		}
	}
	return n
}

// messageList is a linked list of messages, in the order of put.
type messageList struct {
	first, last *Message
	bytes       int
}

func (ms *messageList) put(m *Message) {
	ms.bytes += len(m.Record.Value)
	if m.before = ms.last; ms.last != nil {
		ms.last.next = m
	} else {
		ms.first = m
	}
	ms.last = m
}

func (ms *messageList) remove(m *Message) {
	ms.bytes -= len(m.Record.Value)
	if m.before != nil {
		m.before.next = m.next
	} else {
		ms.first = m.next
	}
	if m.next != nil {
		m.next.before = m.before
	} else {
		ms.last = m.before
	}
	m.before, m.next = nil, nil
}

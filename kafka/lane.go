package kafka

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/internal/offsets"
)

const (
	// laneMost is how many messages of one key wait in this process once their partition is strained. More are
	// forgotten, and read again when the key goes on.
	laneMost = 1024
	// laneLeast is the same where many partitions share the places.
	laneLeast = 16
	// laneBytes bounds the same in bytes. It is less where many partitions share the core's bytes.
	laneBytes      = 4 << 20
	laneBytesLeast = 128 << 10
	// asideFrom is how many messages of a key wait when the commit says that all of them do, instead of each.
	asideFrom = 64
	// barrenMost is how many records one after another may be forgotten: who reads on and finds nothing for other keys
	// reads in vain.
	barrenMost = 1 << 18
	// strainedLeast is how many records of a partition are in flight, at least, before its keys are counted.
	strainedLeast = 64
)

// lane is what waits of one key. The lanes of a partition are known only while the partition is strained: while it has
// so many records in flight that one key may hold up the others. Guarded by ledger.mu.
//
// A key that fails or is slow is set aside: its messages leave the tracker, whose commits say that everything of the
// key from the first one on is unfinished (offsets.Tracker.Block). What comes beyond laneMost is forgotten.
type lane struct {
	hash    uint64     // of the key: keys of the same hash share a lane
	waiting []*message // unfinished, in the order of the log
	bytes   int
	aside   bool
	missing int64 // what was forgotten begins here; -1: nothing was
	lost    int   // how many were forgotten
	refill  bool  // it is being read again
	returns int   // of waiting, those that were read again and are not in the core's hands yet
}

// first is the first unfinished record, and the number of its attempts; false: there is none.
func (ln *lane) first() (offset int64, attempt int32, ok bool) {
	if len(ln.waiting) > 0 {
		m := ln.waiting[0]
		return m.record.Offset, m.attempt, true
	}
	return ln.missing, 0, ln.missing >= 0
}

// count is how many records are unfinished.
func (ln *lane) count() int { return len(ln.waiting) + ln.lost }

func (ln *lane) full(r laneRoom) bool { return len(ln.waiting) >= r.messages || ln.bytes >= r.bytes }

// lacks says that the lane is to be read again now.
func (ln *lane) lacks(r laneRoom) bool {
	return ln.missing >= 0 && len(ln.waiting) <= r.messages/2 && ln.bytes <= r.bytes/2
}

// laneRoom is how much of one key may wait: a small part of the places and bytes that a partition has for certain.
type laneRoom struct {
	messages, bytes int
	unstrained      int // so many records of a partition may be in flight before its keys are counted
}

// laneRoom is the room of each key, where the receiver has so many partitions.
func (s *subscription) laneRoom(partitions int) laneRoom {
	partitions = max(partitions, 1)
	places := s.places() / partitions
	room := laneRoom{
		messages: min(max(places/8, laneLeast), laneMost), bytes: laneBytes, unstrained: max(places/4, strainedLeast),
	}
	if most := s.o.Bytes; most > 0 {
		room.bytes = min(max(int(most)/partitions/8, laneBytesLeast), laneBytes)
	}
	return room
}

// lanes are the keys of one partition. Guarded by ledger.mu.
type lanes struct {
	tracker *offsets.Tracker // of the partition
	ordered bool             // messages without a key are in order, too
	byHash  map[uint64]*lane // nil: the partition is not strained
	barren  int              // records that were forgotten since the last one that was not
	again   []*message       // that were read again, to be delivered next
}

// survey counts the keys of a partition that is strained, and forgets the count if it is no more. open are the
// partition's unfinished messages.
func (ls *lanes) survey(open *messageList, room laneRoom) {
	strained := ls.tracker.Strained(room.unstrained) || open.bytes > 2*room.bytes
	switch {
	case strained && ls.byHash == nil:
		ls.byHash = map[uint64]*lane{}
		for m := open.first; m != nil; m = m.next {
			ls.join(m, ls.of(m.record.Key))
		}
	case !strained && ls.byHash != nil && !ls.anyAside():
		ls.byHash = nil
		for m := open.first; m != nil; m = m.next {
			m.lane = nil
		}
	}
}

func (ls *lanes) anyAside() bool {
	for _, ln := range ls.byHash {
		if ln.aside {
			return true
		}
	}
	return false
}

// of is the lane of a key, if lanes are counted and the key has an order.
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

// join puts a message at the end of its lane; nil: it has none.
func (ls *lanes) join(m *message, ln *lane) {
	if ln == nil {
		return
	}
	m.lane = ln
	ln.waiting = append(ln.waiting, m)
	ln.bytes += len(m.record.Value)
	switch {
	case ln.aside:
		ls.tracker.Finish(m.seq)
		m.seq = 0
		ls.goOn(ln)
	case len(ln.waiting) >= asideFrom:
		ls.setAside(ln)
	}
}

// setAside takes a lane out of the tracker; false: the commit has no room for another one.
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

// relieve sets the longest lane aside, because the commit has no room for the next record otherwise.
func (ls *lanes) relieve() bool {
	var longest *lane
	for _, ln := range ls.byHash {
		if !ln.aside && len(ln.waiting) > 1 && (longest == nil || len(ln.waiting) > len(longest.waiting)) {
			longest = ln
		}
	}
	return longest != nil && ls.setAside(longest)
}

// forgets says whether a record of a lane is not to be kept: its lane is full, or something before it was forgotten.
func (ls *lanes) forgets(ln *lane, offset int64, room laneRoom) bool {
	if ln.missing < 0 && (!ln.full(room) || !ls.setAside(ln)) {
		return false
	}
	if ln.missing < 0 || offset < ln.missing {
		ln.missing = offset
	}
	ln.lost++
	ls.barren++
	ls.goOn(ln)
	return true
}

// part takes a message that is finished out of its lane.
func (ls *lanes) part(m *message) {
	ln := m.lane
	m.lane = nil
	if i := slices.Index(ln.waiting, m); i >= 0 {
		ln.waiting = slices.Delete(ln.waiting, i, i+1)
		ln.bytes -= len(m.record.Value)
	}
	ls.goOn(ln)
}

// goOn tells the tracker what the first unfinished record of a lane is now. A lane without any is over.
func (ls *lanes) goOn(ln *lane) {
	switch first, attempt, ok := ln.first(); {
	case ok && ln.aside:
		ls.tracker.Block(ln.hash, first, attempt, ln.count())
	case !ok:
		ls.tracker.Unblock(ln.hash)
		delete(ls.byHash, ln.hash)
	}
}

// hold keeps a message that waits for the next round: those that were read again go first.
func (ls *lanes) hold(m *message) {
	m.lane.returns++
	ls.again = append(ls.again, m)
}

// next takes the first message that hold kept; nil: there is none.
func (ls *lanes) next() *message {
	if len(ls.again) == 0 {
		return nil
	}
	m := ls.again[0]
	ls.again = ls.again[1:]
	m.lane.returns--
	return m
}

// refill makes the lanes that lack messages take what is read again, and returns from where on it has to be read;
// false: no lane lacks any.
func (ls *lanes) refill(room laneRoom) (from int64, ok bool) {
	for _, ln := range ls.byHash {
		if ln.refill = ln.lacks(room); ln.refill && (!ok || ln.missing < from) {
			from, ok = ln.missing, true
		}
	}
	return from, ok
}

// refilling says whether a lane takes what is read again.
func (ls *lanes) refilling() bool {
	for _, ln := range ls.byHash {
		if ln.refill {
			return true
		}
	}
	return false
}

// taking is the lane that takes a record which is read again; nil: there is none.
func (ls *lanes) taking(rec *kgo.Record) *lane {
	ln := ls.byHash[offsets.Hash(rec.Key)]
	if ln == nil || !ln.refill || rec.Offset < ln.missing || rec.Attrs.IsControl() {
		return nil
	}
	return ln
}

// refilled says that nothing is missing any more in the lanes that take what is read again, and returns how many these
// are.
func (ls *lanes) refilled() (n int) {
	for _, ln := range ls.byHash {
		if ln.refill {
			ln.refill, ln.missing, ln.lost = false, -1, 0
			ls.goOn(ln)
			n++
		}
	}
	return n
}

// messageList is a list of messages, in the order in which they were put there.
type messageList struct {
	first, last *message
	bytes       int
}

func (ms *messageList) put(m *message) {
	ms.bytes += len(m.record.Value)
	if m.before = ms.last; ms.last != nil {
		ms.last.next = m
	} else {
		ms.first = m
	}
	ms.last = m
}

func (ms *messageList) remove(m *message) {
	ms.bytes -= len(m.record.Value)
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

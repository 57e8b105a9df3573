package kafka

import (
	"slices"

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

// laneRoom is how much of one key may wait: a small part of the places and bytes that a partition has for certain.
type laneRoom struct{ messages, bytes int }

func (l *ledger) laneRoom() laneRoom {
	room := laneRoom{min(max(l.perPartition()/8, laneLeast), laneMost), laneBytes}
	if most := l.sub.o.Bytes; most > 0 {
		room.bytes = min(max(int(most)/max(len(l.epochs), 1)/8, laneBytesLeast), laneBytes)
	}
	return room
}

func (ln *lane) full(r laneRoom) bool { return len(ln.waiting) >= r.messages || ln.bytes >= r.bytes }

// lacks says that the lane is to be read again now.
func (ln *lane) lacks(r laneRoom) bool {
	return ln.missing >= 0 && len(ln.waiting) <= r.messages/2 && ln.bytes <= r.bytes/2
}

func (l *ledger) perPartition() int { return l.sub.places() / max(len(l.epochs), 1) }

// survey counts the keys of partitions that are strained, and forgets the count of those that are no more.
func (l *ledger) survey() {
	if !l.sub.blocks() {
		return
	}
	room := l.laneRoom()
	for _, e := range l.epochs {
		strained := e.tracker.Strained(max(l.perPartition()/4, strainedLeast)) || e.open.bytes > 2*room.bytes
		switch {
		case strained && e.lanes == nil:
			e.lanes = map[uint64]*lane{}
			for m := e.open.first; m != nil; m = m.next {
				l.join(m, l.laneOf(e, m.record.Key))
			}
		case !strained && e.lanes != nil && !e.anyAside():
			e.lanes = nil
			for m := e.open.first; m != nil; m = m.next {
				m.lane = nil
			}
		}
	}
}

func (e *epoch) anyAside() bool {
	for _, ln := range e.lanes {
		if ln.aside {
			return true
		}
	}
	return false
}

// laneOf is the lane of a key, if lanes are counted and the key has an order.
func (l *ledger) laneOf(e *epoch, key []byte) *lane {
	if e.lanes == nil || len(key) == 0 && !l.sub.from.Ordered {
		return nil
	}
	hash := offsets.Hash(key)
	ln := e.lanes[hash]
	if ln == nil {
		ln = &lane{hash: hash, missing: -1}
		e.lanes[hash] = ln
	}
	return ln
}

// join puts a message at the end of its lane; nil: it has none.
func (l *ledger) join(m *message, ln *lane) {
	if ln == nil {
		return
	}
	m.lane = ln
	ln.waiting = append(ln.waiting, m)
	ln.bytes += len(m.record.Value)
	switch {
	case ln.aside:
		m.epoch.tracker.Finish(m.seq)
		m.seq = 0
		l.goOn(m.epoch, ln)
	case len(ln.waiting) >= asideFrom:
		l.setAside(m.epoch, ln)
	}
}

// setAside takes a lane out of the tracker; false: the commit has no room for another one.
func (l *ledger) setAside(e *epoch, ln *lane) bool {
	if ln.aside {
		return true
	}
	first, attempt, ok := ln.first()
	if !ok || !e.tracker.Block(ln.hash, first, attempt, ln.count()) {
		return false
	}
	ln.aside = true
	for _, m := range ln.waiting {
		e.tracker.Finish(m.seq)
		m.seq = 0
	}
	return true
}

// relieve sets the longest lane aside, because the commit has no room for the next record otherwise.
func (l *ledger) relieve(e *epoch) bool {
	var longest *lane
	for _, ln := range e.lanes {
		if !ln.aside && len(ln.waiting) > 1 && (longest == nil || len(ln.waiting) > len(longest.waiting)) {
			longest = ln
		}
	}
	return longest != nil && l.setAside(e, longest)
}

// forgets says whether a record of a lane is not to be kept: its lane is full, or something before it was forgotten.
func (l *ledger) forgets(e *epoch, ln *lane, offset int64) bool {
	if ln == nil || ln.missing < 0 && (!ln.full(l.laneRoom()) || !l.setAside(e, ln)) {
		return false
	}
	if ln.missing < 0 || offset < ln.missing {
		ln.missing = offset
	}
	ln.lost++
	e.barren++
	l.goOn(e, ln)
	return true
}

// part takes a message that is finished out of its lane.
func (l *ledger) part(m *message) {
	e, ln := m.epoch, m.lane
	m.lane = nil
	if i := slices.Index(ln.waiting, m); i >= 0 {
		ln.waiting = slices.Delete(ln.waiting, i, i+1)
		ln.bytes -= len(m.record.Value)
	}
	l.goOn(e, ln)
	if ln.lacks(l.laneRoom()) {
		l.rereads.wake()
	}
}

// goOn tells the tracker what the first unfinished record of a lane is now. A lane without any is over.
func (l *ledger) goOn(e *epoch, ln *lane) {
	switch first, attempt, ok := ln.first(); {
	case ok && ln.aside:
		e.tracker.Block(ln.hash, first, attempt, ln.count())
	case !ok:
		e.tracker.Unblock(ln.hash)
		delete(e.lanes, ln.hash)
	}
}

// hold lets a message wait for the next round: those that were read again go first.
func (l *ledger) hold(m *message) {
	if l.move(m, waiting) {
		m.lane.returns++
		m.epoch.again = append(m.epoch.again, m)
	}
}

// started notes how often a message was started: with its lane, or in the tracker.
func (l *ledger) started(m *message, times int32) {
	m.attempt = max(m.attempt, times)
	switch ln := m.lane; {
	case ln == nil || !ln.aside:
		m.epoch.tracker.Started(m.seq, times)
	case ln.waiting[0] == m:
		l.goOn(m.epoch, ln)
	}
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

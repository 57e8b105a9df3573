package kafka

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// rereads says which records are to be read again, because lanes have forgotten them, and takes them.
type rereads struct {
	l    *ledger
	soon signal // a lane lacks records
}

// lacking returns a partition to read again, and the offset to begin at. Its lanes take the records from then on.
func (rs *rereads) lacking() (found *epoch, from int64, ok bool) {
	l := rs.l
	l.mu.Lock()
	defer l.mu.Unlock()
	room := l.epochs.laneRoom()
	for _, e := range l.epochs.open {
		if e.state != epochOpen || e.halfCrowded() {
			continue
		}
		if from, ok = e.lanes.refill(room); ok {
			return e, from, true
		}
	}
	return nil, 0, false
}

// readmit takes records that were read again; more: a lane lacks records that are still to come.
func (rs *rereads) readmit(e *epoch, records []*kgo.Record) (more bool) {
	l := rs.l
	l.mu.Lock()
	defer l.mu.Unlock()
	room, next := l.epochs.laneRoom(), int64(-1)
	for _, rec := range records {
		if e.state != epochOpen {
			return false
		}
		if rec.Offset >= e.next { // the member's own reading brings this record
			next = e.next
			break
		}
		next = rec.Offset + 1
		if ln := e.lanes.taking(rec); ln != nil {
			rs.takeBack(e, ln, rec, room)
		}
	}
	if next >= e.next && e.lanes.refilled() > 0 {
		e.lanes.forgotten = 0
	}
	l.wakeup.wake()
	return e.lanes.refilling()
}

// takeBack adds a forgotten record to its lane again, behind the waiting ones.
func (rs *rereads) takeBack(e *epoch, ln *lane, rec *kgo.Record, room laneRoom) {
	if ln.full(room) || e.halfCrowded() {
		ln.refill, ln.missing = false, rec.Offset
		return
	}
	ln.missing, ln.lost = rec.Offset+1, max(ln.lost-1, 0)
	l := rs.l
	if l.epochs.deadLettered(e, rec) || !wire.Matches(l.rules.filter, rec) {
		return
	}
	m := l.messages.take()
	m.epoch, m.record, m.stage, m.came = e, rec, admitted, time.Now()
	e.open.put(m)
	e.lanes.join(m, ln)
	if l.move(m, waiting) {
		e.lanes.hold(m)
	}
}

// startsAt ends the reading again if the log begins at or after the offset up to which the member has read. It returns
// the number of lanes that lose records.
func (rs *rereads) startsAt(e *epoch, start int64) (n int) {
	rs.l.mu.Lock()
	defer rs.l.mu.Unlock()
	if e.state != epochOpen || start < e.next {
		return 0
	}
	return e.lanes.refilled()
}

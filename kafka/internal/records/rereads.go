package records

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// Rereads says which records are to be read again, because lanes have forgotten them, and takes them.
type Rereads struct {
	l    *Ledger
	Soon Signal // a lane lacks records
}

// Lacking returns a partition to read again, and the offset to begin at. Its lanes take the records from then on.
func (rs *Rereads) Lacking() (found *Epoch, from int64, ok bool) {
	l := rs.l
	l.mu.Lock()
	defer l.mu.Unlock()
	room := l.Epochs.laneRoom()
	for _, e := range l.Epochs.open {
		if e.state != epochOpen || e.halfCrowded() {
			continue
		}
		if from, ok = e.lanes.refill(room); ok {
			return e, from, true
		}
	}
	return nil, 0, false
}

// Readmit takes records that were read again; more: a lane lacks records that are still to come.
func (rs *Rereads) Readmit(e *Epoch, records []*kgo.Record) (more bool) {
	l := rs.l
	l.mu.Lock()
	defer l.mu.Unlock()
	room, next := l.Epochs.laneRoom(), int64(-1)
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
	l.Wakeup.Wake()
	return e.lanes.refilling()
}

// takeBack adds a forgotten record to its lane again, behind the waiting ones.
func (rs *Rereads) takeBack(e *Epoch, ln *lane, rec *kgo.Record, room laneRoom) {
	if ln.full(room) || e.halfCrowded() {
		ln.refill, ln.missing = false, rec.Offset
		return
	}
	ln.missing, ln.lost = rec.Offset+1, max(ln.lost-1, 0)
	l := rs.l
	if l.Epochs.deadLettered(e, rec) || !wire.Matches(l.Rules.Filter, rec) {
		return
	}
	m := l.messages.take()
	m.Epoch, m.Record, m.stage, m.came = e, rec, admitted, time.Now()
	e.open.put(m)
	e.lanes.join(m, ln)
	if l.move(m, waiting) {
		e.lanes.hold(m)
	}
}

// StartsAt ends the reading again if the log begins at or after the offset up to which the member has read. It returns
// the number of lanes that lose records.
func (rs *Rereads) StartsAt(e *Epoch, start int64) (n int) {
	rs.l.mu.Lock()
	defer rs.l.mu.Unlock()
	if e.state != epochOpen || start < e.next {
		return 0
	}
	return e.lanes.refilled()
}

package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

const (
	// rereadPatience is how long a broker may send no records before the reader asks it whether they still exist.
	rereadPatience = 10 * time.Second
	// rereadAgain is the pause after an error.
	rereadAgain = time.Second
)

// rereader reads the forgotten records of lanes again. It uses a client outside of the group, beside the member's own
// reading, so that other keys are not delayed.
type rereader struct {
	sub    *subscription
	ledger *ledger
}

// rereads wakes the rereader. Its method may be called while the ledger's lock is held.
type rereads struct{ soon chan struct{} }

func newRereads() rereads { return rereads{soon: make(chan struct{}, 1)} }

// wake reports that a lane lacks records.
func (rs *rereads) wake() {
	select {
	case rs.soon <- struct{}{}:
	default:
	}
}

// run reads forgotten records whenever a lane lacks some, until ctx ends.
func (r *rereader) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.ledger.rereads.soon:
		}
		for {
			e, from, ok := r.lacking()
			if !ok {
				break
			}
			if err := r.readFrom(ctx, e, from); err != nil && !failure.Over(ctx) {
				r.sub.b.log.Warn("records of a waiting key could not be read again: the next try follows", "group",
					r.sub.group, "partition", e.Name, "offset", from, "error", err)
				_ = backoff.Sleep(ctx, rereadAgain)
			}
			if failure.Over(ctx) {
				return
			}
		}
	}
}

// readFrom reads a partition, beginning at an offset, until no lane lacks records.
func (r *rereader) readFrom(ctx context.Context, e *epoch, from int64) error {
	reader, err := r.sub.b.cluster.Read(map[string]map[int32]kgo.Offset{e.Topic: {e.N: kgo.NewOffset().At(from)}},
		rereadPatience, kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.FetchMaxPartitionBytes(e.member.share), kgo.FetchMaxWait(fetchWait),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer reader.Close()
	for more := true; more; {
		fetches, err := reader.Poll(ctx)
		if errors.Is(err, cluster.ErrSilent) {
			return r.lookForStart(ctx, e, from, err)
		}
		if err != nil {
			return err
		}
		more = r.readmit(e, fetches.Records())
	}
	return nil
}

// lookForStart is called when a broker sends nothing. The broker may be unavailable, or it has deleted all missing
// records because they were older than the topic's retention.
func (r *rereader) lookForStart(ctx context.Context, e *epoch, from int64, silent error) error {
	starts, err := r.sub.b.cluster.Offsets(ctx, cluster.Start, e.Topic)
	if err != nil {
		return err
	}
	start, _ := starts.Lookup(e.Topic, e.N)
	if n := r.startsAt(e, start.Offset); n > 0 {
		r.sub.b.log.Error("records of waiting keys were deleted before a handler got them: the topic's retention is "+
			"too short for the wait, so raise it", "group", r.sub.group, "partition", e.Name, "from", from, "to",
			start.Offset,
			"keys", n)
		return nil
	}
	return silent
}

// lacking returns a partition to read again, and the offset to begin at. Its lanes take the records from then on.
func (r *rereader) lacking() (found *epoch, from int64, ok bool) {
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	room := r.sub.laneRoom(len(l.epochs))
	for _, e := range l.epochs {
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
func (r *rereader) readmit(e *epoch, rs []*kgo.Record) (more bool) {
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	room, next := r.sub.laneRoom(len(l.epochs)), int64(-1)
	for _, rec := range rs {
		if e.state != epochOpen {
			return false
		}
		if rec.Offset >= e.next { // the member's own reading brings this record
			next = e.next
			break
		}
		next = rec.Offset + 1
		if ln := e.lanes.taking(rec); ln != nil {
			r.takeBack(e, ln, rec, room)
		}
	}
	if next >= e.next && e.lanes.refilled() > 0 {
		e.lanes.forgotten = 0
	}
	l.wakeup.wake()
	return e.lanes.refilling()
}

// takeBack adds a forgotten record to its lane again, behind the waiting ones.
func (r *rereader) takeBack(e *epoch, ln *lane, rec *kgo.Record, room laneRoom) {
	if ln.full(room) || e.halfCrowded() {
		ln.refill, ln.missing = false, rec.Offset
		return
	}
	ln.missing, ln.lost = rec.Offset+1, max(ln.lost-1, 0)
	l := r.ledger
	if l.deadLettered(e, rec) || !wire.Matches(r.sub.o.Filter, rec) {
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
func (r *rereader) startsAt(e *epoch, start int64) (n int) {
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	if e.state != epochOpen || start < e.next {
		return 0
	}
	return e.lanes.refilled()
}

package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

const (
	// rereadPatience is how long a broker may send nothing before it is asked whether the records still exist.
	rereadPatience = 10 * time.Second
	// rereadAgain is how long it takes until reading again is tried once more.
	rereadAgain = time.Second
)

// rereader reads again what was forgotten of lanes: beside the member's own reading, by a client that is in no group,
// so that the other keys go on.
type rereader struct {
	sub    *subscription
	ledger *ledger
}

// rereads wakes the rereader. Its method may be called with the ledger's lock held.
type rereads struct{ soon chan struct{} }

func newRereads() rereads { return rereads{soon: make(chan struct{}, 1)} }

// wake says that a lane lacks messages.
func (rs *rereads) wake() {
	select {
	case rs.soon <- struct{}{}:
	default:
	}
}

// run reads lanes again, whenever one lacks messages, until ctx ends.
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
				r.sub.b.log.Warn("records of a key that waits could not be read again, and are tried once more", "group",
					r.sub.group, "partition", e.Name, "offset", from, "error", err)
				_ = backoff.Sleep(ctx, rereadAgain)
			}
			if failure.Over(ctx) {
				return
			}
		}
	}
}

// readFrom reads a partition from an offset on, until no lane lacks anything more.
func (r *rereader) readFrom(ctx context.Context, e *epoch, from int64) error {
	opts, err := r.sub.b.o.clientOptions(r.sub.b.log, kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), kgo.FetchMaxPartitionBytes(e.member.share), kgo.FetchMaxWait(fetchWait),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{e.Topic: {e.N: kgo.NewOffset().At(from)}}))
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return fmt.Errorf("kafka: make the client that reads partition %s again: %w", e.Name, err)
	}
	defer client.Close()
	for more := true; more; {
		wait, cancel := context.WithTimeout(ctx, rereadPatience)
		fetches := client.PollFetches(wait)
		over := failure.Over(wait)
		cancel()
		switch errs := fetches.Errors(); {
		case failure.Over(ctx):
			return context.Cause(ctx)
		case over && fetches.Empty():
			return r.lookForStart(ctx, e, from)
		case len(errs) > 0 && !errors.Is(errs[0].Err, context.DeadlineExceeded):
			return errs[0].Err
		}
		more = r.readmit(e, fetches.Records())
	}
	return nil
}

// lookForStart is called when a broker has nothing to send: it may be away, or have deleted all of what is missing,
// because it was older than the topic's retention.
func (r *rereader) lookForStart(ctx context.Context, e *epoch, from int64) error {
	starts, err := r.sub.b.admin.ListStartOffsets(ctx, e.Topic)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return fmt.Errorf("ask where the log of topic %s starts: %w", e.Topic, failure.Classify(err))
	}
	start, _ := starts.Lookup(e.Topic, e.N)
	if n := r.startsAt(e, start.Offset); n > 0 {
		r.sub.b.log.Error("records of keys that wait were deleted before they were handled: the topic's retention is "+
			"shorter than the wait", "group", r.sub.group, "partition", e.Name, "from", from, "to", start.Offset,
			"keys", n)
		return nil
	}
	return fmt.Errorf("nothing was sent for %v", rereadPatience)
}

// lacking returns a partition that has to be read again, and from where, and makes its lanes take what comes.
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

// readmit takes in what was read again. more: a lane lacks more, and more may come.
func (r *rereader) readmit(e *epoch, rs []*kgo.Record) (more bool) {
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	room, next := r.sub.laneRoom(len(l.epochs)), int64(-1)
	for _, rec := range rs {
		if e.state != epochOpen {
			return false
		}
		if rec.Offset >= e.next { // the member's own reading brings it
			next = e.next
			break
		}
		next = rec.Offset + 1
		if ln := e.lanes.taking(rec); ln != nil {
			r.takeBack(e, ln, rec, room)
		}
	}
	if next >= e.next && e.lanes.refilled() > 0 {
		e.lanes.barren = 0
	}
	l.wakeup.wake()
	return e.lanes.refilling()
}

// takeBack lets a record that was forgotten wait in its lane again, behind those that do.
func (r *rereader) takeBack(e *epoch, ln *lane, rec *kgo.Record, room laneRoom) {
	if ln.full(room) || e.halfCrowded() {
		ln.refill, ln.missing = false, rec.Offset
		return
	}
	ln.missing, ln.lost = rec.Offset+1, max(ln.lost-1, 0)
	l := r.ledger
	if l.died(e, rec) || !wire.Matches(r.sub.o.Filter, rec) {
		return
	}
	m := l.messages.take()
	m.epoch, m.record, m.stage = e, rec, admitted
	e.open.put(m)
	e.lanes.join(m, ln)
	if l.move(m, waiting) {
		e.lanes.hold(m)
	}
}

// startsAt notes that a log begins only where the member has read up to, or later, and returns how many lanes lose
// something by that.
func (r *rereader) startsAt(e *epoch, start int64) (n int) {
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	if e.state != epochOpen || start < e.next {
		return 0
	}
	return e.lanes.refilled()
}

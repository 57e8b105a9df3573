package kafka

import (
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/intake"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// ledger knows the stage of every record from the poll that brings the record to the commit that passes it. It decides
// each step under one lock, without I/O; its users carry the decisions out.
type ledger struct {
	rules  rules
	notes  notes
	wakeup wakeup
	enough signal // so many records are finished that they are to be committed before the interval is over

	mu       sync.Mutex // guards the fields below, and the fields of epochs and messages
	epochs   epochs
	lots     lots
	delays   timeline
	messages messages
	results  results
	rereads  rereads
	round    round // the latest round

	census   census
	finished int   // records since the last commit
	stalls   int64 // how often an epoch could admit no record
}

// signal wakes one goroutine. set may be called while the ledger's lock is held.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

func (s signal) set() {
	select {
	case s <- struct{}{}:
	default:
	}
}

func newLedger(r rules) *ledger {
	l := &ledger{rules: r, enough: newSignal()}
	l.epochs = epochs{
		l: l, open: map[wire.Partition]*epoch{}, past: map[wire.Partition]pastEpoch{},
		places: intake.New[*epoch](r.places),
	}
	l.lots = lots{rules: &l.rules}
	l.lots.Away = r.moves
	l.results = newResults(l)
	l.rereads = rereads{l: l, soon: newSignal()}
	return l
}

// started takes note of how often a delivery was started, without waiting for the ledger's lock.
func (l *ledger) started(h driver.Handle, times int32) { l.note(note{h, times}) }

// done takes note of a delivery that is done, without waiting for the ledger's lock.
func (l *ledger) done(h driver.Handle) { l.note(note{handle: h}) }

func (l *ledger) note(n note) {
	if l.notes.add(n) {
		l.wakeup.wake()
	}
}

// read processes the notes of the core. The caller holds l.mu.
func (l *ledger) read() {
	taken := l.notes.take()
	for i := range taken {
		n := &taken[i]
		m := n.handle.Ref.(*message)
		switch {
		case m.use != n.handle.Seq:
		case n.starts == 0:
			l.claim(n.handle, l.results.done)
		case n.starts > 0 && m.record != nil && m.epoch.state != epochGone:
			m.started(n.starts)
		}
	}
	clear(taken)
}

// held is the message of a delivery that the core holds; nil: its epoch has ended, or it was settled before. The caller
// holds l.mu.
func (l *ledger) held(h driver.Handle) *message {
	m := h.Ref.(*message)
	if m.use != h.Seq || m.stage != delivered || m.epoch.state == epochGone {
		return nil
	}
	return m
}

// holds reports whether the core holds a delivery, or can still get it.
func (l *ledger) holds(h driver.Handle) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held(h) != nil
}

// original is the record of a delivery, and whether it is one of a tier; nil: the delivery is settled.
func (l *ledger) original(h driver.Handle) (r *kgo.Record, tier bool) {
	m, ok := h.Ref.(*message)
	if !ok {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.use != h.Seq || m.record == nil {
		return nil, false
	}
	return m.record, m.epoch.stay > 0
}

// claim moves a message that the core holds to another stage; nil as with held. The caller holds l.mu.
func (l *ledger) claim(h driver.Handle, to stage) *message {
	m := l.held(h)
	if m != nil {
		l.move(m, to)
	}
	return m
}

// delay lets a message wait in this process. It wakes a poll if the message is the first one due. The caller holds
// l.mu.
func (l *ledger) delay(m *message, until time.Time) {
	if l.move(m, delayed) && l.delays.add(m, until) {
		l.wakeup.wake()
	}
}

// bring admits the records of a poll.
func (l *ledger) bring(m *membership, fetches kgo.Fetches, most int) *round {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes.await(0)
	in := l.begin(most)
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if e := l.epochs.open[wire.Partition{Topic: p.Topic, N: p.Partition}]; e != nil && e.member == m &&
			e.state == epochOpen {
			e.backlog.Bring(p.Records)
		}
	})
	in.admitBacklogs()
	return in
}

// again admits messages that wait in this process and are due.
func (l *ledger) again(most int) *round {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.begin(most)
	in.lift()
	in.returnLanes()
	l.lots.Resume(in.room, in.resume)
	for in.room() > 0 {
		m := l.delays.take(in.now)
		if m == nil {
			break
		}
		in.resume(m)
	}
	in.admitBacklogs()
	return in
}

// expect returns how long a poll may wait, at most. It also decides how many notes of the core end the wait earlier.
func (l *ledger) expect(wait time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read()
	if next := l.delays.next(); !next.IsZero() {
		wait = min(wait, time.Until(next))
	}
	missing := l.epochs.places.Missing(l.epochs.backlogs())
	if l.lots.Blocked() > 0 {
		missing = 1
	}
	if l.notes.await(missing) {
		return 0
	}
	return wait
}

// begin begins a round. The caller holds l.mu.
func (l *ledger) begin(most int) *round {
	l.read()
	l.round = round{l: l, number: l.round.number + 1, now: time.Now(), most: most, out: l.round.out[:0]}
	return &l.round
}

// collect adds to a commit what there is to commit for some epochs.
func (l *ledger) collect(c *commitment, es []*epoch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read()
	l.include(c, es)
}

// include is collect. The caller holds l.mu.
func (l *ledger) include(c *commitment, es []*epoch) {
	l.finished = 0
	for _, e := range es {
		if e.state == epochGone {
			continue
		}
		now, changed := e.tracker.Commit()
		if !changed { // also if the broker stored the commit and its answer was lost
			e.committed = e.finished
			continue
		}
		if c.offsets[e.Topic] == nil {
			c.offsets[e.Topic] = map[int32]kgo.EpochOffset{}
		}
		c.offsets[e.Topic][e.N] = kgo.EpochOffset{Epoch: now.Epoch, Offset: now.Offset}
		c.parts[e.Partition] = partitionCommit{e, now, e.finished}
	}
}

// answered notes the broker's answer to the commit of some partitions: it is stored, or its metadata is too large.
func (l *ledger) answered(tooLarge bool, parts ...partitionCommit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range parts {
		if tooLarge {
			x.e.tracker.Shorten()
			continue
		}
		x.e.tracker.Committed(x.c)
		x.e.committed, x.e.fresh = x.finished, false
	}
}

// stalled returns how often partitions had to wait although places were free, and a text for each that waits now.
func (l *ledger) stalled(now time.Time) (times int64, complaints []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.epochs.open {
		if e.stalled.IsZero() || now.Sub(e.stalled) < driver.StallLasts {
			continue
		}
		why := "the commit has no room for more finished records behind it"
		if e.crowded() {
			why = fmt.Sprintf("%d records (%d bytes) wait in this process until they are due", e.waiting, e.waitingB)
		}
		complaints = append(complaints, fmt.Sprintf("partition %s has admitted no record for %v: the record at offset "+
			"%d is unfinished, and %s: look for handlers that fail or are slow", e.Name,
			now.Sub(e.stalled).Round(time.Second), e.tracker.First(), why))
	}
	return l.stalls, complaints
}

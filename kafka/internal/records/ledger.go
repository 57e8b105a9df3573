package records

import (
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/intake"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// Ledger knows the stage of every record from the poll that brings the record to the commit that passes it. It decides
// each step under one lock, without I/O; its users carry the decisions out.
type Ledger struct {
	Rules  Rules
	notes  notes
	Wakeup Wakeup
	Enough Signal // so many records are finished that they are to be committed before the interval is over

	mu       sync.Mutex // guards the fields below, and the fields of epochs and messages
	Epochs   Epochs
	lots     lots
	delays   timeline
	messages messages
	Results  Results
	Rereads  Rereads
	round    Round // the latest round

	census   census
	finished int   // records since the last commit was collected
	sent     int   // the same number when that commit was collected: those that are in it, and in none before
	usual    int   // how many records the last stored commit had, or how many finished while it was being stored
	stalls   int64 // how often an epoch could admit no record
	// unsavedSince is since when no record is admitted because of unsavedMost; zero: records are admitted.
	unsavedSince time.Time
}

// Signal wakes one goroutine. set may be called while the ledger's lock is held.
type Signal chan struct{}

func (s Signal) set() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// New returns a ledger without epochs.
func New(r Rules) *Ledger {
	l := &Ledger{Rules: r, Enough: make(Signal, 1)}
	l.Epochs = Epochs{
		l: l, open: map[wire.Partition]*Epoch{}, past: map[wire.Partition]pastEpoch{},
		places: intake.New[*Epoch](r.Places),
	}
	l.lots = lots{rules: &l.Rules}
	l.lots.Away = r.Moves
	l.Results = newResults(l)
	l.Rereads = Rereads{l: l, Soon: make(Signal, 1)}
	return l
}

// Started takes note of how often a delivery was started, without waiting for the ledger's lock.
func (l *Ledger) Started(h driver.Handle, times int32) { l.note(note{h, times}) }

// Done takes note of a delivery that is done, without waiting for the ledger's lock.
func (l *Ledger) Done(h driver.Handle) { l.note(note{handle: h}) }

func (l *Ledger) note(n note) {
	if l.notes.add(n) {
		l.Wakeup.Wake()
	}
}

// read processes the notes of the core. The caller holds l.mu.
func (l *Ledger) read() {
	taken := l.notes.take()
	for i := range taken {
		n := &taken[i]
		m := n.handle.Ref.(*Message)
		switch {
		case m.Use != n.handle.Seq:
		case n.starts == 0:
			l.claim(n.handle, l.Results.done)
		case n.starts > 0 && m.Record != nil && m.Epoch.state != epochGone:
			m.started(n.starts)
		}
	}
	clear(taken)
}

// held is the message of a delivery that the core holds; nil: its epoch has ended, or it was settled before. The caller
// holds l.mu.
func (l *Ledger) held(h driver.Handle) *Message {
	m := h.Ref.(*Message)
	if m.Use != h.Seq || m.stage != delivered || m.Epoch.state == epochGone {
		return nil
	}
	return m
}

// Holds reports whether the core holds a delivery, or can still get it.
func (l *Ledger) Holds(h driver.Handle) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held(h) != nil
}

// Original is the record of a delivery, and whether it is one of a tier; nil: the delivery is settled.
func (l *Ledger) Original(h driver.Handle) (r *kgo.Record, tier bool) {
	m, ok := h.Ref.(*Message)
	if !ok {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.Use != h.Seq || m.Record == nil {
		return nil, false
	}
	return m.Record, m.Epoch.Stay > 0
}

// claim moves a message that the core holds to another stage; nil as with held. The caller holds l.mu.
func (l *Ledger) claim(h driver.Handle, to stage) *Message {
	m := l.held(h)
	if m != nil {
		l.move(m, to)
	}
	return m
}

// delay lets a message wait in this process. It wakes a poll if the message is the first one due. The caller holds
// l.mu.
func (l *Ledger) delay(m *Message, until time.Time) {
	if l.move(m, delayed) && l.delays.add(m, until) {
		l.Wakeup.Wake()
	}
}

// Bring admits the records of a poll.
func (l *Ledger) Bring(m *Member, fetches kgo.Fetches, most int) *Round {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes.await(0)
	in := l.begin(most)
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if e := l.Epochs.open[wire.Partition{Topic: p.Topic, N: p.Partition}]; e != nil && e.member == m &&
			e.state == epochOpen {
			e.backlog.Bring(p.Records)
		}
	})
	in.admitBacklogs()
	return in
}

// Again admits messages that wait in this process and are due.
func (l *Ledger) Again(most int) *Round {
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

// Expect returns how long a poll may wait, at most. It also decides how many notes of the core end the wait earlier.
func (l *Ledger) Expect(wait time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read()
	if next := l.delays.next(); !next.IsZero() {
		wait = min(wait, time.Until(next))
	}
	missing := l.Epochs.places.Missing(l.Epochs.backlogs())
	if l.lots.Blocked() > 0 {
		missing = 1
	}
	if l.notes.await(missing) {
		return 0
	}
	return wait
}

// begin begins a round. The caller holds l.mu.
func (l *Ledger) begin(most int) *Round {
	l.read()
	l.round = Round{l: l, number: l.round.number + 1, now: time.Now(), most: most, Out: l.round.Out[:0]}
	return &l.round
}

// Collect adds to a commit what there is to commit for some epochs.
func (l *Ledger) Collect(c *Commitment, es []*Epoch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read()
	l.include(c, es)
}

// include is collect. The caller holds l.mu.
func (l *Ledger) include(c *Commitment, es []*Epoch) {
	l.sent, l.finished = l.finished, 0
	for _, e := range es {
		if e.state == epochGone {
			continue
		}
		now, changed := e.tracker.Commit()
		if !changed { // also if the broker stored the commit and its answer was lost
			e.committed = e.finished
			l.Epochs.saved()
			continue
		}
		if c.Offsets[e.Topic] == nil {
			c.Offsets[e.Topic] = map[int32]kgo.EpochOffset{}
		}
		c.Offsets[e.Topic][e.N] = kgo.EpochOffset{Epoch: now.Epoch, Offset: now.Offset}
		c.Parts[e.Partition] = Part{e, now, e.finished}
	}
}

// Answered notes the broker's answer to the commit of some partitions: it is stored, or its metadata is too large.
func (l *Ledger) Answered(tooLarge bool, parts ...Part) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range parts {
		if tooLarge {
			x.Epoch.tracker.Shorten()
			continue
		}
		x.Epoch.tracker.Committed(x.Commit)
		x.Epoch.committed, x.Epoch.fresh = x.finished, false
	}
	if !tooLarge {
		l.usual = min(max(l.sent, l.finished), usualMost)
		l.Epochs.saved()
	}
}

// usualMost bounds usual, so that commits which take ever longer do not allow ever more finished messages.
const usualMost = Window / 2

// Stalled returns how often partitions had to wait although places were free, and a text for each that waits now.
func (l *Ledger) Stalled(now time.Time) (times int64, complaints []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lasts := now.Sub(l.unsavedSince); !l.unsavedSince.IsZero() && lasts >= driver.StallLasts {
		complaints = append(complaints, fmt.Sprintf("channel %s has admitted no record for %v: %d records are finished "+
			"and not committed, because the brokers take no commit of group %s: look for a broker that is away, or for "+
			"missing permissions", l.Rules.Channel, lasts.Round(time.Second), l.Epochs.unsaved(), l.Rules.Consumer))
	}
	for _, e := range l.Epochs.open {
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

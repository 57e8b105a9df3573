package kafka

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/intake"
	"github.com/godwitmq/godwit/kafka/internal/parking"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// ledger knows the stage of every record from the poll that brings the record to the commit that passes it. It decides
// each step under one lock, without I/O; receiver, rereader, group and committer carry the decisions out.
type ledger struct {
	sub     *subscription
	notes   notes
	wakeup  wakeup
	rereads rereads
	enough  chan struct{} // so many records are finished that they are to be committed before the interval is over

	mu       sync.Mutex // guards the fields below, and the fields of epochs and messages
	epochs   map[wire.Partition]*epoch
	past     map[wire.Partition]pastEpoch // epochs that ended without their last commit
	intake   *intake.Intake[*epoch]
	lots     lots
	delays   timeline
	paused   map[int32]bool // partitions whose records are not admitted, by the caller's wish
	census   census
	finished int   // records since the last commit
	stalls   int64 // how often an epoch could admit no record
	messages messages
	results  results
	rounds   uint64 // number of rounds so far
	round    round  // the latest round
	taken    []note // notes of the latest read; its memory is used again
}

func newLedger(sub *subscription) *ledger {
	l := &ledger{
		sub: sub, epochs: map[wire.Partition]*epoch{}, past: map[wire.Partition]pastEpoch{}, rereads: newRereads(),
		enough:  make(chan struct{}, 1),
		intake:  intake.New[*epoch](sub.places()),
		lots:    lots{sub: sub},
		results: newResults(sub.transforms),
	}
	l.lots.Away = sub.moves()
	return l
}

// assign begins epochs of a member, unless the member was replaced.
func (l *ledger) assign(m *member, topics map[string][]int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.retired {
		return
	}
	each(topics, func(p wire.Partition) { l.epochs[p] = newEpoch(m, p, l.sub) })
	for p, past := range l.past {
		if l.epochs[p] == nil { // another member's partition: it handles again what no commit passes
			past.uncommitted = 0
			l.past[p] = past
		}
	}
}

// each calls f for each partition.
func each(topics map[string][]int32, f func(p wire.Partition)) {
	for topic, ns := range topics {
		for _, n := range ns {
			f(wire.Partition{Topic: topic, N: n})
		}
	}
}

// start tells an epoch its group's committed offset. It returns nil if the epoch has started before, or if the member
// has no epoch of the partition.
func (l *ledger) start(m *member, p wire.Partition, committed int64, metadata string) *epoch {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.epochs[p]
	if e == nil || e.member != m || e.next >= 0 {
		return nil
	}
	past, ok := l.past[p]
	delete(l.past, p)
	if ok && e.tracker.Resume(committed, metadata, &past.Kept) {
		e.finished = past.uncommitted
	} else {
		e.tracker.Start(committed, metadata)
	}
	e.from = committed
	return e
}

// mark returns the first offset of the dead letters that count for an epoch: a record with an earlier one is handled
// again. reset: the mark is the end of the dead letters, because the group's commit was not made by Godwit, or by a
// version without marks.
func (l *ledger) mark(e *epoch, end int64) (mark int64, reset bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch mark = e.tracker.Marked(); {
	case !e.tracker.Own() || mark < 0:
		e.fresh = true
		e.tracker.Mark(end)
		return end, true
	case mark > end: // the topic of the dead letters was created again
		e.tracker.Mark(0)
		return 0, false
	}
	return mark, false
}

// deadLettered reports whether a record already has a dead letter that counts. For a record in a tier, the mark of the
// channel's own partition applies too: a record that is handled again there may wait in the tier again.
func (l *ledger) deadLettered(e *epoch, r *kgo.Record) bool {
	if len(e.dead) == 0 {
		return false
	}
	offset := r.Offset
	if e.stay > 0 {
		home, ok := wire.HomeOf(r)
		if !ok || home.Topic != l.sub.topic {
			return false
		}
		offset = home.Offset
	}
	letter, died := e.dead[offset]
	mark := e.tracker.Marked()
	if home := l.epochs[wire.Partition{Topic: l.sub.topic, N: e.N}]; home != nil {
		mark = max(mark, home.tracker.Marked())
	}
	return died && letter >= mark && letter > wire.Revived(r)
}

// recalled tells an epoch which of its records have a dead letter. For a partition of a tier, barrier is the offset up
// to which the tier must be read before the channel's own partition is admitted; 0: no barrier.
func (l *ledger) recalled(e *epoch, dead map[int64]int64, barrier int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.dead = dead
	if barrier > max(e.from, 0) {
		l.lots.Raise(parking.Tier{Topic: e.Topic, Partition: e.N}, barrier, time.Now())
	}
}

// leave stops the admission of partitions. It waits until the records of a poll in flight are admitted: otherwise they
// could be taken for records of the partition's next epoch. A later poll brings no records of these epochs.
func (l *ledger) leave(m *member, topics map[string][]int32) (es []*epoch) {
	l.mu.Lock()
	each(topics, func(p wire.Partition) {
		if e := l.epochs[p]; e != nil && e.member == m {
			e.leave()
			es = append(es, e)
		}
	})
	l.mu.Unlock()
	if len(es) > 0 {
		l.wakeup.await()
	}
	return es
}

// retire ends a member: later callbacks of its client are ignored.
func (l *ledger) retire(m *member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m.retired = true
	clear(l.past)
}

// of returns all epochs of a member.
func (l *ledger) of(m *member) (es []*epoch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.epochs {
		if e.member == m {
			es = append(es, e)
		}
	}
	return es
}

// pastEpoch is what an epoch had finished when it ended, and how many of its finished messages no commit passes. It is
// kept until the partition returns: it is valid as long as no other member has committed.
type pastEpoch struct {
	offsets.Kept
	uncommitted int
}

// keep remembers what epochs had finished, for the case that their partitions return before another member has
// committed. With transactions it remembers nothing.
func (l *ledger) keep(es []*epoch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sub.transforms { // the results of finished messages may not be published
		return
	}
	l.read()
	for _, e := range es {
		if e.state != epochGone && e.uncommitted() > 0 {
			l.past[e.Partition] = pastEpoch{e.tracker.Keep(), e.uncommitted()}
		}
	}
}

// uncommitted is how many finished messages are not committed.
func (l *ledger) uncommitted(m *member) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.epochs {
		if e.member == m {
			n += e.uncommitted()
		}
	}
	for _, past := range l.past {
		n += past.uncommitted
	}
	return n + l.results.open
}

// discard ends epochs: their messages no longer count.
func (l *ledger) discard(es []*epoch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range es {
		if e.state == epochGone {
			continue
		}
		e.state = epochGone
		l.intake.Forget(&e.backlog)
		if l.epochs[e.Partition] == e {
			delete(l.epochs, e.Partition)
		}
		l.lots.forget(e)
		l.results.forget(e)
	}
	l.wakeup.wake()
}

// note takes a note of the core, without waiting for the ledger's lock.
func (l *ledger) note(n note) {
	if l.notes.add(n) {
		l.wakeup.wake()
	}
}

// read processes the notes of the core. The caller holds l.mu.
func (l *ledger) read() {
	l.taken = l.notes.take(l.taken)
	for i := range l.taken {
		n := &l.taken[i]
		m := n.handle.Ref.(*message)
		switch {
		case m.use != n.handle.Seq:
		case n.starts == 0:
			l.claim(n.handle, l.results.done)
		case n.starts > 0 && m.record != nil && m.epoch.state != epochGone:
			m.started(n.starts)
		}
	}
	clear(l.taken)
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
func (l *ledger) bring(m *member, fetches kgo.Fetches, most int) *round {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes.await(0)
	in := l.begin(most)
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if e := l.epochs[wire.Partition{Topic: p.Topic, N: p.Partition}]; e != nil && e.member == m &&
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
	missing := l.intake.Missing(backlogs(l.epochs))
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
	l.rounds++
	l.round = round{l: l, number: l.rounds, now: time.Now(), most: most, out: l.round.out[:0]}
	return &l.round
}

// collect returns what there is to commit for some epochs.
func (l *ledger) collect(m *member, es []*epoch) *commitment {
	c := newCommitment(m)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read()
	l.include(c, es)
	return c
}

// include adds what there is to commit for some epochs. The caller holds l.mu.
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

// commitSoon ends the wait for the next commit.
func (l *ledger) commitSoon() {
	select {
	case l.enough <- struct{}{}:
	default:
	}
}

// answered notes the broker's answer to a commit: it is stored, or its metadata is too large.
func (l *ledger) answered(x partitionCommit, tooLarge bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if tooLarge {
		x.e.tracker.Shorten()
	} else {
		x.e.tracker.Committed(x.c)
		x.e.committed, x.e.fresh = x.finished, false
	}
}

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

// ledger knows what became of every record between the poll that brought it and the commit that passes it. What happens
// to a record is decided here, under one lock, without I/O; receiver, rereader, group and committer carry it out.
type ledger struct {
	sub     *subscription
	notes   notes
	wakeup  wakeup
	rereads rereads

	mu       sync.Mutex // guards everything below, and what the epochs and messages have in them
	epochs   map[wire.Partition]*epoch
	past     map[wire.Partition]pastEpoch // epochs that ended without their last commit
	intake   *intake.Intake[*epoch]
	lots     lots
	delays   timeline
	stalls   int64 // how often an epoch could admit nothing more
	messages messages
	rounds   uint64 // of admission, so far
	round    round  // the latest
	taken    []note // of a round, used again by the next
}

func newLedger(sub *subscription) *ledger {
	l := &ledger{
		sub: sub, epochs: map[wire.Partition]*epoch{}, past: map[wire.Partition]pastEpoch{}, rereads: newRereads(),
		intake: intake.New[*epoch](sub.places()),
		lots:   lots{sub: sub},
	}
	l.lots.Away = sub.moves()
	return l
}

// assign begins epochs of a member, unless another one has taken its place.
func (l *ledger) assign(m *member, topics map[string][]int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m.retired {
		return
	}
	each(topics, func(p wire.Partition) { l.epochs[p] = newEpoch(m, p, l.sub) })
	for p, past := range l.past {
		if l.epochs[p] == nil { // another member's, who handles again what no commit tells of
			past.untold = 0
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

// start tells an epoch what its group has committed. nil: it has begun before, or is no epoch of this member.
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
		e.finished = past.untold
	} else {
		e.tracker.Start(committed, metadata)
	}
	e.from = committed
	return e
}

// mark returns the offset from which on dead letters say what became of an epoch's records. reset: that is their end,
// because the group's commit is not of Godwit's making, or of a version without marks.
func (l *ledger) mark(e *epoch, end int64) (mark int64, reset bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch mark = e.tracker.Marked(); {
	case !e.tracker.Own() || mark < 0:
		e.fresh = true
		e.tracker.Mark(end)
		return end, true
	case mark > end: // the dead letters were deleted, and these are new
		e.tracker.Mark(0)
		return 0, false
	}
	return mark, false
}

// died says whether a record was dead-lettered in an earlier life. In a tier, the letters count that count in the
// channel's own partition: a record that is handled again may wait there again.
func (l *ledger) died(e *epoch, r *kgo.Record) bool {
	if len(e.dead) == 0 {
		return false
	}
	offset := r.Offset
	if e.stay > 0 {
		offset = wire.HomeOrHere(r).Offset
	}
	letter, died := e.dead[offset]
	mark := e.tracker.Marked()
	if home := l.epochs[wire.Partition{Topic: l.sub.topic, N: e.N}]; home != nil {
		mark = max(mark, home.tracker.Marked())
	}
	return died && letter >= mark
}

// recalled tells an epoch what became of its records before: which have a dead letter, and for one of a tier, up to
// which offset the channel's own partition waits for it; 0: it does not.
func (l *ledger) recalled(e *epoch, dead map[int64]int64, barrier int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.dead = dead
	if barrier > max(e.from, 0) {
		l.lots.Raise(parking.Tier{Topic: e.Topic, Partition: e.N}, barrier, time.Now())
	}
}

// leave stops the admission of partitions. It waits until what a poll under way brings is admitted, or else records of
// this epoch could be taken for those of the next one. A poll that begins later brings none of them.
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

// retire ends a member: what its group tells it counts no more.
func (l *ledger) retire(m *member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m.retired = true
	clear(l.past)
}

// of is every epoch of a member.
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

// pastEpoch is what an epoch had finished when it ended, and how many messages of that no commit tells of. It is kept
// until the partition comes back: until another member commits, it holds.
type pastEpoch struct {
	offsets.Kept
	untold int
}

// keep remembers what epochs had finished, in case their partitions come back before another member has committed.
func (l *ledger) keep(es []*epoch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read()
	for _, e := range es {
		if e.state != epochGone && e.untold() > 0 {
			l.past[e.Partition] = pastEpoch{e.tracker.Keep(), e.untold()}
		}
	}
}

// untold is how many finished messages no commit tells of.
func (l *ledger) untold(m *member) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.epochs {
		if e.member == m {
			n += e.untold()
		}
	}
	for _, past := range l.past {
		n += past.untold
	}
	return n
}

// discard makes nothing of the epochs count any more.
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
	}
	l.wakeup.wake()
}

// note takes in what the core tells of a delivery, without waiting for the ledger's lock.
func (l *ledger) note(n note) {
	if l.notes.add(n) {
		l.wakeup.wake()
	}
}

// read takes in what the core has told. The caller holds l.mu.
func (l *ledger) read() {
	l.taken = l.notes.take(l.taken)
	for i := range l.taken {
		n := &l.taken[i]
		m := n.handle.Ref.(*message)
		switch {
		case m.use != n.handle.Seq:
		case n.starts == 0:
			l.claim(n.handle, finished)
		case n.starts > 0 && m.record != nil && m.epoch.state != epochGone:
			m.started(n.starts)
		}
	}
	clear(l.taken)
}

// held is the message of a delivery in the core's hands; nil: it was forgotten, or settled before. The caller holds
// l.mu.
func (l *ledger) held(h driver.Handle) *message {
	m := h.Ref.(*message)
	if m.use != h.Seq || m.stage != delivered || m.epoch.state == epochGone {
		return nil
	}
	return m
}

// claim takes a delivery out of the core's hands; nil as with held. The caller holds l.mu.
func (l *ledger) claim(h driver.Handle, to stage) *message {
	m := l.held(h)
	if m != nil {
		l.move(m, to)
	}
	return m
}

// delay lets a message wait here. A poll that is to wait, or does, has to know of it. The caller holds l.mu.
func (l *ledger) delay(m *message, until time.Time) {
	if l.move(m, delayed) && l.delays.add(m, until) {
		l.wakeup.wake()
	}
}

// bring admits what a poll has brought.
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

// again admits what waits here and can go on.
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

// expect says how long a poll may wait, at most, and makes what the core tells end it when something waits for that.
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

// collect is what there is to tell of some epochs.
func (l *ledger) collect(m *member, es []*epoch) *commitment {
	c := &commitment{offsets: map[string]map[int32]kgo.EpochOffset{}, told: map[wire.Partition]told{}}
	c.member, c.generation = m.client.GroupMetadata()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read()
	for _, e := range es {
		if e.state == epochGone {
			continue
		}
		now, changed := e.tracker.Commit()
		if !changed { // also when the answer to a commit was lost that the broker has
			e.told = e.finished
			continue
		}
		if c.offsets[e.Topic] == nil {
			c.offsets[e.Topic] = map[int32]kgo.EpochOffset{}
		}
		c.offsets[e.Topic][e.N] = kgo.EpochOffset{Epoch: now.Epoch, Offset: now.Offset}
		c.told[e.Partition] = told{e, now, e.finished}
	}
	return c
}

// answered notes what the broker said to a commit: it is stored, or has to be shorter.
func (l *ledger) answered(x told, tooLarge bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if tooLarge {
		x.e.tracker.Shorten()
	} else {
		x.e.tracker.Committed(x.c)
		x.e.told, x.e.fresh = x.finished, false
	}
}

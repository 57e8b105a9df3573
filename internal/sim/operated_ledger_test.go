package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit"
)

// operatedLedger knows every message of an operated world.
type operatedLedger struct {
	o *operated

	mu          sync.Mutex
	messages    map[string]*operatedMessage
	keys        map[string][]*operatedMessage
	doneBy      map[*godwit.Delivery]bool // Done was called and has returned nil
	finished    map[string]bool           // ids that Idempotent has finished
	deaths      int                       // of all messages
	died        []time.Time               // when
	moved       int64                     // by requeues
	doubled     int                       // that requeues have named
	crashed     bool                      // a requeue has crashed, and the next one may send a copy again
	pausedSince time.Time
	lastStart   time.Time
	workers     map[string]*worker

	found sync.Mutex // of wrong
	wrong []string
}

// operatedMessage is what the ledger knows about one message.
type operatedMessage struct {
	label, key string
	index      int // among those of its key
	accepted   bool
	starts     int
	success    bool
	dead       bool      // a verdict rejected it, and it has not started since
	deaths     int       // verdicts that rejected it
	died       time.Time // the last of them
	deathIndex int       // the number of its last death, of all messages
	diedIn     *worker
	ids        map[string]bool // the service's ids
	purged     bool            // it was dead during a purge
	movable    bool            // it was dead during a requeue, which may have sent it
	due        time.Time       // of its last retry
}

func newOperatedLedger(o *operated) *operatedLedger {
	return &operatedLedger{
		o: o, messages: map[string]*operatedMessage{}, keys: map[string][]*operatedMessage{},
		doneBy: map[*godwit.Delivery]bool{}, finished: map[string]bool{}, workers: map[string]*worker{},
	}
}

// violated records a violation, with what the trace says about some words. The caller may hold l.mu.
func (l *operatedLedger) violated(about []string, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	l.o.trace.note("VIOLATED: %s", text)
	if len(about) > 0 {
		text += "\n\t" + strings.Join(l.o.trace.of(25, about...), "\n\t")
	}
	l.found.Lock()
	defer l.found.Unlock()
	l.wrong = append(l.wrong, text)
}

func (l *operatedLedger) add(key string) *operatedMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := &operatedMessage{
		label: fmt.Sprintf("%s-%d", key, len(l.keys[key])), key: key, index: len(l.keys[key]), ids: map[string]bool{},
	}
	l.keys[key] = append(l.keys[key], m)
	l.messages[m.label] = m
	return m
}

func (l *operatedLedger) accepted(label string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.messages[label].accepted = true
	l.o.tally.add(countAccepted, 1)
}

// begin records that a handler starts with a message. It returns false if the process has crashed.
func (l *operatedLedger) begin(p *worker, d *godwit.Delivery, label string) (nth int, ok bool) {
	if !p.alive() {
		return 0, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.messages[label]
	if m == nil {
		l.violated(nil, "%s starts %q, which was never sent", p.name, label)
		return 0, false
	}
	l.o.trace.note("%s starts %s (%d) as %s", p.name, label, m.starts+1, d.ID)
	l.o.tally.add(countStarts, 1)
	if l.finished[d.ID] {
		l.violated([]string{label}, "%s starts %s, whose id Idempotent has finished", p.name, label)
	}
	if l.o.ordered {
		l.inOrder(p, m, d.ID)
	}
	if m.ids[d.ID] = true; len(m.ids) > 1+m.deaths {
		l.o.trace.note("%s has %d ids and %d deaths", m.label, len(m.ids), m.deaths)
	}
	m.starts++
	m.dead, m.movable = false, false
	l.lastStart = time.Now()
	return m.starts, true
}

// requeueCrashed records that a requeue has crashed.
func (l *operatedLedger) requeueCrashed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.crashed = true
}

// inOrder checks the order of first starts, and the order in which a requeue has sent the dead letters of a key.
func (l *operatedLedger) inOrder(p *worker, m *operatedMessage, id string) {
	for _, other := range l.keys[m.key] {
		switch {
		case m.starts == 0 && other.index < m.index && !other.success && other.deaths == 0:
			l.o.processes.Go(func() { l.unlessRejected(p, m, other) })
		// A verdict on a success has come too late, and has no effect.
		case m.dead && !m.ids[id] && !m.purged && other.dead && !other.success && !other.purged &&
			other.deathIndex < m.deathIndex && !(l.crashed && m.deaths > 1): // that may be of an earlier death
			l.violated([]string{m.label, other.label},
				"out of order: %s was sent back while %s stays, which died before it", m.label, other.label)
		}
	}
}

// unlessRejected reports that a message has started before an earlier one of its key was finished, unless the hook of
// its rejection is called now: the next message of a key may start before it.
func (l *operatedLedger) unlessRejected(p *worker, m, other *operatedMessage) {
	at := time.Now()
	time.Sleep(time.Millisecond)
	l.mu.Lock()
	defer l.mu.Unlock()
	if other.deaths == 0 || other.died.After(at) {
		l.violated([]string{m.label, other.label}, "out of order: %s starts %s while %s is not finished", p.name,
			m.label, other.label)
	}
}

// succeeds records that a handler is about to return nil.
func (l *operatedLedger) succeeds(p *worker, label string) {
	if !p.alive() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.messages[label].success = true
	l.o.trace.note("%s succeeds with %s", p.name, label)
}

// done settles a delivery by its method. The ledger is told first, because the next message may start at once.
func (l *operatedLedger) done(d *godwit.Delivery, label string) error {
	l.mu.Lock()
	m := l.messages[label]
	before := m.success
	m.success, l.doneBy[d] = true, true
	l.mu.Unlock()
	err := d.Done()
	if err != nil {
		l.mu.Lock()
		m.success = before
		delete(l.doneBy, d)
		l.mu.Unlock()
	}
	l.o.trace.note("done by method: %s (%v)", label, err)
	return err
}

// finishes records that Idempotent has returned from a delivery that is done.
func (l *operatedLedger) finishes(p *worker, d *godwit.Delivery, err error) {
	if !p.alive() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.IsDone(err) {
		l.finished[d.ID] = true
	}
}

func (l *operatedLedger) hooks(p *worker) godwit.Hooks {
	about := func(d *godwit.Delivery, f func(m *operatedMessage)) {
		if !p.alive() {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if m := l.messages[d.Headers.Value("label")]; m != nil {
			f(m)
		}
	}
	h := godwit.Hooks{
		Rejected: func(d *godwit.Delivery, err error) {
			about(d, func(m *operatedMessage) {
				if l.doneBy[d] {
					l.violated([]string{m.label}, "%s rejects %s, although Done has returned nil", p.name, m.label)
				}
				l.deaths++
				l.died = append(l.died, time.Now())
				m.deaths++
				if !m.dead { // otherwise the verdict comes too late, and has no effect
					m.dead, m.died, m.diedIn, m.deathIndex = true, time.Now(), p, l.deaths
				}
				l.o.trace.note("%s rejects %s: %v", p.name, m.label, err)
			})
		},
		Released: func(d *godwit.Delivery) {
			about(d, func(m *operatedMessage) {
				if l.doneBy[d] {
					l.violated([]string{m.label}, "%s releases %s, although Done has returned nil", p.name, m.label)
				}
				l.o.trace.note("%s releases %s", p.name, m.label)
				l.o.tally.add(countReleased, 1)
			})
		},
		SettleFailed: func(d *godwit.Delivery, err error) {
			about(d, func(m *operatedMessage) { l.o.trace.note("%s could not settle %s: %v", p.name, m.label, err) })
		},
		ReceiveFailed: func(err error) { l.o.trace.note("%s could not receive: %v", p.name, err) },
		Retried: func(d *godwit.Delivery, after time.Duration, _ error) {
			about(d, func(m *operatedMessage) { m.due = time.Now().Add(after) })
		},
		LeaseLost: func(d *godwit.Delivery) {
			about(d, func(m *operatedMessage) {
				l.o.trace.note("%s loses its lease of %s", p.name, m.label)
				if !l.o.kafka { // there, a rebalance takes it
					l.violated([]string{m.label}, "%s loses its lease of %s", p.name, m.label)
				}
			})
		},
	}
	if l.o.methods { // the engine then ends handlers in another way
		h.Ended = func(*godwit.Delivery, godwit.Verdict, error, time.Duration) {}
	}
	return h
}

func (l *operatedLedger) joins(p *worker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.workers[p.name] = p
}

const (
	// settles is the time after a verdict in which it has certainly reached the service.
	settles = 5 * time.Second
	// settlesOnKafka is that on Kafka, where the first dead letter of a partition needs a commit, and a group that
	// waits for the session of a crashed member accepts none.
	settlesOnKafka = time.Minute
)

// surelyDead returns how many messages are in the dead letters without doubt.
func (l *operatedLedger) surelyDead() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	within := settles
	if l.o.kafka {
		within = settlesOnKafka
	}
	for _, m := range l.messages {
		doubtful := m.success || m.purged || m.movable || time.Since(m.died) <= within
		if m.dead && !doubtful && m.diedIn.settlesAt(m.died) {
			n++
		}
	}
	return n
}

// letters is the most dead letters that there were at a time, before requeues had moved more than so many. The wire has
// the times of deaths in whole seconds.
func (l *operatedLedger) letters(at time.Time, moved int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := int64(l.doubled) - moved
	for _, died := range l.died {
		if died.Before(at.Add(time.Second)) {
			n++
		}
	}
	return n
}

// sent is how many messages requeues have sent.
func (l *operatedLedger) sent() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.moved
}

// requeued records what a requeue has moved. It is never more than what has died.
func (l *operatedLedger) requeued(moved int64, doubled int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.messages {
		m.movable = m.movable || m.dead
	}
	l.moved += moved
	l.doubled += doubled
	l.o.tally.add(countRequeued, int(moved))
	l.o.trace.note("requeued %d, doubled %d", moved, doubled)
	if l.moved > int64(l.deaths+l.doubled) {
		l.violated(nil, "requeues have sent %d messages, and %d have died", l.moved, l.deaths)
	}
}

// purges marks all messages that are dead, or die within the time of a purge.
func (l *operatedLedger) purges() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.messages {
		if m.dead {
			m.purged = true
		}
	}
}

// pauses records that the channel is paused, or that it is not any more.
func (l *operatedLedger) pauses(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pausedSince = time.Time{}
	if on {
		l.pausedSince = time.Now()
	}
	l.o.trace.note("the channel is paused: %v", on)
}

// received checks a receive of a message.
func (l *operatedLedger) received(name, label, handle string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.workers[name]; p != nil {
		p.receives(label, handle)
	}
	if at := l.pausedSince; !at.IsZero() && time.Since(at) > maxPoll+2*time.Second {
		l.violated([]string{label, name}, "%s receives %s %v after the channel was paused", name, label, time.Since(at))
	}
}

// due reports when the retry of a message is due.
func (l *operatedLedger) due(label string) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.messages[label]; m != nil {
		return m.due
	}
	return time.Time{}
}

// open returns the messages without an end.
func (l *operatedLedger) open() (labels []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.messages {
		if m.accepted && !m.success && !m.dead && !m.purged {
			labels = append(labels, m.label)
		}
	}
	slices.Sort(labels)
	return labels
}

// drain waits until every message has its end, and no handler has started for longer than the lease of a process that
// has crashed.
func (l *operatedLedger) drain() {
	const quiet = 4 * time.Minute
	for l.o.now() < l.o.lasts+operatedDrains {
		l.mu.Lock()
		since := time.Since(l.lastStart)
		l.mu.Unlock()
		if len(l.open()) == 0 && since > quiet {
			return
		}
		time.Sleep(5 * time.Second)
	}
	open := l.open()
	l.violated(open[:min(2, len(open))], "not drained after %v: %v have no end", operatedDrains, open)
}

// conclude checks the end of every message: it was handled, or is a dead letter, or was purged.
func (l *operatedLedger) conclude(letters []operatedLetter, results map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := map[string]int{}
	for _, one := range letters {
		m := l.messages[one.label]
		found[one.label]++
		switch {
		case m == nil:
			l.violated(nil, "a dead letter has the label %q", one.label)
		case one.redriven && m.starts == 0:
			l.violated([]string{one.label}, "the service has moved %s to the dead letters, which no handler has seen",
				one.label)
		case !one.redriven && m.deaths == 0:
			l.violated([]string{one.label}, "%s is a dead letter, and no verdict has rejected it", one.label)
		}
	}
	extra := 0
	for _, m := range l.messages {
		switch {
		case m.accepted && !m.success && !m.purged && found[m.label] == 0:
			l.violated([]string{m.label}, "%s is lost: it was neither handled, nor is it a dead letter", m.label)
		case results != nil && results[m.label] > 1 && l.doubled == 0:
			l.violated([]string{m.label}, "%s has %d results", m.label, results[m.label])
		case results != nil && m.accepted && results[m.label] == 0 && !m.purged && found[m.label] == 0:
			l.violated([]string{m.label}, "%s has no result, and is no dead letter", m.label)
		}
		extra += max(0, len(m.ids)-1-m.deaths)
		l.o.tally.add(countMessages, 1)
	}
	l.o.tally.add(countDead, len(letters))
	if extra > l.doubled {
		l.violated(nil, "%d messages were sent twice, and requeues have named %d", extra, l.doubled)
	}
}

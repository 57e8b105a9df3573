package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit"
)

// books are what the world knows of every message of one channel, and of its consumers. Everything that happens is
// entered here, and what breaks a promise is a complaint. Safe for concurrent use.
type books struct {
	w    *world
	plan *plan // of the channel

	mu         *sync.Mutex         // one for all books of a world, since a fleet is in several
	messages   map[string]*message // by label
	lines      map[string]*keyLine // by order key
	members    map[string]*member
	last       map[string]*holding  // by the service's id: who received it last
	done       map[string]bool      // the service's ids of what was handled
	meddled    map[string]time.Time // by the service's id: when an older handle was last used to change its visibility
	complaints []string
}

// message is one that a producer tried to send.
type message struct {
	label    string
	index    int // in the line of its key
	key      string
	accepted bool            // its sender was told so
	received bool            // by any consumer
	starts   int             // of handlers
	success  bool            // a handler returned nil, or called Done
	dropped  bool            // a policy said so
	rejected bool            // a verdict said so after a handler had failed in that delivery
	unwanted bool            // the consumers' filter refuses it
	copies   int             // in the dead letters, as far as their sender was told
	ids      map[string]bool // the service's, of all copies that came: a send that is repeated may make two
}

// finished says that nothing of its key need wait for it any more.
func (m *message) finished() bool { return m.success || m.dropped || m.rejected || m.unwanted }

// pending says that it is there, and the next of its key has to wait for it.
func (m *message) pending() bool { return (m.accepted || m.received) && !m.finished() }

// keyLine is the messages of one order key in the order in which they were sent.
type keyLine struct {
	messages []*message
	high     int // index of the latest that ever started; -1: none
	running  map[*holding]bool
}

// member is a consumer of a process. Guarded by the books' lock.
type member struct {
	name    string
	books   *books
	inc     incarnation
	crashed bool
	closing bool // it takes nothing any more
	over    bool // its Run has returned, or its Close
	trouble time.Time
	asked   time.Time // when it last asked for messages

	stints  map[*stint]bool // handlers that run
	freed   time.Time       // when one last ended
	sizes   []sized         // how many there might be, oldest first
	excess  sized           // handlers beyond that, as it seemed when one began
	floor   int             // of the sizes, and
	set     time.Time       // since when
	paused  bool
	changed time.Time // when paused last did
	broken  bool      // its breaker is open
	brokeAt time.Time // the last time, and
	mended  time.Time // closed again

	fleet            *crew // nil: it is alone in its process
	weight, priority int   // in it
	turns            turns
	wasted           int // turns that may yet go to what lost its lease while it waited for one

	untouched map[string]int       // by the service's id: receives that it gave back as no attempt
	retried   map[string]int       // by the service's id: retries that it holds, or did
	shelved   map[string]time.Time // by order key: until when its deliveries may stand on the shelf, or come off it
	kept      map[*holding]bool    // retries that it holds, as far as the wire has not told otherwise
	twice     map[string]bool      // by the service's id: it had two receives of it at once
	moved     map[string]time.Time // by order key: when something last happened to a delivery of it here

	finished map[string]time.Time // by the service's id: when it first deleted it
	failures map[string]int       // by the service's id: how often its policy was asked about a failure
	healed   time.Time            // when a handler succeeded while the breaker was open, until it says that it has closed

	handles map[string]*holding   // by receipt handle
	waiting map[string][]*holding // by the service's id: came over the wire, not yet to the consumer
	by      map[*godwit.Delivery]*holding
	open    map[*holding]bool // what takes a place, at least
	took    []time.Duration   // by its last handlers
}

// holding is one receive of one message by one process.
type holding struct {
	m       *message
	id      string // the service's
	of      *member
	handle  string
	since   time.Time
	count   int // of receives, by the service
	size    int // of its body
	running bool
	stint   *stint        // in which it runs, or ran last
	begun   int           // handlers of it
	ended   time.Time     // when its verdict was reached
	retry   time.Duration // that verdict's, until it starts again
	letGo   bool          // given back, or left to the service for a while
	unclear bool          // whether its lease was renewed, or its retry left to the service
	back    bool          // given back
	lost    bool          // its lease, and the process knows it
	failed  bool          // the service has not taken its verdict
	deleted bool
	changed bool // its visibility, for good, as far as its holder asked for that
	came    bool // to the consumer; else the backend knew it as finished
	again   bool // its process had deleted the message before it came

	minute time.Time // since when
	asks   int       // changes of its visibility are counted

	attempt, failures int   // as its last handler found them
	asked             int   // how often a policy was asked about it
	held              bool  // a retry that its consumer holds, or left to the service
	entry             error // its part of what a batch's handler answers, if
	answered          bool  // that handler answered for each
}

func newBooks(w *world, p *plan) *books {
	return &books{w: w, plan: p, mu: &w.lock, messages: map[string]*message{}, lines: map[string]*keyLine{}, members: map[string]*member{},
		last: map[string]*holding{}, done: map[string]bool{},
		meddled: map[string]time.Time{}}
}

// join enters a consumer of a process.
func (b *books) join(inc incarnation) *member {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &member{name: inc.name, books: b, inc: inc, handles: map[string]*holding{},
		waiting: map[string][]*holding{}, by: map[*godwit.Delivery]*holding{}, open: map[*holding]bool{},
		stints: map[*stint]bool{}, untouched: map[string]int{}, retried: map[string]int{}, shelved: map[string]time.Time{},
		twice: map[string]bool{}, moved: map[string]time.Time{},
		finished: map[string]time.Time{}, failures: map[string]int{}, kept: map[*holding]bool{}}
	p.floor = inc.options.Concurrency
	p.sizedTo(p.floor)
	b.members[p.name] = p
	return p
}

// closes enters that a consumer takes nothing any more.
func (b *books) closes(p *member) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p.closing = true
	if f := p.fleet; f != nil && !f.over {
		f.over = true
		close(f.ended)
	}
}

// leaves enters that a delivery takes no place any more. The caller holds b.mu.
func (p *member) leaves(h *holding) {
	delete(p.open, h)
	p.moved[h.m.key] = time.Now()
}

// worked enters how long a handler took. The caller holds b.mu.
func (p *member) worked(took time.Duration) {
	p.took = append(p.took, max(took, time.Millisecond))
	p.took = p.took[max(0, len(p.took)-recentHandlers):]
}

// onTheirWay is how many deliveries the consumer may hold beyond its handlers and one receive: no more than its handlers end
// within a second. The caller holds b.mu.
func (p *member) onTheirWay(handlers int) int {
	if len(p.took) == 0 {
		return 0
	}
	return int(time.Duration(handlers) * time.Second / slices.Min(p.took))
}

// fresh says that a holding waits for its first handler.
func (h *holding) fresh() bool {
	return h.came && !h.running && h.begun == 0 && h.ended.IsZero() && !h.letGo
}

// away says that the service keeps a message until some time because its holder wanted that. A verdict that is repeated after a lost
// answer counts its delay anew.
func (h *holding) away(until time.Time) bool {
	late := slack
	if h.of.trouble.After(h.ended) {
		late += time.Minute
	}
	return (h.letGo || h.unclear) && h.retry > 0 && !until.After(h.ended.Add(h.retry+late))
}

// send enters a message that is about to be sent.
func (b *books) send(key string, index int) *message {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := &message{label: label(key, index), key: key, index: index, ids: map[string]bool{}}
	b.messages[m.label] = m
	l := b.lines[key]
	if l == nil {
		l = &keyLine{high: -1, running: map[*holding]bool{}}
		b.lines[key] = l
	}
	l.messages = append(l.messages, m)
	return m
}

// refuses enters whether the consumers' filter refuses a message.
func (b *books) refuses(m *message, routingKey string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.unwanted = !b.plan.wants(routingKey); m.unwanted {
		b.w.tally.add(countFiltered, 1)
	}
}

// sent enters what its sender was told.
func (b *books) sent(m *message, err error) {
	b.w.trace.note("%s sent: %v", m.label, err == nil)
	b.mu.Lock()
	defer b.mu.Unlock()
	m.accepted = err == nil
}

// troubled enters that a fault strikes a process's calls, until some time.
func (b *books) troubled(caller string, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.members[caller]; p != nil && until.After(p.trouble) {
		p.trouble = until
	}
}

// excused says that a process may have lost what it held through faults. The caller holds b.mu.
func (p *member) excused() bool {
	return time.Since(p.trouble) < p.inc.lease()+slack
}

// excused says that a lease may have ended early through faults: those that struck its holder; or, on a queue without
// order, where an older handle still changes a message's visibility, those that made an earlier holder repeat its
// give-back. The caller holds b.mu.
func (b *books) excused(h *holding) bool {
	return h.of.excused() || time.Since(h.since) > leaseTotal-2*time.Minute ||
		time.Since(b.meddled[h.id]) < h.of.inc.lease()+slack
}

// complain enters a broken promise, with the trace of what it is about. The caller holds b.mu.
func (b *books) complain(about []string, format string, args ...any) {
	text := fmt.Sprintf("at %v: ", time.Since(b.w.trace.begun)) + fmt.Sprintf(format, args...)
	b.w.trace.note("COMPLAINT %s", text)
	if tail := b.w.trace.of(40, about...); len(tail) > 0 && len(b.complaints) < 3 {
		text += "\n      " + strings.Join(tail, "\n      ")
	}
	b.complaints = append(b.complaints, text)
}

// complained is what was complained of so far.
func (b *books) complained() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.complaints
}

// labelOf reads the label off a body.
func labelOf(body string) string {
	first, _, _ := strings.Cut(body, "\n")
	return first
}

// chaos says that the queue may deliver twice by itself.
func (b *books) chaos() bool { return b.plan.duplicates > 0 }

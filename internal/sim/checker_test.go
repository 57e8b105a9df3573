package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit"
)

// checker records every message of one channel and its consumers, and checks Godwit's promises. The network of each
// process, the hooks and the handlers report to it what happens. A broken promise is a violation. It is safe for
// concurrent use.
type checker struct {
	w    *world
	plan *plan // of the channel

	mu         *sync.Mutex         // one for all checkers of a world, because a fleet has two channels
	messages   map[string]*message // by label
	lines      map[string]*keyLine // by order key
	members    map[string]*consumer
	last       map[string]*delivery // by the service's id: the last receive
	done       map[string]bool      // by the service's id: a handler has succeeded
	disturbed  map[string]time.Time // by the service's id: when an older handle last changed the visibility
	violations []string
}

// message is a message that a producer tried to send.
type message struct {
	label    string
	index    int // in the line of its key
	key      string
	accepted bool            // the producer was told that the service has it
	received bool            // by any consumer
	starts   int             // of handlers
	success  bool            // a handler returned nil, or called Done
	dropped  bool            // by a policy
	rejected bool            // by a verdict, after a handler had failed
	unwanted bool            // the consumers' filter does not select it
	late     bool            // the service refused it in a request that it shared with later messages of its key
	copies   int             // in the dead letters, as far as the process was told that they were accepted
	expires  time.Duration   // after it was accepted; 0: never
	gone     time.Time       // when it expires, after its first receive
	ids      map[string]bool // the service's ids of all copies received: a repeated send may make two
}

// finished reports whether later messages of its key need not wait for it any more.
func (m *message) finished() bool { return m.success || m.dropped || m.rejected || m.unwanted }

// pending reports whether the message exists and later messages of its key have to wait for it. In a batch, the message
// that has expired is only settled when the handler has returned from those after it.
func (m *message) pending() bool {
	expired := !m.gone.IsZero() && !time.Now().Before(m.gone)
	return (m.accepted || m.received) && !m.finished() && !expired
}

// keyLine is the messages of one order key in the order in which they were sent.
type keyLine struct {
	messages []*message
	high     int // index of the latest message that ever started; -1: none
	running  map[*delivery]bool
}

// consumer is a consumer of a process. The checker's lock guards it.
type consumer struct {
	name    string
	checker *checker
	inc     processPlan
	crashed bool
	closing bool // it receives no more
	over    bool // Run or Close has returned
	trouble time.Time
	asked   time.Time // when it last requested messages

	calls map[*handlerCall]bool // running handler calls
	freed time.Time             // when a handler call last ended
	sizes []sized               // allowed numbers of handlers, oldest first
	// excess is more handlers than allowed, which is a violation unless the consumer reports a resize at the same time
	excess      sized
	floor       int       // the number set by SetConcurrency, and
	set         time.Time // when it was set
	paused      bool
	changed     time.Time // when paused last changed
	breakerOpen bool
	openedAt    time.Time // when the breaker last opened
	closedAt    time.Time // when it last closed

	fleet            *fleetState // nil: the only consumer of its process
	weight, priority int         // in the fleet
	turns            turns
	wasted           int // turns for deliveries that lost their lease while they waited

	untouched map[string]int       // by the service's id: receives that it released without an attempt
	retried   map[string]int       // by the service's id: retries that it has held
	shelved   map[string]time.Time // by order key: until when deliveries of the key may be on the shelf
	kept      map[*delivery]bool   // retries that it holds, as far as the network shows
	twice     map[string]bool      // by the service's id: it held two receives of the message at the same time
	left      map[string]bool      // by the service's id: to be released when the loop's body ends, with its batch
	moved     map[string]time.Time // by order key: when the state of a delivery last changed
	begun     map[string]time.Time // by order key: when a delivery last started

	finished  map[string]time.Time // by the service's id: when it first deleted the message
	failures  map[string]int       // by the service's id: how often its policy was called
	succeeded time.Time            // when a handler succeeded while the breaker was open; zero when it is closed

	handles map[string]*delivery   // by receipt handle
	waiting map[string][]*delivery // by the service's id: received by the backend and not yet by the consumer
	by      map[*godwit.Delivery]*delivery
	open    map[*delivery]bool // deliveries that take a place
	took    []time.Duration    // durations of its latest handlers
}

// delivery is one receive of one message by one process.
type delivery struct {
	m        *message
	id       string // the service's
	of       *consumer
	handle   string
	since    time.Time
	sent     time.Time     // when the service accepted it
	would    time.Duration // the wait of the retry that its handler may ask for
	count    int           // receives, counted by the service
	size     int           // of the body
	running  bool
	call     *handlerCall  // the handler call in which it runs or last ran
	begun    int           // handler calls with it
	ended    time.Time     // when its verdict was decided
	retry    time.Duration // the delay of a retry, until it starts again
	letGo    bool          // released, or left to the service for a delay
	unclear  bool          // the last change of visibility was either a renewal or a retry kept by the service
	released bool          // released
	lost     bool          // the process knows that its lease has ended
	failed   bool          // the service has not accepted its verdict
	deleted  bool
	changed  bool // its visibility, for a release or a retry
	came     bool // it reached the consumer; otherwise the backend discarded it as finished
	again    bool // its process had deleted the message before

	minute time.Time // since when
	asks   int       // changes of its visibility are counted

	attempt, failures int   // as its last handler saw them
	asked             int   // how often the policy was called for it
	held              bool  // its last verdict was a retry
	entry             error // its part of the error that a batch's handler returned
	answered          bool  // the handler returned a result for each delivery
}

func newChecker(w *world, p *plan) *checker {
	return &checker{
		w: w, plan: p, mu: &w.lock, messages: map[string]*message{}, lines: map[string]*keyLine{},
		members: map[string]*consumer{},
		last:    map[string]*delivery{}, done: map[string]bool{},
		disturbed: map[string]time.Time{},
	}
}

// join records a consumer of a process.
func (c *checker) join(inc processPlan) *consumer {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &consumer{
		name: inc.name, checker: c, inc: inc, handles: map[string]*delivery{},
		waiting: map[string][]*delivery{}, by: map[*godwit.Delivery]*delivery{}, open: map[*delivery]bool{},
		calls: map[*handlerCall]bool{}, untouched: map[string]int{}, retried: map[string]int{},
		shelved: map[string]time.Time{},
		twice:   map[string]bool{}, left: map[string]bool{},
		moved: map[string]time.Time{}, begun: map[string]time.Time{},
		finished: map[string]time.Time{}, failures: map[string]int{}, kept: map[*delivery]bool{},
	}
	p.floor = inc.options.Concurrency
	p.sizedTo(p.floor)
	c.members[p.name] = p
	return p
}

// closes records that a consumer receives no more.
func (c *checker) closes(p *consumer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.closing = true
	if f := p.fleet; f != nil && !f.over {
		f.over = true
		close(f.ended)
	}
}

// leaves records that a delivery does not take a place any more. The caller holds c.mu.
func (p *consumer) leaves(h *delivery) {
	delete(p.open, h)
	p.moved[h.m.key] = time.Now()
}

// worked records the duration of a handler. The caller holds c.mu.
func (p *consumer) worked(took time.Duration) {
	p.took = append(p.took, max(took, time.Millisecond))
	p.took = p.took[max(0, len(p.took)-recentHandlers):]
}

// onTheirWay is how many deliveries the consumer may hold in addition to its handlers and one receive: as many as its
// handlers finish within a second. The caller holds c.mu.
func (p *consumer) onTheirWay(handlers int) int {
	if len(p.took) == 0 {
		return 0
	}
	return int(time.Duration(handlers) * time.Second / slices.Min(p.took))
}

// fresh reports whether a delivery waits for its first handler.
func (h *delivery) fresh() bool {
	return h.came && !h.running && h.begun == 0 && h.ended.IsZero() && !h.letGo
}

// away reports whether the service keeps a message until some time because of its retry. If the answer to a verdict is
// lost, the verdict is repeated, and its delay starts again.
func (h *delivery) away(until time.Time) bool {
	late := slack
	if h.of.trouble.After(h.ended) {
		late += time.Minute
	}
	return (h.letGo || h.unclear) && h.retry > 0 && !until.After(h.ended.Add(h.retry+late))
}

// send records a message that is about to be sent.
func (c *checker) send(key string, index int) *message {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &message{label: label(key, index), key: key, index: index, ids: map[string]bool{}}
	m.expires = c.plan.expires(m.label)
	c.messages[m.label] = m
	l := c.lines[key]
	if l == nil {
		l = &keyLine{high: -1, running: map[*delivery]bool{}}
		c.lines[key] = l
	}
	l.messages = append(l.messages, m)
	return m
}

// shares reports whether messages of a key share requests at a producer.
func (p *plan) shares(producer string) bool {
	return p.ordered && p.about("shared requests", producer).chance(0.4)
}

// entryRefused records that the service refused a message in a request that it accepted as a whole.
func (c *checker) entryRefused(label string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.messages[label]
	if m == nil {
		return
	}
	producer, _, _ := strings.Cut(m.key, "-")
	if m.key == "" { // there is only one
		producer = c.plan.senders + "0"
	}
	m.late = m.late || c.plan.shares(producer)
}

// refuses records whether the consumers' filter selects a message.
func (c *checker) refuses(m *message, routingKey string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.unwanted = !c.plan.wants(routingKey); m.unwanted {
		c.w.tally.add(countFiltered, 1)
	}
}

// sent records the result that the producer got.
func (c *checker) sent(m *message, err error) {
	c.w.trace.note("%s sent: %v", m.label, err == nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	m.accepted = err == nil
}

// troubled records that a fault affects a process's calls until some time.
func (c *checker) troubled(caller string, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.members[caller]; p != nil && until.After(p.trouble) {
		p.trouble = until
	}
}

// excused reports whether faults may have ended leases of a consumer. The caller holds c.mu.
func (p *consumer) excused() bool {
	return time.Since(p.trouble) < p.inc.lease()+slack
}

// excused reports whether a lease may have ended early. The reason is a fault of its holder. On a queue without order,
// where an older handle still changes a message's visibility, it may also be a fault that made an earlier holder repeat
// its release. The caller holds c.mu.
func (c *checker) excused(h *delivery) bool {
	return h.of.excused() || time.Since(h.since) > leaseTotal-2*time.Minute ||
		time.Since(c.disturbed[h.id]) < h.of.inc.lease()+slack
}

// violated records a broken promise, with the last lines of the trace about the given labels and names. The caller
// holds c.mu.
func (c *checker) violated(about []string, format string, args ...any) {
	text := fmt.Sprintf("at %v: ", time.Since(c.w.trace.begun)) + fmt.Sprintf(format, args...)
	c.w.trace.note("VIOLATION %s", text)
	if tail := c.w.trace.of(40, about...); len(tail) > 0 && len(c.violations) < 3 {
		text += "\n      " + strings.Join(tail, "\n      ")
	}
	c.violations = append(c.violations, text)
}

// found returns the violations so far.
func (c *checker) found() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.violations
}

// labelOf returns the label in a body.
func labelOf(body string) string {
	first, _, _ := strings.Cut(body, "\n")
	return first
}

// chaos reports whether the queue delivers messages twice at random.
func (c *checker) chaos() bool { return c.plan.duplicates > 0 }

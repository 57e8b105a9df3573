package godwit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit/internal/engine"
)

// State is the state of a consumer.
type State uint8

const (
	StateInitializing State = iota // being created: checking and provisioning
	StateInitialized               // ready to run
	StateListening                 // polling, without deliveries
	StateProcessing                // at least one handler runs
	StateIdle                      // the last poll returned no messages
	StatePaused                    // Pause was called, or an operator has paused the channel; no handler runs
	StateExiting                   // releasing deliveries, finishing handlers, settling
	StateExited                    // ended
)

// String is the state's name.
func (s State) String() string {
	names := [...]string{
		"Initializing", "Initialized", "Listening", "Processing", "Idle", "Paused", "Exiting", "Exited",
	}
	if int(s) < len(names) {
		return names[s]
	}
	return "unknown state"
}

// transitions are the states that may follow each state.
var transitions = [...][]State{
	StateInitializing: {StateInitialized, StateExited},
	StateInitialized:  {StateListening, StateExiting},
	StateListening:    {StateProcessing, StateIdle, StatePaused, StateExiting},
	StateProcessing:   {StateListening, StateExiting},
	StateIdle:         {StateListening, StateExiting},
	StatePaused:       {StateListening, StateExiting},
	StateExiting:      {StateExited},
	StateExited:       nil,
}

// machine holds a state. It reports each change to an observer, one after another and in order, from any goroutine.
type machine struct {
	observe func(from, to State) // nil: no observer

	state atomic.Uint32 // a State; written under mu

	mu      sync.Mutex
	since   time.Time
	edges   [][2]State // not yet reported
	telling bool       // a goroutine is reporting; others leave their changes to it
}

// to changes the state if the table allows it, and reports whether it did.
func (m *machine) to(next State) bool {
	if !follows(m.current(), next) { // fast path: for most deliveries the state does not change
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	from := m.current()
	if !follows(from, next) {
		return false
	}
	m.edges = append(m.edges, [2]State{from, next})
	m.state.Store(uint32(next))
	m.since = time.Now()
	if m.telling {
		return true
	}
	m.telling = true
	for len(m.edges) > 0 {
		e := m.edges[0]
		m.edges = m.edges[1:]
		if m.observe != nil {
			m.mu.Unlock()
			m.observe(e[0], e[1])
			m.mu.Lock()
		}
	}
	m.telling = false
	return true
}

func (m *machine) now() (State, time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current(), m.since
}

func (m *machine) current() State { return State(m.state.Load()) }

// is reports whether it is in a state.
func (m *machine) is(st State) bool { return m.current() == st }

func follows(from, to State) bool {
	return slices.Contains(transitions[from], to)
}

// lifetime is the one run of a consumer: its state, its session, and the options that may change meanwhile.
type lifetime struct {
	name  string // the channel's name
	hooks *Hooks
	log   *consumerLog
	most  int // how far the pool may grow; 0: it does not grow
	state machine

	mu               sync.Mutex
	claimed          bool // it runs, or has run
	paused           bool
	concurrency      int
	rate, tenantRate Rate
	session          *engine.Session // of Run or an iterator, when it has begun
	giveUp           func(error)     // ends the opening of its receiver; nil: the receiver is not being opened
	puller           *puller         // of an iterator, when it has begun
}

func (l *lifetime) init(name string, o *ConsumerOptions, log *consumerLog) {
	l.name, l.hooks, l.log = name, &o.Hooks, log
	l.concurrency, l.rate, l.tenantRate = o.Concurrency, o.Rate, o.TenantRate
	if o.MaxConcurrency > o.Concurrency { // otherwise it stays, even after SetConcurrency has lowered the number
		l.most = o.MaxConcurrency
	}
	l.state.since = time.Now()
	l.state.observe = func(from, to State) {
		log.state(from, to)
		call2(l.fault, l.hooks.State, from, to)
	}
}

// claim allows a consumer to run once.
func (l *lifetime) claim() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if st, _ := l.state.now(); l.claimed || st != StateInitialized {
		return &Error{
			Op: "run", Channel: l.name,
			Err: fmt.Errorf("%w: a consumer runs once, and this one is %v: create another one", ErrClosed, st),
		}
	}
	l.claimed = true
	return nil
}

// change changes what the lock guards, and returns the session, which has to know it; nil: there is none yet.
func (l *lifetime) change(f func(*lifetime)) *engine.Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l)
	return l.session
}

// current returns the session; nil: it has not begun.
func (l *lifetime) current() *engine.Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session
}

// handlers is how many handlers may run at the same time now.
func (l *lifetime) handlers() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.concurrency
}

// rates returns the current rates.
func (l *lifetime) rates() (all, tenant engine.Rate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rate.engine(), l.tenantRate.engine()
}

// fault handles a panic of a function that the user has set. Before the session begins, only the log has it.
func (l *lifetime) fault(err error) {
	if s := l.current(); s != nil {
		s.Fault(err)
		return
	}
	l.log.fault(err)
}

// begin creates and begins a session. The error is engine.ErrStopped if ctx ends first, or if the consumer is closed.
func (l *lifetime) begin(ctx context.Context, f *engine.Fleet, cfg *engine.Config) (*engine.Session, error) {
	s := engine.NewSession(ctx, f, cfg)
	l.change(func(l *lifetime) { l.giveUp = s.Stop })
	err := s.Begin(func() (int, bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.session, l.giveUp = s, nil
		return l.concurrency, l.paused
	})
	if err != nil {
		l.exit()
		return nil, err
	}
	l.state.to(StateListening)
	return s, nil
}

// exit is the end of a consumer whose session has not begun.
func (l *lifetime) exit() {
	if l.state.to(StateExiting) {
		l.state.to(StateExited)
	}
}

// pass runs a session that has begun, until it is over. It calls failed as soon as the session cannot continue.
func (l *lifetime) pass(s *engine.Session, failed func(err error)) (Report, error) {
	s.Poll()
	<-s.Done()
	if err := s.Fatal(); err != nil {
		failed(err)
	}
	r, err := l.end(s)
	call1(l.fault, l.hooks.Shutdown, r)
	l.state.to(StateExited)
	return r, err
}

// end shuts a session down and returns its report.
func (l *lifetime) end(s *engine.Session) (Report, error) {
	l.state.to(StateExiting)
	err := s.Shutdown()
	l.log.reportDiscarded(time.Now().Add(discardEvery)) // the sums of the last minute
	return Report(s.Counts()), err
}

// unsettled gives a settle error to the caller of an iterator, if there is one.
func (l *lifetime) unsettled(err error) {
	l.mu.Lock()
	p := l.puller
	l.mu.Unlock()
	if p != nil {
		p.failed(err)
	}
}

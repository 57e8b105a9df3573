package godwit

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
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

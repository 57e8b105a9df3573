package godwit

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// State is where a consumer is in its life.
type State uint8

const (
	StateInitializing State = iota // being constructed: checking and provisioning
	StateInitialized               // ready to run
	StateListening                 // polling, nothing in hand
	StateProcessing                // has deliveries in hand; at least one handler runs
	StateIdle                      // the last poll came back empty
	StateExiting                   // gives back, drains, flushes
	StateExited                    // for good
)

// String is the state's name.
func (s State) String() string {
	names := [...]string{"Initializing", "Initialized", "Listening", "Processing", "Idle", "Exiting", "Exited"}
	if int(s) < len(names) {
		return names[s]
	}
	return "unknown state"
}

// transitions is the one table of what may follow what.
var transitions = [...][]State{
	StateInitializing: {StateInitialized, StateExited},
	StateInitialized:  {StateListening, StateExiting},
	StateListening:    {StateProcessing, StateIdle, StateExiting},
	StateProcessing:   {StateListening, StateExiting},
	StateIdle:         {StateListening, StateExiting},
	StateExiting:      {StateExited},
	StateExited:       nil,
}

// machine holds a state and tells each edge to an observer, one after another and in order, whoever moves it.
type machine struct {
	observe func(from, to State) // nil: nobody looks

	state atomic.Uint32 // a State; written under mu

	mu      sync.Mutex
	since   time.Time
	edges   [][2]State // not yet told
	telling bool       // one goroutine tells; the others leave their edges to it
}

// to moves along an edge of the table and says whether there was one.
func (m *machine) to(next State) bool {
	if !follows(m.current(), next) { // as it is for all but a few of a consumer's deliveries
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

// is says whether it is in a state.
func (m *machine) is(st State) bool { return m.current() == st }

func follows(from, to State) bool {
	return slices.Contains(transitions[from], to)
}

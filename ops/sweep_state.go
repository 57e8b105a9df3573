package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"
)

const (
	sweepStateVersion = 1
	// sweepNotice is how long ago a channel must have been announced. Two sweeps at the same time are thus one.
	sweepNotice = 12 * time.Hour
)

// sweepMemory is what sweeps of one owner remember between runs.
type sweepMemory struct {
	sweepNotes
	state State // nil: nothing is remembered
	owner string
}

// sweepNotes is the content of the state.
type sweepNotes struct {
	Version int    `json:"version"`
	Owner   string `json:"owner"`
	// Announced is when channels were announced, by address. One that a run does not name is not announced any more.
	Announced map[string]time.Time `json:"announced"`
	// Seen is since when channels are known whose age the service does not tell, by address.
	Seen map[string]time.Time `json:"seen"`
}

// recall reads what earlier runs have noted.
func (m *sweepMemory) recall(ctx context.Context) error {
	if m.state == nil {
		return m.read(nil)
	}
	text, _, err := m.state.Load(ctx)
	if err == nil {
		err = m.read(text)
	}
	if err != nil {
		return fmt.Errorf("ops: the state of the sweep: %w", err)
	}
	return nil
}

// read replaces the notes by those of a text, which is empty before the first run.
func (m *sweepMemory) read(text []byte) error {
	m.sweepNotes = sweepNotes{
		Version: sweepStateVersion, Owner: m.owner, Announced: map[string]time.Time{}, Seen: map[string]time.Time{},
	}
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, &m.sweepNotes); err != nil {
		return fmt.Errorf("it is no state of a sweep: %w: remove it, or name another one", err)
	}
	switch {
	case m.Version != sweepStateVersion:
		return fmt.Errorf("it has version %d, and this program writes %d: use one version of godwit, or another state",
			m.Version, sweepStateVersion)
	case m.Owner != m.owner:
		return fmt.Errorf("it is that of the owner %q, and this sweep is of %q: name another one", m.Owner, m.owner)
	}
	if m.Announced == nil {
		m.Announced = map[string]time.Time{}
	}
	if m.Seen == nil {
		m.Seen = map[string]time.Time{}
	}
	return nil
}

// change changes the notes in the state, on top of the changes of other runs.
func (m *sweepMemory) change(ctx context.Context, f func(n *sweepNotes)) error {
	if m.state == nil {
		f(&m.sweepNotes)
		return nil
	}
	err := changeState(ctx, m.state, func(text []byte) ([]byte, error) {
		if err := m.read(text); err != nil {
			return nil, err
		}
		f(&m.sweepNotes)
		return json.MarshalIndent(&m.sweepNotes, "", "  ")
	})
	if err != nil {
		return fmt.Errorf("ops: the state of the sweep: %w", err)
	}
	return nil
}

// see notes since when channels exist, at the latest, and forgets those that do not exist any more.
func (n *sweepNotes) see(since map[string]time.Time) {
	for address, at := range since {
		if before, known := n.Seen[address]; !known || at.Before(before) {
			n.Seen[address] = at.UTC()
		}
	}
	maps.DeleteFunc(n.Seen, func(address string, _ time.Time) bool {
		_, exists := since[address]
		return !exists
	})
}

// announce notes which channels a run names, and returns those that were announced long enough ago.
func (n *sweepNotes) announce(named []string, at time.Time) (due map[string]bool) {
	announced, due := map[string]time.Time{}, map[string]bool{}
	for _, address := range named {
		since, before := n.Announced[address]
		if !before {
			since = at.UTC()
		}
		announced[address] = since
		due[address] = at.Sub(since) >= sweepNotice
	}
	n.Announced = announced
	return due
}

// forget removes channels that were deleted.
func (n *sweepNotes) forget(addresses []string) {
	for _, address := range addresses {
		delete(n.Announced, address)
		delete(n.Seen, address)
	}
}

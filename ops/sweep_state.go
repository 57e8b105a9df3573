package ops

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"time"
)

const (
	sweepStateVersion = 1
	// sweepNotice is how long ago a channel must have been announced. Two sweeps at the same time are thus one.
	sweepNotice = 12 * time.Hour
)

// sweepState is what sweeps remember between runs, as a file. Sweeps that overlap may lose what one of them has
// announced, which delays a deletion, and never hastens one.
type sweepState struct {
	Version int    `json:"version"`
	Owner   string `json:"owner"`
	// Announced is when channels were announced, by address. One that a run does not name is not announced any more.
	Announced map[string]time.Time `json:"announced"`
	// Seen is since when exchanges are known, by address.
	Seen map[string]time.Time `json:"seen"`

	path string
	now  map[string]bool // seen in this run
}

// readSweepState reads the file; without one, nothing is remembered.
func readSweepState(path, owner string) (*sweepState, error) {
	s := &sweepState{Version: sweepStateVersion, Owner: owner, path: path}
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("ops: read the state of the sweep: %w", err)
		}
		if err == nil {
			if err := json.Unmarshal(text, s); err != nil {
				return nil, fmt.Errorf("ops: %s is no state of a sweep: %w: remove it, or name another file", path, err)
			}
		}
	}
	switch {
	case s.Version != sweepStateVersion:
		return nil, fmt.Errorf("ops: the state %s has version %d, and this program writes %d: use one version of godwit, "+
			"or another file", path, s.Version, sweepStateVersion)
	case s.Owner != owner:
		return nil, fmt.Errorf("ops: the state %s is that of the owner %q, and this sweep is of %q: name another file",
			path, s.Owner, owner)
	}
	s.now = map[string]bool{}
	if s.Announced == nil {
		s.Announced = map[string]time.Time{}
	}
	if s.Seen == nil {
		s.Seen = map[string]time.Time{}
	}
	return s, nil
}

// see notes that an exchange exists.
func (s *sweepState) see(address string, at time.Time) {
	s.now[address] = true
	if _, known := s.Seen[address]; !known {
		s.Seen[address] = at.UTC()
	}
}

// announce notes which channels a run names, and returns those that were announced long enough ago.
func (s *sweepState) announce(named []string, at time.Time) (due map[string]bool) {
	announced, due := map[string]time.Time{}, map[string]bool{}
	for _, address := range named {
		since, before := s.Announced[address]
		if !before {
			since = at.UTC()
		}
		announced[address] = since
		due[address] = at.Sub(since) >= sweepNotice
	}
	s.Announced = announced
	return due
}

// deleted forgets a channel.
func (s *sweepState) deleted(address string) {
	delete(s.Announced, address)
	delete(s.Seen, address)
}

// write replaces the file.
func (s *sweepState) write() error {
	if s.path == "" {
		return nil
	}
	maps.DeleteFunc(s.Seen, func(address string, _ time.Time) bool { return !s.now[address] })
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := replaceFile(s.path, append(text, '\n'), (*os.File).Sync); err != nil {
		return fmt.Errorf("ops: write the state of the sweep: %w", err)
	}
	return nil
}

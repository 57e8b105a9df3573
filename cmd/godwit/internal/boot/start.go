package boot

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Script is a script or a seed of a folder.
type Script struct {
	Stage, Name, State string
}

// States of a Script, as LocalStack names them.
const (
	Waits  = "UNKNOWN"
	Runs   = "RUNNING"
	Done   = "SUCCESSFUL"
	Failed = "ERROR"
)

// Start says how far the start of a server is. It may be used concurrently. The zero value has no scripts.
type Start struct {
	mu      sync.Mutex
	scripts []Script
	ready   bool
}

// Expect adds what a folder has, before it runs. A folder boot.d or start.d is of that stage, as in LocalStack's image,
// and any other one of READY.
func (s *Start) Expect(folder string) {
	stage := strings.ToUpper(strings.TrimSuffix(filepath.Base(folder), ".d"))
	if !slices.Contains([]string{"BOOT", "START"}, stage) {
		stage = "READY"
	}
	entries, _ := os.ReadDir(folder) // Run tells what is wrong with it
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, entry := range entries {
		s.scripts = append(s.scripts, Script{Stage: stage, Name: entry.Name(), State: Waits})
	}
}

// Ready says that the server is ready.
func (s *Start) Ready() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = true
}

// Scripts returns all scripts, and whether the server is ready.
func (s *Start) Scripts() ([]Script, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.scripts), s.ready
}

// set changes the state of the first script of this name that is not at its end.
func (s *Start) set(name, state string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.scripts {
		if one := &s.scripts[i]; one.Name == name && (one.State == Waits || one.State == Runs) {
			one.State = state
			return
		}
	}
}

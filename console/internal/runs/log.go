package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// remembers is how many entries of the log a page can show. The file has all of them.
const remembers = 1000

// Entry is one change, or a part of it.
type Entry struct {
	At       time.Time `json:"at"`
	By       string    `json:"by"`
	Action   string    `json:"action"`
	Channel  string    `json:"channel,omitempty"`
	What     string    `json:"what,omitempty"`
	Run      string    `json:"run,omitempty"`
	Messages int64     `json:"messages,omitempty"`
	Result   string    `json:"result"`
}

// Log is the audit log: a line of JSON for every change, which is on disk before the change begins. It is safe for
// concurrent use.
type Log struct {
	mu      sync.Mutex
	file    *os.File // nil: only in memory
	entries []Entry
}

// OpenLog opens or creates the log in a file; "": it is in memory alone.
func OpenLog(file string) (*Log, error) {
	if file == "" {
		return &Log{}, nil
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("console: open the audit log: %w", err)
	}
	return &Log{file: f}, nil
}

// Add adds an entry, and returns when it cannot be lost.
func (l *Log) Add(e Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		line, err := json.Marshal(e)
		if err == nil {
			_, err = l.file.Write(append(line, '\n'))
		}
		if err = errors.Join(err, l.file.Sync()); err != nil {
			return fmt.Errorf("console: the audit log cannot be written, so nothing is changed: %w", err)
		}
	}
	l.entries = append(l.entries, e)
	if over := len(l.entries) - remembers; over > 0 {
		l.entries = slices.Delete(l.entries, 0, over)
	}
	return nil
}

// Entries returns the latest entries, the newest first.
func (l *Log) Entries() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Clone(l.entries)
	slices.Reverse(all)
	return all
}

// Close closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

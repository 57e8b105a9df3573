package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/godwitmq/godwit/internal/backoff"
)

const sweepJournalVersion = 1

// SweepJournal is where a sweep describes what it deletes, before it does. Sweeps at the same time may share one.
type SweepJournal interface {
	// Append adds a line, which ends with a line break, and returns when the line cannot be lost.
	Append(ctx context.Context, line []byte) error
	// String is the name of the journal, for people and for `godwit sweep --undo`.
	String() string
}

// FileJournal is a [SweepJournal] in a file of this name, which it creates with the first line.
type FileJournal string

// Append writes a line in one call, and synchronizes the file.
func (j FileJournal) Append(ctx context.Context, line []byte) error {
	f, err := os.OpenFile(string(j), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	err = whole(f)
	for range tornTries { // another sweep may be writing a line at this moment
		if !errors.Is(err, errTorn) || backoff.Sleep(ctx, tornPause) != nil {
			break
		}
		err = whole(f)
	}
	if err == nil {
		_, err = f.Write(line)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

var errTorn = errors.New("its last line is torn: undo it, or name another file")

const (
	// tornTries is how often a torn last line is looked at again, after tornPause.
	tornTries = 20
	tornPause = 25 * time.Millisecond
)

// whole returns an error if the last line of a file has no end.
func whole(f *os.File) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, size-1); err != nil {
		return err
	}
	if last[0] != '\n' {
		return errTorn
	}
	return nil
}

// String is the name of the file.
func (j FileJournal) String() string { return string(j) }

// StateJournal is a [SweepJournal] in a [State] of its own, such as an object of S3, for programs without a disk.
type StateJournal struct {
	State State
	Name  string // for people, and for `godwit sweep --undo`
}

// Append writes the journal again, with one line more.
func (j StateJournal) Append(ctx context.Context, line []byte) error {
	return changeState(ctx, j.State, func(text []byte) ([]byte, error) {
		return append(bytes.Clone(text), line...), nil
	})
}

// String is the name of the journal.
func (j StateJournal) String() string { return j.Name }

// sweepLine is one line of a journal.
type sweepLine struct {
	Version  int             `json:"version"`
	At       time.Time       `json:"at"`
	Channel  string          `json:"channel"`
	Address  string          `json:"address"`
	Deleting json.RawMessage `json:"deleting,omitempty"` // what Restore needs
	Deleted  bool            `json:"deleted,omitempty"`
}

// write adds the line to a journal.
func (l *sweepLine) write(ctx context.Context, j SweepJournal) error {
	l.Version, l.At = sweepJournalVersion, time.Now().UTC()
	text, err := json.Marshal(l)
	if err == nil {
		err = j.Append(ctx, append(text, '\n'))
	}
	if err != nil {
		return &journalError{fmt.Errorf("ops: write the journal %s: %w", j, err)}
	}
	return nil
}

// journalError is an error after which nothing more can be deleted.
type journalError struct{ err error }

func (e *journalError) Error() string { return e.err.Error() }
func (e *journalError) Unwrap() error { return e.err }

// readSweepJournal returns what was deleted, or about to be, in that order. A last line that is torn is left out: that
// deletion did not begin.
func readSweepJournal(text []byte) (lines []sweepLine, err error) {
	n := 0
	for len(text) > 0 {
		one, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			break
		}
		n++
		text = rest
		var l sweepLine
		if err := json.Unmarshal(one, &l); err != nil {
			return nil, fmt.Errorf("ops: line %d of the journal cannot be read: %w: it is not the journal of a sweep, "+
				"or it is damaged; nothing was made", n, err)
		}
		switch {
		case l.Version != sweepJournalVersion:
			return nil, fmt.Errorf("ops: line %d of the journal has version %d, and this program reads %d: it is not "+
				"the journal of a sweep, or it needs a newer godwit; nothing was made", n, l.Version, sweepJournalVersion)
		case len(l.Deleting) > 0:
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		return nil, errors.New("ops: the journal has no deletion")
	}
	return lines, nil
}

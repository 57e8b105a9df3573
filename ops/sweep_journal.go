package ops

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

const sweepJournalVersion = 1

// sweepJournal is the file that describes what a sweep deletes, before it does. Sweeps at the same time may share one.
type sweepJournal struct {
	file *os.File
	path string
}

// sweepLine is one line of the file.
type sweepLine struct {
	Version  int             `json:"version"`
	At       time.Time       `json:"at"`
	Channel  string          `json:"channel"`
	Address  string          `json:"address"`
	Deleting json.RawMessage `json:"deleting,omitempty"` // what Restore needs
	Deleted  bool            `json:"deleted,omitempty"`
}

// openSweepJournal opens or creates the file.
func openSweepJournal(path string) (*sweepJournal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("ops: open the journal: %w", err)
	}
	last := make([]byte, 1)
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil && size > 0 {
		_, err = f.ReadAt(last, size-1)
	}
	if err == nil && size > 0 && last[0] != '\n' {
		err = errors.New("its last line is torn: undo it, or name another file")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ops: journal %s: %w", path, err), f.Close())
	}
	return &sweepJournal{file: f, path: path}, nil
}

// write appends a line in one call, and synchronizes the file.
func (j *sweepJournal) write(l *sweepLine) error {
	l.Version, l.At = sweepJournalVersion, time.Now().UTC()
	text, err := json.Marshal(l)
	if err == nil {
		_, err = j.file.Write(append(text, '\n'))
	}
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("ops: write the journal %s: %w", j.path, err)
	}
	return nil
}

func (j *sweepJournal) close() error { return j.file.Close() }

// readSweepJournal returns what was deleted, or about to be, in that order. A last line that is torn is left out: that
// deletion did not begin.
func readSweepJournal(path string) (lines []sweepLine, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("ops: read the journal: %w", err)
	}
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
			return nil, fmt.Errorf("ops: line %d of the journal %s cannot be read: %w: it is not the journal of a sweep, "+
				"or it is damaged; nothing was made", n, path, err)
		}
		switch {
		case l.Version != sweepJournalVersion:
			return nil, fmt.Errorf("ops: line %d of the journal %s has version %d, and this program reads %d: it is not "+
				"the journal of a sweep, or it needs a newer godwit; nothing was made", n, path, l.Version,
				sweepJournalVersion)
		case len(l.Deleting) > 0:
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("ops: the journal %s has no deletion", path)
	}
	return lines, nil
}

package ops

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"time"
)

// Journal is the file in which a requeue notes which messages it is sending. After a crash, it says which messages may
// have been sent without having been deleted, so that the next run does not send them again, and which ones may be
// there twice. It is written ahead of every batch, and synchronized.
type Journal struct {
	mu    sync.Mutex
	file  *os.File
	path  string
	state map[string]journalState // of the messages that are not finished
	old   map[string]struct{}     // messages of an earlier run that this one has not looked at
}

// journalState is what is known of a message that is not finished.
type journalState uint8

const (
	journalSending journalState = iota + 1 // it may have been sent
	journalSent                            // it was sent, and is to be deleted
)

// journalLine is one line of the file.
type journalLine struct {
	From    string    `json:"from,omitempty"` // the first line only
	To      string    `json:"to,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Sending []string  `json:"sending,omitempty"`
	Sent    []string  `json:"sent,omitempty"`
	Unsent  []string  `json:"unsent,omitempty"` // refused: it was not sent after all
	Deleted []string  `json:"deleted,omitempty"`
	Doubled []string  `json:"doubled,omitempty"` // may be in the destination twice
}

// OpenJournal opens or creates the journal of requeues from a channel to another. The journal of a run that was
// interrupted is continued. A journal of a run between other channels is an error, and so is any other file, which is
// not changed.
func OpenJournal(path, from, to string) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("ops: open the journal: %w", err)
	}
	j := &Journal{file: file, path: path, state: map[string]journalState{}, old: map[string]struct{}{}}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file: name another one")
	}
	if err == nil {
		err = j.read(from, to)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ops: journal %s: %w", path, err), file.Close())
	}
	for id := range j.state {
		j.old[id] = struct{}{}
	}
	return j, nil
}

// read reads what an earlier run has written, or writes the first line. A line that a crash cut off is removed: what it
// announces did not begin, because the file is synchronized before.
func (j *Journal) read(from, to string) error {
	r := bufio.NewReader(j.file)
	whole := int64(0) // bytes of whole lines
	for n := 1; ; n++ {
		text, err := readLine(r)
		if errors.Is(err, io.EOF) {
			if n == 1 && !beginsJournal(text, from, to) {
				return fmt.Errorf("%w: it does not begin as one", errNoJournal)
			}
			if len(text) > 0 {
				if err := j.file.Truncate(whole); err != nil {
					return err
				}
			}
			if n == 1 {
				return j.write(&journalLine{From: from, To: to, At: time.Now().UTC()})
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d cannot be read: %w", n, err)
		}
		var l journalLine
		if err := json.Unmarshal(text, &l); err != nil {
			return fmt.Errorf("%w: line %d cannot be read: %w", errNoJournal, n, err)
		}
		if n == 1 && l.From == "" && l.To == "" {
			return fmt.Errorf("%w: it does not begin as one", errNoJournal)
		}
		if n == 1 && (l.From != from || l.To != to) {
			return fmt.Errorf("it is the journal of a requeue from %q to %q, and this one is from %q to %q: finish that "+
				"one, or name another file", l.From, l.To, from, to)
		}
		j.apply(&l)
		whole += int64(len(text))
	}
}

// errNoJournal is the error for a file that something else has written. It is not changed.
var errNoJournal = errors.New("it is not the journal of a requeue, or it is damaged")

// longestLine bounds a line of a journal, which names the messages of a batch.
const longestLine = 16 << 20

// readLine reads a line with its end. At the end of the file it returns what is left, and io.EOF.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if line = append(line, part...); !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > longestLine {
			return nil, fmt.Errorf("%w: it has more than %d bytes", errNoJournal, longestLine)
		}
	}
}

// beginsJournal reports whether a text is what a crash may have left of the first line of a journal.
func beginsJournal(text []byte, from, to string) bool {
	first, err := json.Marshal(&journalLine{From: from, To: to})
	first = bytes.TrimSuffix(first, []byte("}"))
	return err == nil && (bytes.HasPrefix(first, text) || bytes.HasPrefix(text, first))
}

// apply notes what a line says.
func (j *Journal) apply(l *journalLine) {
	for _, id := range l.Sending {
		j.state[id] = journalSending
	}
	for _, id := range l.Sent {
		j.state[id] = journalSent
	}
	for _, id := range slices.Concat(l.Unsent, l.Deleted) {
		delete(j.state, id)
	}
}

// write appends a line, and synchronizes the file, except for deletions: without their line, a message that is gone is
// not found again.
func (j *Journal) write(l *journalLine) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if _, err := j.file.Write(append(text, '\n')); err != nil {
		return err
	}
	if len(l.Deleted) > 0 {
		return nil
	}
	return j.file.Sync()
}

// note applies a line and writes it. A nil Journal notes nothing.
func (j *Journal) note(l *journalLine) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.apply(l)
	if err := j.write(l); err != nil {
		return fmt.Errorf("ops: write the journal %s: %w", j.path, err)
	}
	return nil
}

// known returns what an earlier run, or an earlier batch of this one, noted of a message that is now looked at.
func (j *Journal) known(id string) journalState {
	if j == nil {
		return 0
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.old, id)
	return j.state[id]
}

// lookedAt reports whether this run has looked at all messages that an earlier run has noted.
func (j *Journal) lookedAt() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.old) == 0
}

// Open returns the messages that were being sent or deleted when the run ended, in no order.
func (j *Journal) Open() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Collect(maps.Keys(j.state))
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }

// Remove closes the file and deletes it, when nothing in it matters any more.
func (j *Journal) Remove() error {
	err := os.Remove(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(j.file.Close(), err)
}

package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
)

// act deletes or announces what is unused.
func (s *sweeper) act(ctx context.Context) error {
	due, err := s.due(ctx)
	if err != nil {
		return err
	}
	var errs []error
	var deleted []string
	journal := s.journal()
	for i := range s.report.Findings {
		f := &s.report.Findings[i]
		switch {
		case f.Class != SweepUnused || !s.o.Yes && !s.o.Scheduled:
		case s.o.Only != nil && !slices.Contains(s.o.Only, f.Channel):
		case !due[f.Address]:
			f.Action = SweepAnnounced
		default:
			if f.Action, err = s.remove(ctx, journal, f); err != nil {
				f.Problem = err.Error()
				errs = append(errs, fmt.Errorf("ops: sweep %s: %w", f.Channel, err))
			}
			if f.Action == SweepDeleted || f.Action == SweepGone {
				deleted = append(deleted, f.Address)
			}
		}
		if broken, _ := errors.AsType[*journalError](err); broken != nil || ctx.Err() != nil {
			break
		}
	}
	if len(deleted) > 0 {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
		defer cancel()
		errs = append(errs, s.memory.change(end, func(n *sweepNotes) { n.forget(deleted) }))
	}
	return errors.Join(append(errs, ctx.Err())...)
}

func (s *sweeper) journal() SweepJournal {
	if s.o.Journal != nil {
		return s.o.Journal
	}
	return FileJournal("godwit-sweep-" + s.now.UTC().Format("20060102T150405Z") + ".journal")
}

// due notes what is announced, before anything is deleted, and returns what can be deleted now.
func (s *sweeper) due(ctx context.Context) (due map[string]bool, err error) {
	var named []string
	for i := range s.report.Findings {
		if f := &s.report.Findings[i]; f.Class == SweepUnused {
			named = append(named, f.Address)
		}
	}
	err = s.memory.change(ctx, func(n *sweepNotes) {
		n.see(s.known)
		if s.o.Scheduled {
			due = n.announce(named, s.now)
		}
	})
	if s.o.Yes {
		due = map[string]bool{}
		for _, address := range named {
			due[address] = true
		}
	}
	return due, err
}

// remove deletes one channel, if what forbids it has not changed since the look.
func (s *sweeper) remove(ctx context.Context, journal SweepJournal, f *SweepFinding) (SweepAction, error) {
	ch := f.info.Channel
	snap, err := s.do.Snapshot(ctx, ch)
	if gone(err) {
		return SweepGone, nil
	}
	if err != nil {
		return SweepFailed, err
	}
	no := ""
	if snap.Tags != nil || !s.o.Untagged {
		no = forbiddenTags(snap.Tags, s.o.Owner)
	}
	switch {
	case snap.Address != f.Address:
		return SweepFailed, fmt.Errorf("it is %s now, and was %s", snap.Address, f.Address)
	case no != "":
		return SweepFailed, errors.New("its tags have changed: " + no)
	case snap.Tags[tagNamespace] != f.info.Tags[tagNamespace]:
		return SweepFailed, fmt.Errorf("its namespace is %q now, and was %q", snap.Tags[tagNamespace],
			f.info.Tags[tagNamespace])
	case len(snap.Subscribers) > 0:
		return SweepFailed, fmt.Errorf("it has subscriptions, the first is of %s", snap.Subscribers[0])
	}
	plan, err := s.do.Remove(ctx, ch, true)
	switch {
	case gone(err):
		return SweepGone, nil
	case err != nil:
		return SweepFailed, err
	case plan.Messages > 0 && snap.Tags[tagTemporary] == "":
		return SweepFailed, fmt.Errorf("it has %d messages now", plan.Messages)
	}
	line := sweepLine{Channel: f.Channel, Address: f.Address, Deleting: snap.Data}
	if err := line.write(ctx, journal); err != nil {
		return SweepFailed, err
	}
	s.report.Journal = journal.String()
	switch _, err := s.do.Remove(ctx, ch, false); {
	case gone(err):
		return SweepGone, nil
	case err != nil:
		return SweepFailed, fmt.Errorf("%w (`godwit sweep --undo %s` makes again what is missing)", err, journal)
	}
	line = sweepLine{Channel: f.Channel, Address: f.Address, Deleted: true}
	return SweepDeleted, line.write(ctx, journal)
}

func gone(err error) bool { return err != nil && driver.ClassOf(err) == driver.NotFound }

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

// undoTries is how often a channel is made that the service refuses for a while. SQS reserves the name of a deleted
// queue for a minute.
const undoTries = 3

// UndoResult is what became of one channel of a journal.
type UndoResult struct {
	Channel string   `json:"channel"`
	Address string   `json:"address"`
	Made    []string `json:"made"`
	Found   []string `json:"found"` // exists already, and was not changed
	Problem string   `json:"error,omitempty"`
}

// Undo makes again what a sweep has deleted, from the text of its journal: queues with their attributes, policies, tags
// and subscriptions, and exchanges. Undo leaves existing channels as they are, so a second one changes nothing.
// Messages do not come back; there were none. The error says what could not be made, and does not stop the rest.
func Undo(ctx context.Context, b driver.Backend, journal []byte) ([]UndoResult, error) {
	do := driver.OperationsOf(b)
	if do.Restore == nil {
		return nil, errors.New("ops: this backend cannot make again what was deleted")
	}
	lines, err := readSweepJournal(journal)
	if err != nil {
		return nil, err
	}
	slices.Reverse(lines) // an exchange comes before its queues, and dead letters before theirs
	results, errs := make([]UndoResult, len(lines)), make([]error, len(lines))
	for made, pass := true, 0; made && ctx.Err() == nil; pass++ {
		made = false // sweeps that shared the journal may have mixed that order, so what failed is tried again
		for i, l := range lines {
			if pass > 0 && errs[i] == nil {
				continue
			}
			one, err := restore(ctx, do, l.Deleting)
			r := UndoResult{Channel: l.Channel, Address: l.Address, Found: one.Found}
			r.Made = append(results[i].Made, one.Made...)
			if errs[i] = err; err != nil {
				r.Problem = err.Error()
				errs[i] = fmt.Errorf("ops: undo %s: %w", l.Channel, err)
			}
			made = made || len(one.Made) > 0
			results[i] = r
		}
	}
	return results, errors.Join(errors.Join(errs...), ctx.Err())
}

func restore(ctx context.Context, do driver.Operations, data []byte) (r driver.Restored, err error) {
	for n := 1; ; n++ {
		one, err := do.Restore(ctx, data)
		r.Made = append(r.Made, one.Made...)
		r.Found = one.Found
		later, _ := errors.AsType[*driver.Error](err)
		if err == nil || n == undoTries || later == nil || later.After == 0 {
			return r, err
		}
		if backoff.Sleep(ctx, later.After) != nil {
			return r, errors.Join(err, ctx.Err())
		}
	}
}

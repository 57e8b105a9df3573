package ops

import (
	"context"
	"errors"
	"fmt"

	"github.com/godwitmq/godwit/driver"
)

// act deletes or announces what is unused.
func (s *sweeper) act(ctx context.Context) error {
	due, err := s.due()
	if err != nil {
		return err
	}
	var errs []error
	var journal *sweepJournal
	for i := range s.report.Findings {
		f := &s.report.Findings[i]
		switch {
		case f.Class != SweepUnused || !s.o.Yes && !s.o.Scheduled:
		case !due[f.Address]:
			f.Action = SweepAnnounced
		default:
			if journal == nil {
				if journal, err = openSweepJournal(s.journalPath()); err != nil {
					return errors.Join(append(errs, err)...)
				}
				s.report.Journal = journal.path
			}
			if f.Action, err = s.remove(ctx, journal, f); err != nil {
				f.Problem = err.Error()
				errs = append(errs, fmt.Errorf("ops: sweep %s: %w", f.Channel, err))
			}
			if f.Action == SweepDeleted || f.Action == SweepGone {
				s.state.deleted(f.Address)
			}
			if broken, _ := errors.AsType[*journalError](err); broken != nil {
				return errors.Join(append(errs, journal.close())...)
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	if journal != nil {
		errs = append(errs, journal.close())
	}
	return errors.Join(append(errs, s.state.write(), ctx.Err())...)
}

func (s *sweeper) journalPath() string {
	if s.o.Journal != "" {
		return s.o.Journal
	}
	return "godwit-sweep-" + s.now.UTC().Format("20060102T150405Z") + ".journal"
}

// due notes what is announced, before anything is deleted, and returns what can be deleted now.
func (s *sweeper) due() (map[string]bool, error) {
	var named []string
	for i := range s.report.Findings {
		if f := &s.report.Findings[i]; f.Class == SweepUnused {
			named = append(named, f.Address)
		}
	}
	due := map[string]bool{}
	for _, address := range named {
		due[address] = s.o.Yes
	}
	if s.o.Scheduled {
		due = s.state.announce(named, s.now)
	}
	return due, s.state.write()
}

// journalError is an error after which nothing more can be deleted.
type journalError struct{ err error }

func (e *journalError) Error() string { return e.err.Error() }
func (e *journalError) Unwrap() error { return e.err }

// remove deletes one channel, if what forbids it has not changed since the look.
func (s *sweeper) remove(ctx context.Context, journal *sweepJournal, f *SweepFinding) (SweepAction, error) {
	ch := f.info.Channel
	snap, err := s.b.Snapshot(ctx, ch)
	if gone(err) {
		return SweepGone, nil
	}
	if err != nil {
		return SweepFailed, err
	}
	switch no := forbiddenTags(snap.Tags, s.o.Owner); {
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
	plan, err := s.b.Remove(ctx, ch, true)
	switch {
	case gone(err):
		return SweepGone, nil
	case err != nil:
		return SweepFailed, err
	case plan.Messages > 0:
		return SweepFailed, fmt.Errorf("it has %d messages now", plan.Messages)
	}
	if err := journal.write(&sweepLine{Channel: f.Channel, Address: f.Address, Deleting: snap.Data}); err != nil {
		return SweepFailed, &journalError{err}
	}
	switch _, err := s.b.Remove(ctx, ch, false); {
	case gone(err):
		return SweepGone, nil
	case err != nil:
		return SweepFailed, fmt.Errorf("%w (`godwit sweep --undo %s` makes again what is missing)", err, journal.path)
	}
	if err := journal.write(&sweepLine{Channel: f.Channel, Address: f.Address, Deleted: true}); err != nil {
		return SweepDeleted, &journalError{err}
	}
	return SweepDeleted, nil
}

func gone(err error) bool { return err != nil && driver.ClassOf(err) == driver.NotFound }

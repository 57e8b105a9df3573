package ops

import (
	"context"
	"errors"
	"fmt"

	"github.com/godwitmq/godwit/driver"
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
	case plan.Messages > 0:
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

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// sweepOptions are the flags of `godwit sweep`.
type sweepOptions struct {
	backend        backendFlags
	output         output
	notifiers      notifierFlags
	state, journal string
	undo           string
	sweep          ops.SweepOptions
}

func newSweep() *cobra.Command {
	var o sweepOptions
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Find channels that nobody uses, and delete them (SQS)",
		Long: "Find channels that nobody uses, and delete them (SQS).\n\n" +
			"A queue is unused if it is empty, and nothing was sent and nobody has polled for three days. What could not\n" +
			"be found out is unknown, and is never deleted. Without --yes or --scheduled it only reports. Deletions need\n" +
			"--owner, and are described in a journal before, from which --undo makes the channels again.\n" +
			"It takes a minute, because messages are counted twice.",
		Example: "  godwit sweep\n  godwit sweep --owner shop --yes\n" +
			"  godwit sweep --owner shop --scheduled --state sweep.json\n  godwit sweep --undo FILE.journal",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(cmd); err != nil {
				return usage(cmd, err)
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				return o.run(ctx, b, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	o.backend.add(cmd)
	o.output.add(cmd)
	f, s := cmd.Flags(), &o.sweep
	f.StringVar(&s.Owner, "owner", "", "whose channels, by their tag owner; without it, GODWIT_OWNER")
	f.BoolVar(&s.Scheduled, "scheduled", false, "announce what is unused, and delete what an earlier run has announced")
	f.StringVar(&o.state, "state", "", "where to remember what was announced: a `file`, or s3://bucket/key")
	f.StringVar(&o.journal, "journal", "",
		"where to describe what is deleted: a `file`, or s3://bucket/key; without it, a new file")
	f.StringVar(&o.undo, "undo", "", "make again what this `journal` describes: a file, or s3://bucket/key")
	o.notifiers.add(cmd)
	addYes(cmd, &s.Yes)
	return cmd
}

func (o *sweepOptions) check(cmd *cobra.Command) error {
	if err := o.output.check(); err != nil {
		return err
	}
	s := &o.sweep
	if o.undo != "" {
		for _, name := range []string{"owner", "yes", "scheduled", "state", "journal", "slack", "webhook", "sns"} {
			if cmd.Flags().Changed(name) {
				return fmt.Errorf("--undo does not go with --%s: it makes again what its journal describes", name)
			}
		}
		return nil
	}
	if !cmd.Flags().Changed("owner") {
		s.Owner = os.Getenv("GODWIT_OWNER")
	}
	switch {
	case s.Yes && s.Scheduled:
		return errors.New("--yes deletes at once, and --scheduled on a later run: use one of them")
	case (s.Yes || s.Scheduled) && s.Owner == "":
		return errors.New("--owner is missing, and GODWIT_OWNER is not set: without an owner, a sweep only reports")
	case s.Scheduled && o.state == "":
		return errors.New("--scheduled needs --state: name a file that remembers what was announced")
	}
	return o.notifiers.check()
}

// run sweeps, or undoes a sweep.
func (o *sweepOptions) run(ctx context.Context, b driver.Backend, out, errOut io.Writer) error {
	if o.undo != "" {
		return o.restore(ctx, b, out, errOut)
	}
	routes, end, err := o.notifiers.open(ctx, b)
	if err != nil {
		return err
	}
	for _, r := range routes {
		o.sweep.Notifiers = append(o.sweep.Notifiers, r.To)
	}
	if err := o.remember(ctx, b); err != nil {
		return errors.Join(err, end(ctx))
	}
	r, err := ops.Sweep(ctx, b, &o.sweep)
	err = errors.Join(err, end(context.WithoutCancel(ctx)))
	if r == nil {
		return err
	}
	t := table{head: []string{"CHANNEL", "ROLE", "OWNER", "CLASS", "DONE", "REASON"}}
	values := []any{}
	for i := range r.Findings {
		f := &r.Findings[i]
		why := f.Reason
		if f.Problem != "" {
			why = f.Problem
		}
		t.rows = append(t.rows, []string{f.Channel, f.Role, f.Owner, string(f.Class), string(f.Action), why})
		values = append(values, f)
	}
	err = errors.Join(o.output.print(out, t, values), err)
	fmt.Fprintln(errOut, r.Summary())
	if r.Journal != "" {
		fmt.Fprintf(errOut, "`godwit sweep --undo %s` makes them again\n", r.Journal)
	}
	if o.sweep.Yes || o.sweep.Scheduled {
		return err
	}
	if o.sweep.Owner == "" {
		fmt.Fprintln(errOut, "nothing was changed: without an owner, a sweep only reports; add --owner NAME --yes")
	} else {
		fmt.Fprintln(errOut, "nothing was changed: add --yes to delete what is unused")
	}
	return err
}

// remember opens what a sweep writes.
func (o *sweepOptions) remember(ctx context.Context, b driver.Backend) (err error) {
	o.sweep.Name, o.sweep.Flags = o.backend.describe(b)
	if o.sweep.State, err = openState(ctx, o.state); err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	switch {
	case strings.Contains(o.journal, "://"):
		s, err := openState(ctx, o.journal)
		if err != nil {
			return fmt.Errorf("--journal: %w", err)
		}
		o.sweep.Journal = ops.StateJournal{State: s, Name: o.journal}
	case o.journal != "":
		o.sweep.Journal = ops.FileJournal(o.journal)
	}
	return nil
}

// readJournal reads what a sweep has written.
func readJournal(ctx context.Context, at string) ([]byte, error) {
	if !strings.Contains(at, "://") {
		return os.ReadFile(at)
	}
	s, err := openState(ctx, at)
	if err != nil {
		return nil, err
	}
	text, version, err := s.Load(ctx)
	if err == nil && version == "" {
		err = errors.New("it does not exist")
	}
	return text, err
}

// restore makes again what a journal describes.
func (o *sweepOptions) restore(ctx context.Context, b driver.Backend, out, errOut io.Writer) error {
	text, err := readJournal(ctx, o.undo)
	if err != nil {
		return fmt.Errorf("--undo %s: %w", o.undo, err)
	}
	all, err := ops.Undo(ctx, b, text)
	if all == nil {
		return fmt.Errorf("--undo %s: %w", o.undo, err)
	}
	t := table{head: []string{"CHANNEL", "MADE", "EXISTS", "NOTES"}}
	values := []any{}
	made := 0
	for _, r := range all {
		t.rows = append(t.rows, []string{
			r.Channel, strings.Join(r.Made, ", "), strings.Join(r.Found, ", "), r.Problem,
		})
		values = append(values, r)
		made += len(r.Made)
	}
	err = errors.Join(o.output.print(out, t, values), err)
	fmt.Fprintf(errOut, "%d resources were made again\n", made)
	return err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/ops"
)

// sweepOptions are the flags of `godwit sweep`.
type sweepOptions struct {
	backend        backendFlags
	output         screen.Output
	notifiers      notifierFlags
	state, journal string
	undo           string
	sweep          ops.SweepOptions
}

func newSweep() *cobra.Command {
	var o sweepOptions
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Find channels that nobody uses, and delete them",
		Long: "Find channels that nobody uses, and delete them.\n\n" +
			"A queue is unused if it is empty, and nothing was sent and nobody has polled for three days. Without --yes or " +
			"--scheduled it only reports, in a minute. Deletions are described in a journal, from which --undo makes the " +
			"channels again.",
		Example: "  godwit sweep --owner shop --scheduled --state sweep.json\n  godwit sweep --undo FILE.journal",
		Args:    noArgs,
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
	o.output.Add(cmd)
	s := &o.sweep
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&s.Owner, "owner", "", "whose channels; by their tag owner; without it, GODWIT_OWNER")
		f.StringVar(&o.undo, "undo", "",
			"make again what this `journal` describes; a file, s3://bucket/key, or kafka://name")
	})
	manual.Where(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&o.state, "state", "",
			"a `file` that remembers what was announced; or s3://bucket/key, or kafka://name")
	})
	f := cmd.Flags()
	f.BoolVar(&s.Scheduled, "scheduled", false, "announce what is unused, and delete what an earlier run has announced")
	f.StringVar(&o.journal, "journal", "",
		"a `file` that describes what is deleted; or s3://bucket/key, or kafka://name; without it, a new file")
	f.BoolVar(&s.Untagged, "kafka", false,
		"permit to delete topics of Kafka; they have no tags, so nothing says who has made or owns them")
	o.notifiers.add(cmd)
	addYes(cmd, &s.Yes)
	manual.More(cmd, "On Kafka, a channel is unused if nothing was sent and no group reads it. What could not be found out is "+
		"unknown, and is never deleted. Deletions need --owner, or on Kafka --kafka. Messages are counted twice, a minute "+
		"apart.", "docs/operations.md")
	return cmd
}

func (o *sweepOptions) check(cmd *cobra.Command) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	s := &o.sweep
	if o.undo != "" {
		for _, name := range []string{
			"owner", "yes", "scheduled", "state", "journal", "kafka", "slack", "webhook", "sns",
		} {
			if cmd.Flags().Changed(name) {
				return fmt.Errorf("--undo does not go with --%s: it makes again what its journal describes", name)
			}
		}
		if strings.Contains(o.undo, "://") {
			return checkState("--undo", o.undo)
		}
		return checkInput("--undo", o.undo)
	}
	if !cmd.Flags().Changed("owner") && !s.Untagged {
		s.Owner = os.Getenv("GODWIT_OWNER")
	}
	switch {
	case s.Yes && s.Scheduled:
		return errors.New("--yes deletes at once, and --scheduled on a later run: use one of them")
	case s.Untagged && cmd.Flags().Changed("owner"):
		return errors.New("--kafka does not go with --owner: topics of Kafka have no tags, and so no owner")
	case s.Untagged && o.state == "":
		return errors.New("--kafka needs --state, such as kafka://sweep: brokers do not tell how old a topic is, so sweeps " +
			"note there since when they know it")
	case (s.Yes || s.Scheduled) && s.Owner == "" && !s.Untagged:
		return errors.New("--owner is missing, and GODWIT_OWNER is not set: without an owner, a sweep only reports (on " +
			"Kafka, use --kafka instead)")
	case s.Scheduled && o.state == "":
		return errors.New("--scheduled needs --state: name a file that remembers what was announced")
	}
	return errors.Join(checkState("--state", o.state), checkState("--journal", o.journal), o.notifiers.check())
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
	err = missing(err)
	err = errors.Join(err, end(context.WithoutCancel(ctx)))
	if r == nil {
		return err
	}
	t := screen.Table{Head: []string{"CHANNEL", "ROLE", "OWNER", "CLASS", "DONE", "REASON"}}
	values := []any{}
	for i := range r.Findings {
		f := &r.Findings[i]
		why := f.Reason
		if f.Problem != "" {
			why = f.Problem
		}
		t.Rows = append(t.Rows, []string{f.Channel, f.Role, f.Owner, string(f.Class), string(f.Action), why})
		values = append(values, f)
	}
	err = errors.Join(o.output.Print(out, t, values), err)
	fmt.Fprintln(errOut, r.Summary())
	if r.Journal != "" {
		fmt.Fprintf(errOut, "`godwit sweep --undo %s` makes them again\n", r.Journal)
	}
	if o.sweep.Yes || o.sweep.Scheduled {
		return err
	}
	_, onKafka := b.(*kafka.Backend)
	switch {
	case onKafka && !o.sweep.Untagged:
		fmt.Fprintln(errOut, "nothing was changed: topics have no tags; add --kafka --state kafka://sweep --yes")
	case o.sweep.Owner == "" && !onKafka:
		fmt.Fprintln(errOut, "nothing was changed: without an owner, a sweep only reports; add --owner NAME --yes")
	default:
		fmt.Fprintln(errOut, "nothing was changed: add --yes to delete what is unused")
	}
	return err
}

// remember opens what a sweep writes.
func (o *sweepOptions) remember(ctx context.Context, b driver.Backend) (err error) {
	o.sweep.Name, o.sweep.Flags = o.backend.describe(b)
	if o.sweep.State, err = openState(ctx, o.state, b); err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	switch {
	case strings.Contains(o.journal, "://"):
		s, err := openState(ctx, o.journal, b)
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
func readJournal(ctx context.Context, at string, b driver.Backend) ([]byte, error) {
	if !strings.Contains(at, "://") {
		return os.ReadFile(at)
	}
	s, err := openState(ctx, at, b)
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
	text, err := readJournal(ctx, o.undo, b)
	if err != nil {
		return fmt.Errorf("--undo %s: %w", o.undo, err)
	}
	all, err := ops.Undo(ctx, b, text)
	if all == nil {
		return fmt.Errorf("--undo %s: %w", o.undo, err)
	}
	t := screen.Table{Head: []string{"CHANNEL", "MADE", "EXISTS", "NOTES"}}
	values := []any{}
	made := 0
	for _, r := range all {
		t.Rows = append(t.Rows, []string{
			r.Channel, strings.Join(r.Made, ", "), strings.Join(r.Found, ", "), r.Problem,
		})
		values = append(values, r)
		made += len(r.Made)
	}
	err = errors.Join(o.output.Print(out, t, values), err)
	fmt.Fprintf(errOut, "%d resources were made again\n", made)
	return err
}

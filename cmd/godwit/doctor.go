package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops/doctor"
)

// doctorOptions are the flags of `godwit doctor`.
type doctorOptions struct {
	backend backendFlags
	output  screen.Output
	doctor  doctor.Options
	fix     bool
	yes     bool
}

func newDoctor() *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor [PATTERN]",
		Short: "Say what is wrong or risky, and how to mend it",
		Long: "Say what is wrong or risky, and how to mend it: credentials, the clock, calls that are not allowed; dead\n" +
			"letters that are missing or deleted too soon, leases, policies that let everybody or nobody in, subscriptions,\n" +
			"encryption, replicas; and with --bucket the bucket of large messages. Only calls that read are made. What could\n" +
			"not be looked at is told at the end. The exit status is 4 if there are problems or warnings.\n" +
			"With --fix, the command prints what it would change to mend findings, and changes it with --yes.",
		Example: "  godwit doctor\n  godwit doctor 'orders*' -o json\n  godwit doctor --bucket payloads --fix --yes",
		Args:    onePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.output.Check(); err != nil {
				return usage(cmd, err)
			}
			if o.yes && !o.fix {
				return usage(cmd, errors.New("--yes has no effect without --fix: add it"))
			}
			if len(args) > 0 {
				o.doctor.Match = args[0]
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) (err error) {
				if o.doctor.Store, err = o.backend.openStore(ctx, cmd); err != nil {
					return err
				}
				return o.run(ctx, b, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	o.backend.add(cmd)
	o.backend.addStore(cmd)
	o.output.Add(cmd)
	cmd.Flags().BoolVar(&o.fix, "fix", false, "mend what can be mended without a decision")
	addYes(cmd, &o.yes)
	return cmd
}

// foundWrong is a finding in JSON.
type foundWrong struct {
	Level   string `json:"level"`
	Channel string `json:"channel"`
	What    string `json:"what"`
	Means   string `json:"means"`
	Mend    string `json:"mend"`
	Fixable bool   `json:"fixable"`
}

func (o *doctorOptions) run(ctx context.Context, b driver.Backend, out, errOut io.Writer) error {
	r, err := doctor.Examine(ctx, b, &o.doctor)
	if err != nil {
		return err
	}
	if o.fix {
		return o.mend(ctx, r, out, errOut)
	}
	if err := o.print(r, out); err != nil {
		return err
	}
	bad, fixable := counts(r)
	if r.Channels == 0 && bad == 0 {
		return noChannels(ctx, b, o.doctor.Match)
	}
	who := ""
	if r.Identity != "" {
		who = fmt.Sprintf(" as %s (%s)", r.Identity, r.Source)
	}
	fmt.Fprintf(errOut, "%d channels were looked at%s: %d problems and warnings, %d notes\n", r.Channels, who, bad,
		len(r.Findings)-bad)
	if fixable > 0 {
		fmt.Fprintf(errOut, "%d of them can be mended by --fix\n", fixable)
	}
	if len(r.Allowed) > 0 {
		fmt.Fprintf(errOut, "allowed: %s\n", strings.Join(r.Allowed, ", "))
	}
	if len(r.Unknown) > 0 {
		return fmt.Errorf("not everything could be looked at: %w", errors.Join(r.Unknown...))
	}
	if bad > 0 {
		return errFindings
	}
	return nil
}

// counts are how many findings are problems or warnings, and how many can be mended.
func counts(r *doctor.Report) (bad, fixable int) {
	for _, f := range r.Findings {
		if f.Level > doctor.Note {
			bad++
		}
		if f.Fixable {
			fixable++
		}
	}
	return bad, fixable
}

// print prints the findings.
func (o *doctorOptions) print(r *doctor.Report, out io.Writer) error {
	values := []any{}
	var text strings.Builder
	for _, f := range r.Findings {
		values = append(values, foundWrong{f.Level.String(), f.Channel, f.What, f.Means, f.Mend, f.Fixable})
		head, how := strings.ToUpper(f.Level.String()), "mend: "
		if f.Channel != "" {
			head += " " + f.Channel
		}
		if f.Fixable {
			how = "mend (--fix does it): "
		}
		fmt.Fprintf(&text, "%s: %s\n  means: %s\n  %s %s\n", head, f.What, f.Means, how, f.Mend)
	}
	if o.output != screen.AsTable {
		return o.output.Print(out, screen.Table{}, values)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// mend makes the changes that mend findings, or prints them.
func (o *doctorOptions) mend(ctx context.Context, r *doctor.Report, out, errOut io.Writer) error {
	changes, failed := r.Fix(ctx, !o.yes)
	t := screen.Table{Head: []string{"CHANNEL", "RESOURCE", "ATTRIBUTE", "FROM", "TO"}}
	values := []any{}
	for _, c := range changes {
		t.Rows = append(t.Rows, []string{c.Channel, c.Resource, c.Attribute, shortened(c.From), shortened(c.To)})
		values = append(values, c)
	}
	if len(changes) > 0 || o.output != screen.AsTable {
		if err := o.output.Print(out, t, values); err != nil {
			return err
		}
	}
	for _, c := range changes {
		if c.Risk != "" {
			fmt.Fprintf(errOut, "risk: %s %s: %s\n", c.Channel, c.Attribute, c.Risk)
		}
	}
	if failed != nil {
		return failed
	}
	_, fixable := counts(r)
	switch left := len(r.Findings) - fixable; {
	case len(changes) == 0:
		fmt.Fprintf(errOut, "nothing was changed: --fix mends none of %d findings\n", len(r.Findings))
	case o.yes:
		fmt.Fprintf(errOut, "done: %d changes mend %d findings; %d are left for a person\n", len(changes), fixable, left)
	default:
		fmt.Fprintf(errOut, "nothing was changed: %d changes would mend %d findings, and %d are left for a person; add --yes "+
			"to do it\n", len(changes), fixable, left)
		return nil
	}
	if len(r.Unknown) > 0 {
		return fmt.Errorf("not everything could be looked at: %w", errors.Join(r.Unknown...))
	}
	for _, f := range r.Findings {
		if f.Level > doctor.Note && !f.Fixable {
			return errFindings
		}
	}
	return nil
}

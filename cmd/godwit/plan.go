package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwitmq/godwit/cmd/godwit/internal/declared"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/topology"
)

// planOptions are the flags of `godwit plan`.
type planOptions struct {
	backend backendFlags
	output  screen.Output
	out     string
}

func newPlan() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "plan FILE",
		Short: "Compare declared channels with those that exist",
		Long: "Compare the channels that a file declares with those that exist. Nothing is changed.\n\n" +
			"Every mistake in the file is found before anything is called, with its line and column. The status is 0 if\n" +
			"all is as declared, and 4 if something differs. docs/topology.md explains the file.",
		Example: "  godwit plan godwit.yaml\n  godwit plan godwit.yaml --out plan.json && godwit apply plan.json --yes",
		Args:    oneFile,
		RunE:    o.with(o.run),
	}
	o.backend.addName(cmd)
	o.output.Add(cmd)
	cmd.Flags().StringVar(&o.out, "out", "", "write the plan to a `file`, for godwit apply")
	return cmd
}

// oneFile is for commands with a file of declared channels.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage(cmd, fmt.Errorf("name one file, such as godwit.yaml: got %d", len(args)))
	}
	return nil
}

// fileWork is what a command does with a file.
type fileWork func(ctx context.Context, b driver.Backend, f *declared.File, out, errOut io.Writer) error

// with is a command that reads a file and works with its backend.
func (o *planOptions) with(work fileWork) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		f, err := o.read(cmd, args[0])
		if err != nil {
			return err
		}
		return o.backend.useFile(cmd, f, func(ctx context.Context, b driver.Backend) error {
			err := work(ctx, b, f, cmd.OutOrStdout(), cmd.ErrOrStderr())
			if wrong := new(topology.MistakesError); errors.As(err, &wrong) {
				return usage(cmd, f.Locate(err))
			}
			return err
		})
	}
}

// read checks the flags, and reads the file.
func (o *planOptions) read(cmd *cobra.Command, name string) (*declared.File, error) {
	if err := o.output.Check(); err != nil {
		return nil, usage(cmd, err)
	}
	if err := errors.Join(o.backend.check(), checkFile("--out", o.out)); err != nil {
		return nil, usage(cmd, err)
	}
	f, err := declared.Read(name)
	if err != nil {
		return nil, usage(cmd, err)
	}
	return f, nil
}

// run prints the plan, and writes it if that is wanted.
func (o *planOptions) run(ctx context.Context, b driver.Backend, f *declared.File, out, errOut io.Writer) error {
	c, err := topology.Plan(ctx, b, f.Spec)
	if err != nil {
		return err
	}
	if o.out != "" {
		if err := f.WritePlan(o.out, c); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	if err := printSteps(o.output, out, errOut, c.Steps); err != nil {
		return err
	}
	fmt.Fprintf(errOut, "%s; %d exchanges and channels are as declared\n", counted(c.Steps), c.Same)
	if c.Drift() {
		return errFindings
	}
	return nil
}

// widestValue is how many characters of a value a table has; JSON has all.
const widestValue = 40

// printSteps prints steps, and behind a table what is to be known about them.
func printSteps(o screen.Output, out, errOut io.Writer, steps []topology.Step) error {
	t := screen.Table{Head: []string{"STEP", "CHANNEL", "RESOURCE", "ATTRIBUTE", "FROM", "TO"}}
	values := []any{} // an empty list in JSON is not null
	for _, s := range steps {
		t.Rows = append(t.Rows, []string{
			string(s.Kind), s.Channel, s.Resource, s.Attribute, shortened(s.From), shortened(s.To),
		})
		values = append(values, s)
	}
	if len(steps) > 0 || o != screen.AsTable {
		if err := o.Print(out, t, values); err != nil {
			return err
		}
	}
	for _, s := range steps {
		what := strings.TrimSpace(s.Channel + " " + s.Resource + " " + s.Attribute)
		if s.Risk != "" {
			fmt.Fprintf(errOut, "risk: %s: %s\n", what, s.Risk)
		}
		if s.Note != "" {
			fmt.Fprintf(errOut, "note: %s: %s\n", what, s.Note)
		}
		for i, step := range s.ByHand {
			fmt.Fprintf(errOut, "by hand: %s: %d. %s\n", what, i+1, step)
		}
	}
	return nil
}

func shortened(value string) string {
	if runes := []rune(value); len(runes) > widestValue {
		return string(runes[:widestValue-1]) + "…"
	}
	return value
}

// counted is how many steps of each kind there are.
func counted(steps []topology.Step) string {
	counts := map[topology.StepKind]int{}
	for _, s := range steps {
		counts[s.Kind]++
	}
	var words []string
	for _, kind := range []topology.StepKind{
		topology.StepCreate, topology.StepChange, topology.StepReplace, topology.StepOrphan, topology.StepForeign,
	} {
		if counts[kind] > 0 || kind == topology.StepCreate || kind == topology.StepChange {
			words = append(words, fmt.Sprintf("%d %s", counts[kind], kind))
		}
	}
	return strings.Join(words, ", ")
}

// applyOptions are the flags of `godwit apply`.
type applyOptions struct {
	planOptions
	yes bool
}

func newApply() *cobra.Command {
	var o applyOptions
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Create and change channels as a file declares them",
		Long: "Create and change channels as a file declares them, exchanges first. Nothing is deleted.\n\n" +
			"FILE is a declaration, or a plan that godwit plan --out wrote: it is refused if the channels have changed since.\n" +
			"Without --yes, it is a dry run. The command can be repeated after a failure. The status is 5 if something is\n" +
			"left that a person has to do.",
		Example: "  godwit apply godwit.yaml\n  godwit apply plan.json --yes",
		Args:    oneFile,
		RunE:    o.with(o.run),
	}
	o.backend.addName(cmd)
	o.output.Add(cmd)
	addYes(cmd, &o.yes)
	return cmd
}

// run applies, or prints what would happen.
func (o *applyOptions) run(ctx context.Context, b driver.Backend, f *declared.File, out, errOut io.Writer) error {
	if !o.yes {
		c, err := topology.Plan(ctx, b, f.Spec)
		if err != nil {
			return err
		}
		if f.Planned != nil && !c.Equal(f.Planned) {
			return topology.ErrChanged
		}
		if err := printSteps(o.output, out, errOut, c.Steps); err != nil {
			return err
		}
		fmt.Fprintf(errOut, "nothing was changed: %s; add --yes to do it\n", counted(c.Steps))
		return nil
	}
	done, err := topology.Apply(ctx, b, f.Spec, &topology.ApplyOptions{
		Planned: f.Planned, Progress: func(s topology.Step) {
			fmt.Fprintf(errOut, "%s %s %s %s\n", s.Kind, s.Resource, s.Name, s.Attribute)
		},
	})
	if printErr := printSteps(o.output, out, io.Discard, done.Done); err != nil || printErr != nil {
		return errors.Join(err, printErr)
	}
	fmt.Fprintf(errOut, "done: %s\n", counted(done.Done))
	if err := printSteps(screen.AsTable, errOut, errOut, done.Left); err != nil {
		return err
	}
	if slices.ContainsFunc(done.Left, func(s topology.Step) bool { return s.Kind != topology.StepOrphan }) {
		return &partError{"something is left, which a person has to do"}
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/godwitmq/godwit/cmd/godwit/internal/declared"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/topology"
)

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
			"FILE is a declaration, or a plan that godwit plan --out wrote: it is refused if what exists has changed since.\n" +
			"Without --yes, the command only prints what would happen. It can be repeated after a failure. The status is 5\n" +
			"if something is left that a person has to do.",
		Example: "  godwit apply godwit.yaml\n  godwit apply plan.json --yes",
		Args:    oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := o.read(cmd, args[0])
			if err != nil {
				return err
			}
			return o.backend.useFile(cmd, f, func(ctx context.Context, b driver.Backend) error {
				return o.run(ctx, b, f, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	o.backend.addName(cmd)
	o.output.add(cmd)
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
	if err := printSteps(asTable, errOut, errOut, done.Left); err != nil {
		return err
	}
	if slices.ContainsFunc(done.Left, func(s topology.Step) bool { return s.Kind != topology.StepOrphan }) {
		return &partError{"something is left, which a person has to do"}
	}
	return nil
}

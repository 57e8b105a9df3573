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
}

func newDoctor() *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor [PATTERN]",
		Short: "Say what is wrong or risky with channels, and how to mend it",
		Long: "Say what is wrong or risky with channels, and how to mend it: dead letters that are missing or deleted too\n" +
			"soon, policies that let everybody or nobody in, subscriptions, encryption, replicas. Nothing is changed. What\n" +
			"could not be looked at is told at the end. The exit status is 4 if there are problems or warnings.",
		Example: "  godwit doctor\n  godwit doctor 'orders*' -o json",
		Args:    onePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.output.Check(); err != nil {
				return usage(cmd, err)
			}
			if len(args) > 0 {
				o.doctor.Match = args[0]
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				return o.run(ctx, b, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	o.backend.add(cmd)
	o.output.Add(cmd)
	return cmd
}

// foundWrong is a finding in JSON.
type foundWrong struct {
	Level   string `json:"level"`
	Channel string `json:"channel"`
	What    string `json:"what"`
	Means   string `json:"means"`
	Mend    string `json:"mend"`
}

func (o *doctorOptions) run(ctx context.Context, b driver.Backend, out, errOut io.Writer) error {
	r, err := doctor.Examine(ctx, b, &o.doctor)
	if err != nil {
		return err
	}
	if r.Channels == 0 {
		return noChannels(ctx, b, o.doctor.Match)
	}
	values := []any{}
	bad := 0
	for _, f := range r.Findings {
		if f.Level > doctor.Note {
			bad++
		}
		values = append(values, foundWrong{f.Level.String(), f.Channel, f.What, f.Means, f.Mend})
		if o.output == screen.AsTable {
			_, err := fmt.Fprintf(out, "%s %s: %s\n  means: %s\n  mend:  %s\n", strings.ToUpper(f.Level.String()),
				f.Channel, f.What, f.Means, f.Mend)
			if err != nil {
				return err
			}
		}
	}
	if o.output != screen.AsTable {
		if err := o.output.Print(out, screen.Table{}, values); err != nil {
			return err
		}
	}
	fmt.Fprintf(errOut, "%d channels were looked at: %d problems and warnings, %d notes\n", r.Channels, bad,
		len(r.Findings)-bad)
	if len(r.Unknown) > 0 {
		return fmt.Errorf("not everything could be looked at: %w", errors.Join(r.Unknown...))
	}
	if bad > 0 {
		return errFindings
	}
	return nil
}

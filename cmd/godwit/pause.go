package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// pauseOptions are the flags of `godwit pause` and `godwit resume`.
type pauseOptions struct {
	backend backendFlags
	output  screen.Output
	yes     bool
	resume  bool // not a flag: the command
}

func newPause() *cobra.Command {
	return (&pauseOptions{}).command(&cobra.Command{
		Use:   "pause CHANNEL",
		Short: "Make SQS refuse receives from a channel, whoever makes them",
		Long: "Make SQS refuse receives from a channel, whoever makes them.\n\n" +
			"Without --yes, it only prints what would happen. Messages can still be sent, and what consumers hold is\n" +
			"handled. Consumers of Godwit say that they are paused; other programs get AccessDenied.\n" +
			"AWS may need a minute until all receives are refused. Brokers of Kafka cannot do it.",
		Example: "  godwit pause orders --yes\n  godwit resume orders --yes",
	})
}

// command completes a command.
func (o *pauseOptions) command(cmd *cobra.Command) *cobra.Command {
	cmd.Args = oneChannel
	cmd.RunE = onChannel(&o.backend, &o.output, o.run)
	o.backend.add(cmd)
	o.output.Add(cmd)
	addYes(cmd, &o.yes)
	return cmd
}

// oneChannel checks the arguments of a command that takes the name of a channel.
func oneChannel(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage(cmd, fmt.Errorf("name one channel, such as orders: got %d", len(args)))
	}
	return nil
}

// addYes adds the flag without which a command changes nothing.
func addYes(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVar(yes, "yes", false, "do it; without this flag, the command only prints what would happen")
}

// pausedChannel is a paused or resumed channel in JSON.
type pausedChannel struct {
	Channel string `json:"channel"`
	Was     string `json:"was"`
	Now     string `json:"now"`
	Done    bool   `json:"done"` // false: a dry run, or nothing to do
}

// run pauses or resumes, or prints what would happen.
func (o *pauseOptions) run(ctx context.Context, b driver.Backend, channel string, out, errOut io.Writer) error {
	do, from, to := ops.Pause, "running", "paused"
	if o.resume {
		do, from, to = ops.Resume, "paused", "running"
	}
	r, err := do(ctx, b, channel, &ops.PauseOptions{Dry: !o.yes})
	if err != nil {
		return err
	}
	if !r.Changes {
		from = to
	}
	v := pausedChannel{Channel: r.Channel.String(), Was: from, Now: to, Done: o.yes && r.Changes}
	if !v.Done {
		v.Now = from
	}
	err = o.output.Print(out, screen.Table{
		Head: []string{"CHANNEL", "WAS", "NOW"}, Rows: [][]string{{v.Channel, v.Was, v.Now}},
	}, []any{v})
	switch {
	case err != nil:
		return err
	case !r.Changes:
		fmt.Fprintf(errOut, "nothing was changed: %s is %s already\n", v.Channel, to)
	case !o.yes:
		fmt.Fprintf(errOut, "nothing was changed: %s would be %s; add --yes to do it\n", v.Channel, to)
	default:
		fmt.Fprintf(errOut, "done: %s is %s\n", v.Channel, to)
	}
	return nil
}

func newResume() *cobra.Command {
	return (&pauseOptions{resume: true}).command(&cobra.Command{
		Use:   "resume CHANNEL",
		Short: "End a pause of a channel",
		Long: "End a pause of a channel.\n\n" +
			"Without --yes, it only prints what would happen. Consumers of Godwit go on within 20 s.",
		Example: "  godwit resume orders --yes",
	})
}

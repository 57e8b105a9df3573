package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
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

// rewindOptions are the flags of `godwit rewind`.
type rewindOptions struct {
	backend    backendFlags
	output     screen.Output
	to         string
	partitions []int32
	yes        bool
}

func newRewind() *cobra.Command {
	var o rewindOptions
	cmd := &cobra.Command{
		Use:   "rewind CHANNEL --to POSITION",
		Short: "Let a channel's consumers start again from another position (Kafka)",
		Long: "Let a channel's consumers start again from another position (Kafka).\n\n" +
			"Without --yes, it only prints what would happen. It is refused while the channel has consumers.\n" +
			"Everything from the position on is handled again, also what was finished or dead-lettered before.\n" +
			"Dead letters and messages in retry tiers stay where they are.",
		Example: "  godwit rewind orders --to start\n" +
			"  godwit rewind orders --to 2026-11-23T10:00:00Z --yes\n" +
			"  godwit rewind wishlist_events.audit_log --to 2h --yes\n" +
			"  godwit rewind orders --to offset:1200 --partition 3 --yes",
		Args: oneChannel,
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := position(o.to, o.partitions, time.Now())
			if err == nil {
				err = o.output.Check()
			}
			if err != nil {
				return usage(cmd, err)
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				return o.run(ctx, b, args[0], to, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	o.backend.add(cmd)
	o.output.Add(cmd)
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&o.to, "to", "",
			"the `position`: start, end, a time (RFC 3339), a duration back from now, or offset:N")
	})
	f := cmd.Flags()
	f.Int32SliceVar(&o.partitions, "partition", nil, "only these `partitions`")
	addYes(cmd, &o.yes)
	return cmd
}

// position reads the flag --to.
func position(to string, partitions []int32, now time.Time) (p driver.Position, err error) {
	p.Partitions = partitions
	var offset int64
	switch to {
	case "start":
		return p, nil
	case "end":
		p.From = driver.FromEnd
		return p, nil
	case "":
		return p, errors.New("--to is missing: use start, end, a time, a duration back from now, or offset:N")
	}
	if n, _ := fmt.Sscanf(to, "offset:%d", &offset); n == 1 && to == "offset:"+strconv.FormatInt(offset, 10) {
		p.From, p.Offset = driver.FromOffset, offset
		return p, nil
	}
	if back, err := time.ParseDuration(to); err == nil {
		if back <= 0 {
			return p, fmt.Errorf("--to is %s: a duration back from now is positive, such as 2h", to)
		}
		p.From, p.Time = driver.FromTime, now.Add(-back)
		return p, nil
	}
	at, err := time.Parse(time.RFC3339, to)
	if err != nil {
		return p, fmt.Errorf("--to is %q: use start, end, a time such as 2026-11-23T10:00:00Z, a duration back from now "+
			"such as 2h, or offset:N", to)
	}
	p.From, p.Time = driver.FromTime, at
	return p, nil
}

// rewound is one partition in JSON.
type rewound struct {
	Partition int32  `json:"partition"`
	Was       *int64 `json:"was,omitempty"` // missing: there was no commit
	To        int64  `json:"to"`
	Again     int64  `json:"again"`
	Skipped   int64  `json:"skipped"`
	Done      bool   `json:"done"` // false: a dry run
}

// run rewinds, or prints what would happen.
func (o *rewindOptions) run(ctx context.Context, b driver.Backend, channel string, to driver.Position, out,
	errOut io.Writer,
) error {
	r, err := ops.Rewind(ctx, b, channel, &ops.RewindOptions{To: to, Dry: !o.yes})
	if err != nil {
		return err
	}
	t := screen.Table{Head: []string{"PARTITION", "WAS", "TO", "HANDLED AGAIN", "SKIPPED"}}
	values := []any{}
	var again, skipped int64
	for _, p := range r.Partitions {
		v := rewound{Partition: p.Partition, To: p.To, Again: p.Again, Skipped: p.Skipped, Done: o.yes}
		was := "none"
		if p.Was >= 0 {
			was, v.Was = strconv.FormatInt(p.Was, 10), &p.Was
		}
		t.Rows = append(t.Rows, []string{
			strconv.Itoa(int(p.Partition)), was, strconv.FormatInt(p.To, 10), strconv.FormatInt(p.Again, 10),
			strconv.FormatInt(p.Skipped, 10),
		})
		values = append(values, v)
		again, skipped = again+p.Again, skipped+p.Skipped
	}
	if err := o.output.Print(out, t, values); err != nil {
		return err
	}
	if r.Delayed > 0 {
		fmt.Fprintf(errOut, "%d messages wait in retry tiers, and are handled as well\n", r.Delayed)
	}
	if o.yes {
		fmt.Fprintf(errOut, "done: %d messages are handled again, and %d are skipped\n", again, skipped)
	} else {
		fmt.Fprintf(errOut, "nothing was changed: %d messages would be handled again, and %d skipped; add --yes to do it\n",
			again, skipped)
	}
	return nil
}

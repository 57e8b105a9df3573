package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/dashboard"
	"github.com/godwitmq/godwit/cmd/godwit/internal/described"
	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/ops/describe"
	"github.com/godwitmq/godwit/ops/processes"
)

// topOptions are the flags of `godwit top`.
type topOptions struct {
	backend   backendFlags
	sample    ops.SamplerOptions
	tolerance time.Duration
	workers   []string
}

func newTop() *cobra.Command {
	var o topOptions
	cmd := &cobra.Command{
		Use:   "top [PATTERN]",
		Short: "Watch channels on the terminal",
		Long: "Watch channels on the terminal: what waits, for how long, rates, dead letters, and what has waited within the\n" +
			"last hour while somebody watched. Problems are red. Enter describes a channel, r sends its dead letters back\n" +
			"after a question, s sorts, q ends. A narrow terminal shows fewer columns. On AWS, rates are some minutes late,\n" +
			"and cost six metrics a queue and minute; --no-rates leaves them out.",
		Example: "  godwit top\n  godwit top 'orders*' --every 30s --no-rates\n  godwit top --history history.bin",
		Args:    onePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			asked, err := processes.New(&processes.Options{Addresses: o.workers})
			if err != nil {
				return usage(cmd, fmt.Errorf("--workers: %w", err))
			}
			if err := checkFile("--history", o.sample.History); err != nil {
				return usage(cmd, err)
			}
			switch {
			case o.sample.Interval < leastPause:
				return usage(cmd, fmt.Errorf("--every is %v: it must be at least %v", o.sample.Interval, leastPause))
			case o.tolerance <= 0:
				return usage(cmd, fmt.Errorf("--tolerance is %v: it must be positive", o.tolerance))
			}
			if len(args) > 0 {
				o.sample.Match = args[0]
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				if screen.TerminalOf(cmd.OutOrStdout()) == nil {
					return usage(cmd, errors.New("this is no terminal: use godwit ls --watch -o jsonl"))
				}
				return o.run(ctx, b, asked)
			})
		},
	}
	o.backend.add(cmd)
	o.backend.addStore(cmd)
	manual.Where(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&o.sample.History, "history", "", "the `file` that keeps the last six hours for the next start")
		f.StringArrayVar(&o.workers, "workers", nil, aboutWorkers)
	})
	f := cmd.Flags()
	f.DurationVar(&o.sample.Interval, "every", 10*time.Second, "how often every channel is looked at")
	f.BoolVar(&o.sample.NoRates, "no-rates", false, "do not ask for rates, which cost money on AWS")
	f.DurationVar(&o.tolerance, "tolerance", ops.DefaultTolerance, "how old messages may be before they are a problem")
	return cmd
}

func (o *topOptions) run(ctx context.Context, b driver.Backend, asked *processes.Processes) error {
	sampler, err := ops.NewSampler(b, &o.sample)
	if err != nil {
		return err
	}
	on, err := dashboard.Open()
	if err != nil {
		return err
	}
	d := &dashboard.Options{
		Title: "godwit " + cmp.Or(o.sample.Match, o.backend.namespace), Watch: sampler.Watch, History: sampler.History,
		Old: o.tolerance, Color: os.Getenv("NO_COLOR") == "",
		Describe: func(ctx context.Context, channel string) (string, error) {
			c, err := describe.Read(ctx, b, channel, &describe.Options{
				Audience: true, Processes: asked, History: o.sample.History, Payloads: o.backend.payloads(),
			})
			if err != nil {
				return "", err
			}
			return described.Text(c, time.Now()), nil
		},
		Requeue: func(ctx context.Context, channel string, dry bool) (string, error) {
			return requeueAll(ctx, b, channel, dry)
		},
	}
	if name := o.backend.guarded; name != "" {
		d.Refuse = fmt.Sprintf("the context %s is protected: start godwit top with --context %s", name, name)
	}
	d.Title = strings.TrimSpace(d.Title)
	dashboard.Run(ctx, on, d)
	return nil
}

// requeueAll sends all dead letters of a channel back, and says so; with dry it asks.
func requeueAll(ctx context.Context, b driver.Backend, channel string, dry bool) (string, error) {
	r, err := ops.Requeue(ctx, b, channel, &ops.RequeueOptions{Dry: dry, Journal: journalOf(channel)})
	if err != nil {
		return "", err
	}
	var stay strings.Builder
	names, counts := staying(&r.Stay)
	for i, n := range counts {
		if n > 0 {
			fmt.Fprintf(&stay, "; %d stay: %s", n, names[i])
		}
	}
	if dry {
		text := fmt.Sprintf("%d messages of %s would go to\n%s%s\n", r.Moved, r.From, r.Address, &stay)
		if r.Shared {
			text += "where consumers of other channels get them, too\n"
		}
		return text + "\nSend them back?", nil
	}
	return fmt.Sprintf("%d messages of %s were sent to %s%s", r.Moved, r.From, r.To, &stay), nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/demo"
	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/ops"
)

// defaultFor is how long a demonstration sends if neither a time nor a number is given.
const defaultFor = 5 * time.Second

// demoOptions are the flags of `godwit demo`.
type demoOptions struct {
	sendFor  time.Duration
	messages int
	seed     uint64 // 0: a random one
	json     bool
	console  string // an address, or consoleOff
}

func newDemo() *cobra.Command {
	o := demoOptions{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Send a wishlist to three consumers on the embedded server",
		Long: "Sends wishes to the ordered exchange wishlist_events.* on the embedded server. Three consumers handle " +
			"them:\n" +
			"audit_log all wishes, mobile those that begin with MOBILE., and apple only MOBILE.APPLE. Some handlers " +
			"fail and\n" +
			"are retried, some wishes can never be handled and become dead letters. At the end, the report says " +
			"for each\n" +
			"channel what happened to every wish, by its number.\n" +
			"Ctrl-C stops the sending; wishes that were sent are still handled and counted. A second Ctrl-C ends at " +
			"once.\n" +
			"The exit status is 1 if a wish was lost, or handled out of order.",
		Example: "  godwit demo --for 10s\n" +
			"  godwit demo --messages 200 --json | tail -n 1",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return usage(cmd, err)
			}
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.IntVar(&o.messages, "messages", 0, "send that `number` of wishes, as fast as they are accepted")
		f.Uint64Var(&o.seed, "seed", 0,
			"the `number` that determines the wishes and which handlers fail; 0 chooses one and prints it")
	})
	manual.Where(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&o.console, "console", consoleAddr,
			"`host:port` of this machine to serve the console on, a web page of the channels; off: none")
	})
	f := cmd.Flags()
	f.DurationVar(&o.sendFor, "for", 0, "send for that long, at an even pace (default 5s, unless --messages is given)")
	f.BoolVar(&o.json, "json", false, "print one line of JSON after the table")
	return cmd
}

// check returns an error for the first invalid flag.
func (o *demoOptions) check() error {
	switch {
	case o.sendFor < 0:
		return fmt.Errorf("--for %v: the time must not be negative", o.sendFor)
	case o.messages < 0:
		return fmt.Errorf("--messages %d: the number must not be negative", o.messages)
	}
	return checkConsole(o.console)
}

// run runs the demonstration and prints its report.
func (o *demoOptions) run(ctx context.Context, out, errOut io.Writer) error {
	if o.sendFor == 0 && o.messages == 0 {
		o.sendFor = defaultFor
	}
	for o.seed == 0 {
		o.seed = rand.Uint64()
	}
	do := &demo.Options{For: o.sendFor, Messages: o.messages, Seed: o.seed, Progress: errOut}
	if terminal := screen.TerminalOf(errOut); terminal != nil {
		do.Progress, do.Live = terminal, true
	}
	own, err := ops.NewWorkers(nil)
	if err != nil {
		return err
	}
	do.Hooks = own.Hooks
	stop := func() error { return nil }
	do.Opened = func(b *local.Backend) (err error) {
		stop, err = mountConsole(o.console, b.Server(), b, "", own, errOut)
		return err
	}
	do.Closing = func() error { return stop() }
	report, err := demo.Run(ctx, do)
	if err != nil {
		return err
	}
	if err := report.WriteTable(out); err != nil {
		return err
	}
	if o.json {
		if err := report.WriteJSON(out); err != nil {
			return err
		}
	}
	switch {
	case report.Lost > 0:
		return errors.New("wishes were lost")
	case report.OutOfOrder > 0:
		return errors.New("wishes were handled out of order")
	}
	return nil
}

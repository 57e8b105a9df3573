package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/godwitmq/godwit/cmd/godwit/internal/demo"
)

// defaultFor is how long a demonstration sends when it was told neither a time nor a number: long enough to watch.
const defaultFor = 5 * time.Second

// demoOptions are what `godwit demo` was asked for.
type demoOptions struct {
	sendFor  time.Duration
	messages int
	seed     uint64 // 0: a new one
	json     bool
}

func newDemo() *cobra.Command {
	o := demoOptions{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Send a wishlist to three consumers on the embedded server, and count every wish",
		Long: "Sends wishes to the ordered exchange wishlist_events.* on the embedded server. Three consumers handle " +
			"them: audit_log\n" +
			"everything, mobile what begins with MOBILE., apple only MOBILE.APPLE. Some handlers fail and are tried " +
			"again, some wishes\n" +
			"can never be handled and become dead letters; at the end every wish is accounted for by its number, on " +
			"every channel.\n" +
			"Ctrl-C stops the sending; what was sent is still handled, and counted. A second Ctrl-C ends at once.\n" +
			"The exit status is 1 when a wish was lost, or handled out of order.",
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
	f := cmd.Flags()
	f.DurationVar(&o.sendFor, "for", 0, "send for that long, at an even pace (default 5s, unless --messages is given)")
	f.IntVar(&o.messages, "messages", 0, "send that `number` of wishes, as fast as they are accepted")
	f.Uint64Var(&o.seed, "seed", 0,
		"the `number` that decides what is wished for and which handlers fail; 0 draws one and prints it")
	f.BoolVar(&o.json, "json", false, "after the table, end with one line of JSON")
	return cmd
}

// check names the first flag that cannot be.
func (o *demoOptions) check() error {
	switch {
	case o.sendFor < 0:
		return fmt.Errorf("--for %v: a negative time cannot be", o.sendFor)
	case o.messages < 0:
		return fmt.Errorf("--messages %d: a negative number cannot be", o.messages)
	}
	return nil
}

// run does the job, and prints how it went.
func (o *demoOptions) run(ctx context.Context, out, errOut io.Writer) error {
	if o.sendFor == 0 && o.messages == 0 {
		o.sendFor = defaultFor
	}
	for o.seed == 0 {
		o.seed = rand.Uint64()
	}
	report, err := demo.Run(ctx, &demo.Options{
		For: o.sendFor, Messages: o.messages, Seed: o.seed, Progress: errOut, Live: isTerminal(errOut),
	})
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

// isTerminal says whether a person looks at what is written.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// importOptions are the flags of `godwit import`.
type importOptions struct {
	backend backendFlags
	file    string
	yes     bool
	imports ops.ImportOptions
}

func newImport() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import CHANNEL --file FILE",
		Short: "Send the messages of an exported file to a channel",
		Long: "Send the messages of an exported file to a channel, as they were.\n\n" +
			"Without --yes, the file is only checked. With --revive, dead letters lose what their rejection added, as a\n" +
			"requeue does, so that a consumer can handle them. After an error, go on with --from and the line it names.",
		Example: "  godwit import orders@dlq --file orders.jsonl --yes\n" +
			"  godwit import orders --file orders.jsonl --revive --rate 50 --yes",
		Args: oneChannel,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.file == "" {
				return usage(cmd, errors.New("--file is missing: name the file, or - for standard input"))
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				return o.run(ctx, b, args[0], cmd.InOrStdin(), cmd.ErrOrStderr())
			})
		},
	}
	o.backend.add(cmd)
	o.backend.addStore(cmd)
	f, i := cmd.Flags(), &o.imports
	f.StringVarP(&o.file, "file", "f", "", "the `file`; -: standard input")
	f.BoolVar(&i.Revive, "revive", false, "remove what a rejection added to dead letters")
	f.IntVar(&i.From, "from", 1, "go on with this `line`")
	f.Float64Var(&i.PerSecond, "rate", 0, "send at most so many messages a second; 0: no limit")
	f.BoolVar(&o.yes, "yes", false, "do it; without this flag, the file is only checked")
	return cmd
}

func (o *importOptions) run(ctx context.Context, b driver.Backend, channel string, in io.Reader,
	errOut io.Writer,
) error {
	if o.file != "-" {
		f, err := os.Open(o.file)
		if err != nil {
			return fmt.Errorf("--file: %w", err)
		}
		defer func() { _ = f.Close() }() // it was only read
		in = f
	}
	o.imports.Dry = !o.yes
	r, err := ops.Import(ctx, b, channel, in, &o.imports)
	switch {
	case err != nil && r.Sent == 0:
	case o.yes:
		fmt.Fprintf(errOut, "%d messages were sent to %s\n", r.Sent, channel)
	default:
		fmt.Fprintf(errOut, "nothing was sent: %d messages are good for %s; add --yes to send them\n", r.Sent, channel)
	}
	return err
}

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

// exportOptions are the flags of `godwit export`.
type exportOptions struct {
	backend backendFlags
	sel     selection
	file    string
	export  ops.ExportOptions
}

func newExport() *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export CHANNEL",
		Short: "Write the messages of a channel to a file, and leave them where they are",
		Long: "Write the messages of a channel to a file, one line of JSON each, and leave them where they are.\n\n" +
			"`godwit import` reads the file. The bodies of large messages stay in their store.\n" +
			"SQS can only receive: with --receive, all messages are received, held, and released at the end. This counts\n" +
			"as a receive of each message, and hides it meanwhile. Of an ordered queue, only the first messages of each\n" +
			"key can be seen so.",
		Example: "  godwit export orders@dlq --file orders.jsonl\n" +
			"  godwit export orders@dlq --receive --kind timeout > timeouts.jsonl",
		Args: oneChannel,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.export.Select, err = o.sel.ops(); err != nil {
				return usage(cmd, err)
			}
			if o.export.Most < 0 {
				return usage(cmd, fmt.Errorf("--most is %d: it cannot be negative; 0 is no limit", o.export.Most))
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				return o.run(ctx, b, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	o.backend.add(cmd)
	o.backend.addStore(cmd)
	o.sel.add(cmd)
	f := cmd.Flags()
	f.StringVarP(&o.file, "file", "f", "-", "the `file`, which must not exist; -: standard output")
	f.IntVarP(&o.export.Most, "most", "n", 0, "write at most so many messages; 0: all")
	f.BoolVar(&o.export.Receive, "receive", false, "on SQS, receive the messages and release them")
	return cmd
}

func (o *exportOptions) run(ctx context.Context, b driver.Backend, channel string, out, errOut io.Writer) (err error) {
	if o.file != "-" {
		f, err := os.OpenFile(o.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("--file: %w", err)
		}
		n, err := ops.Export(ctx, b, channel, f, &o.export)
		err = errors.Join(err, f.Sync(), f.Close())
		if err != nil && n == 0 {
			return errors.Join(o.hint(err), os.Remove(o.file))
		}
		fmt.Fprintf(errOut, "%d messages of %s are in %s\n", n, channel, o.file)
		return o.hint(err)
	}
	n, err := ops.Export(ctx, b, channel, out, &o.export)
	if err == nil || n > 0 {
		fmt.Fprintf(errOut, "%d messages of %s were written\n", n, channel)
	}
	return o.hint(err)
}

// hint names the flag that an error asks for.
func (o *exportOptions) hint(err error) error {
	if errors.Is(err, ops.ErrMustReceive) {
		return errors.New("SQS can only receive, which counts as a receive of each message and hides it until the end: " +
			"add --receive to do it")
	}
	return err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/cmd/godwit/internal/selection"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// exportOptions are the flags of `godwit export`.
type exportOptions struct {
	backend backendFlags
	sel     selection.Words
	file    string
	export  ops.ExportOptions
}

func newExport() *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export CHANNEL",
		Short: "Write the messages of a channel to a file, and leave them",
		Long: "Write the messages of a channel to a file, one line of JSON each, and leave them where they are.\n\n" +
			"`godwit import` reads the file. The bodies of large messages stay in their store. SQS can only receive: with " +
			"--receive, all messages are received, held, and released at the end.",
		Example: "  godwit export orders@dlq --receive --kind timeout > timeouts.jsonl",
		Args:    oneChannel,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.export.Select, err = o.sel.Selection(cmd.Context()); err != nil {
				return usage(cmd, err)
			}
			if err := checkFile("--file", o.file); err != nil {
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
	manual.What(cmd, o.sel.Add)
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.StringVarP(&o.file, "file", "f", "-", "the `file`, which must not exist; -: standard output")
		f.IntVarP(&o.export.Most, "most", "n", 0, "write at most so many messages; 0: all")
	})
	f := cmd.Flags()
	f.BoolVar(&o.export.Receive, "receive", false, "on SQS, receive the messages and release them")
	manual.Rare(cmd, "attempts")
	manual.More(cmd, "With --receive, it counts as a receive of each message, and hides it meanwhile. Of an ordered queue, "+
		"only the first messages of each key can be seen so.", "docs/operations.md")
	return cmd
}

func (o *exportOptions) run(ctx context.Context, b driver.Backend, channel string, out, errOut io.Writer) (err error) {
	n, to, where := 0, out, "were written"
	if o.file != "-" {
		f, failed := os.OpenFile(o.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if failed != nil {
			return fmt.Errorf("--file: %w", failed)
		}
		defer func() {
			if err = errors.Join(err, f.Sync(), f.Close()); n == 0 {
				err = errors.Join(err, os.Remove(o.file))
			}
		}()
		to, where = f, "are in "+o.file
	}
	end := func() {}
	if o.file != "-" || screen.TerminalOf(out) == nil { // otherwise the messages come to the terminal
		p := screen.NewProgress(errOut)
		end = p.End
		o.export.Progress = func(e ops.ExportProgress) {
			text := fmt.Sprintf("%d looked at, %d written", e.Looked, e.Written)
			if e.Waiting > 0 {
				text = fmt.Sprintf("%d of about %d looked at, %d written", e.Looked, e.Waiting, e.Written)
			}
			p.At(e.Looked, shareOf(e.Looked, e.Waiting), text)
		}
	}
	n, err = ops.Export(ctx, b, channel, to, &o.export)
	end()
	switch {
	case n > 0:
		fmt.Fprintf(errOut, "%d messages of %s %s\n", n, channel, where)
	case err == nil:
		return fmt.Errorf("%w: no message of %s was selected", errNothing, channel)
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

// importOptions are the flags of `godwit import`.
type importOptions struct {
	backend backendFlags
	output  screen.Output
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
			if err := o.output.Check(); err != nil {
				return usage(cmd, err)
			}
			if o.file == "" {
				return usage(cmd, errors.New("--file is missing: name the file, or - for standard input"))
			}
			if err := checkInput("--file", o.file); err != nil {
				return usage(cmd, err)
			}
			if o.imports.From < 1 {
				return usage(cmd, fmt.Errorf("--from is %d: it is the number of a line, from 1 on", o.imports.From))
			}
			if o.imports.PerSecond < 0 {
				return usage(cmd, fmt.Errorf("--rate is %g: it cannot be negative; 0 is no limit", o.imports.PerSecond))
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				return o.run(ctx, b, args[0], cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	o.backend.add(cmd)
	o.backend.addStore(cmd)
	o.output.Add(cmd)
	i := &o.imports
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.StringVarP(&o.file, "file", "f", "", "the `file`; -: standard input")
		f.IntVar(&i.From, "from", 1, "go on with this `line`")
	})
	f := cmd.Flags()
	f.BoolVar(&i.Revive, "revive", false, "remove what a rejection added to dead letters")
	f.Float64Var(&i.PerSecond, "rate", 0, "send at most so many messages a second; 0: no limit")
	f.BoolVar(&o.yes, "yes", false, "do it; without this flag, the file is only checked")
	return cmd
}

// imported is the result in JSON.
type imported struct {
	Channel  string `json:"channel"`
	Messages int    `json:"messages"`
	Next     int    `json:"next_line"`
	Done     bool   `json:"done"` // false: the file was only checked
}

func (o *importOptions) run(ctx context.Context, b driver.Backend, channel string, in io.Reader,
	out, errOut io.Writer,
) error {
	size := int64(0) // unknown
	if o.file != "-" {
		f, err := os.Open(o.file)
		if err != nil {
			return fmt.Errorf("--file: %w", err)
		}
		defer func() { _ = f.Close() }() // it was only read
		if info, err := f.Stat(); err == nil {
			size = info.Size()
		}
		in = f
	}
	o.imports.Dry = !o.yes
	read := &measured{from: in}
	p := screen.NewProgress(errOut)
	o.imports.Progress = func(r ops.ImportResult) {
		p.At(int64(r.Sent), shareOf(read.bytes, size), fmt.Sprintf("%d messages, line %d is next", r.Sent, r.Next))
	}
	r, err := ops.Import(ctx, b, channel, read, &o.imports)
	p.End()
	if err != nil && r.Sent == 0 {
		return err
	}
	v := imported{Channel: channel, Messages: r.Sent, Next: r.Next, Done: o.yes}
	t := screen.Table{
		Head: []string{"CHANNEL", "MESSAGES", "NEXT LINE"},
		Rows: [][]string{{channel, strconv.Itoa(v.Messages), strconv.Itoa(v.Next)}},
	}
	err = errors.Join(err, o.output.Print(out, t, []any{v}))
	switch {
	case o.yes:
		fmt.Fprintf(errOut, "%d messages were sent to %s\n", r.Sent, channel)
	default:
		fmt.Fprintf(errOut, "nothing was sent: %d messages are good for %s; add --yes to send them\n", r.Sent, channel)
	}
	return err
}

// measured counts the bytes that are read.
type measured struct {
	from  io.Reader
	bytes int64
}

func (m *measured) Read(p []byte) (int, error) {
	n, err := m.from.Read(p)
	m.bytes += int64(n)
	return n, err
}

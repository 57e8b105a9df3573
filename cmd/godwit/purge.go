package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/cmd/godwit/internal/selection"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// purgeOptions are the flags of `godwit purge`.
type purgeOptions struct {
	backend backendFlags
	output  screen.Output
	sel     selection.Words
	discard ops.DiscardOptions // with a selection
	shared  bool
	yes     bool
}

func newPurge() *cobra.Command {
	var o purgeOptions
	cmd := &cobra.Command{
		Use:   "purge CHANNEL",
		Short: "Delete the messages of a channel, or of dead letters",
		Long: "Delete the messages of a channel, or of dead letters: all, or those that a condition selects.\n\n" +
			"Without --yes, it only prints how many there are. Without a condition, messages that consumers hold are deleted, " +
			"too, and on Kafka those of all groups.",
		Example: "  godwit purge orders@dlq --kind permanent --older 7d --yes",
		Args:    oneChannel,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.read(cmd.Context()); err != nil {
				return usage(cmd, err)
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				if o.discard.Select.IsZero() {
					return o.run(ctx, b, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
				}
				return o.part(ctx, b, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	o.backend.add(cmd)
	o.backend.addStore(cmd)
	o.output.Add(cmd)
	manual.What(cmd, o.sel.Add)
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.IntVarP(&o.discard.Most, "most", "n", 0, "delete at most so many messages; with a condition only; 0: all")
	})
	f := cmd.Flags()
	f.Float64Var(&o.discard.PerSecond, "rate", 0, "look at most at so many messages a second; with a condition only; 0: no limit")
	f.BoolVar(&o.shared, "shared", false, "also if other groups of Kafka lose the messages")
	addYes(cmd, &o.yes)
	manual.Rare(cmd, "attempts")
	manual.More(cmd, "With a condition it looks at the messages, which counts as a receive on SQS, and leaves those that "+
		"consumers hold.\n\nOn Kafka, the topic's records go for all of its groups, which needs --shared if there are "+
		"others; `godwit rewind CHANNEL --to end` skips them for one group.", "docs/operations.md")
	return cmd
}

// read turns the flags into options.
func (o *purgeOptions) read(ctx context.Context) (err error) {
	if err := o.output.Check(); err != nil {
		return err
	}
	if o.discard.Select, err = o.sel.Selection(ctx); err != nil {
		return err
	}
	o.discard.Dry = !o.yes
	switch d := &o.discard; {
	case d.Most < 0:
		return fmt.Errorf("--most is %d: it cannot be negative; 0 is no limit", d.Most)
	case d.PerSecond < 0:
		return fmt.Errorf("--rate is %g: it cannot be negative; 0 is no limit", d.PerSecond)
	case d.Select.IsZero() && (d.Most > 0 || d.PerSecond > 0):
		return errors.New("--most and --rate are for messages that a condition selects: without one, all are deleted at once")
	case !d.Select.IsZero() && o.shared:
		return errors.New("--shared is for all messages: with a condition, a group of Kafka only passes over the messages")
	}
	return nil
}

// purged is a purged channel in JSON.
type purged struct {
	Channel  string   `json:"channel"`
	Messages int64    `json:"messages"`
	Others   []string `json:"others,omitempty"` // consumer groups that lose the messages, too
	Done     bool     `json:"done"`             // false: a dry run
	Looked   int64    `json:"looked,omitempty"` // with a condition
	Unread   int64    `json:"unread,omitempty"` // that stay, because their bodies could not be read
}

// run purges, or prints what would happen.
func (o *purgeOptions) run(ctx context.Context, b driver.Backend, channel string, out, errOut io.Writer) error {
	if o.yes {
		if err := askMany(ctx, b, channel, "delete them"); err != nil {
			return err
		}
	}
	r, err := ops.Purge(ctx, b, channel, &ops.PurgeOptions{Dry: !o.yes, Shared: o.shared})
	if err != nil {
		return err
	}
	v := purged{Channel: r.Channel.String(), Messages: r.Messages, Others: r.Others, Done: o.yes}
	t := screen.Table{
		Head: []string{"CHANNEL", "MESSAGES", "ALSO LOST BY"},
		Rows: [][]string{{v.Channel, strconv.FormatInt(v.Messages, 10), strings.Join(v.Others, ", ")}},
	}
	if err := o.output.Print(out, t, []any{v}); err != nil {
		return err
	}
	flags := "--yes"
	if len(v.Others) > 0 {
		flags = "--shared --yes"
	}
	if o.yes {
		fmt.Fprintf(errOut, "done: about %d messages of %s are deleted\n", v.Messages, v.Channel)
	} else {
		fmt.Fprintf(errOut, "nothing was changed: about %d messages of %s would be deleted; add %s to do it\n",
			v.Messages, v.Channel, flags)
	}
	return nil
}

// part deletes the messages that are selected, or prints what would happen.
func (o *purgeOptions) part(ctx context.Context, b driver.Backend, channel string, out, errOut io.Writer) error {
	if o.yes {
		if err := askMany(ctx, b, channel, "delete those that are selected"); err != nil {
			return err
		}
	}
	p := screen.NewProgress(errOut)
	o.discard.Progress = func(r *ops.DiscardResult) {
		p.At(r.Looked, shareOf(r.Looked, r.Waiting), fmt.Sprintf("%d of about %d looked at, %d selected", r.Looked,
			r.Waiting, r.Discarded))
	}
	r, err := ops.Discard(ctx, b, channel, &o.discard)
	p.End()
	if err != nil && r.Looked == 0 {
		return err
	}
	v := purged{
		Channel: channel, Messages: r.Discarded, Done: o.yes, Looked: r.Looked, Unread: r.Unread,
	}
	t := screen.Table{
		Head: []string{"CHANNEL", "LOOKED AT", "MESSAGES"},
		Rows: [][]string{{channel, strconv.FormatInt(v.Looked, 10), strconv.FormatInt(v.Messages, 10)}},
	}
	if err := errors.Join(err, o.output.Print(out, t, []any{v})); err != nil {
		return err
	}
	if r.Unread > 0 {
		fmt.Fprintf(errOut, "%d messages stay, because their bodies could not be read\n", r.Unread)
	}
	switch {
	case r.Discarded == 0:
		return fmt.Errorf("%w: none of %d messages was selected", errNothing, r.Looked)
	case o.yes:
		fmt.Fprintf(errOut, "done: %d messages of %s are deleted\n", r.Discarded, channel)
	default:
		fmt.Fprintf(errOut, "nothing was changed: %d messages of %s would be deleted; add --yes to do it\n", r.Discarded,
			channel)
	}
	if r.Unread > 0 {
		return &partError{fmt.Sprintf("%d messages could not be read", r.Unread)}
	}
	return nil
}

// rmOptions are the flags of `godwit rm`.
type rmOptions struct {
	backend  backendFlags
	output   screen.Output
	messages bool
	yes      bool
}

func newRm() *cobra.Command {
	var o rmOptions
	cmd := &cobra.Command{
		Use:   "rm CHANNEL",
		Short: "Delete a channel that Godwit has made",
		Long: "Delete a channel that Godwit has made: a queue with its subscription, an exchange without queues, or dead\n" +
			"letters. The dead letters of a queue stay. Without --yes, it only prints what would be deleted. A consumer or\n" +
			"producer that runs may create the channel again.",
		Example: "  godwit rm orders\n  godwit rm orders@dlq --messages --yes",
		Args:    oneChannel,
	}
	cmd.RunE = onChannel(&o.backend, &o.output, o.run)
	o.backend.add(cmd)
	o.output.Add(cmd)
	cmd.Flags().BoolVar(&o.messages, "messages", false, "also if there are messages in it, which are lost")
	addYes(cmd, &o.yes)
	return cmd
}

// removed is a removed channel in JSON.
type removed struct {
	Channel   string   `json:"channel"`
	Resources []string `json:"resources"`
	Messages  int64    `json:"messages"`
	Done      bool     `json:"done"` // false: a dry run
}

// run removes, or prints what would happen.
func (o *rmOptions) run(ctx context.Context, b driver.Backend, channel string, out, errOut io.Writer) error {
	if o.yes && o.messages {
		if err := askMany(ctx, b, channel, "delete them with it"); err != nil {
			return err
		}
	}
	r, err := ops.Remove(ctx, b, channel, &ops.RemoveOptions{Dry: !o.yes, Messages: o.messages})
	if err != nil {
		return err
	}
	v := removed{Channel: r.Channel.String(), Resources: r.Resources, Messages: r.Messages, Done: o.yes}
	t := screen.Table{Head: []string{"RESOURCE"}}
	for _, resource := range r.Resources {
		t.Rows = append(t.Rows, []string{resource})
	}
	if err := o.output.Print(out, t, []any{v}); err != nil {
		return err
	}
	if o.yes {
		fmt.Fprintf(errOut, "done: %s is deleted, with %d messages\n", v.Channel, v.Messages)
		return nil
	}
	flags := []string{"--yes"}
	if v.Messages > 0 {
		flags = []string{"--messages", "--yes"}
	}
	fmt.Fprintf(errOut, "nothing was changed: %s would be deleted, with %d messages; add %s to do it\n", v.Channel,
		v.Messages, strings.Join(flags, " "))
	return nil
}

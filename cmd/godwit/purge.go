package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// purgeOptions are the flags of `godwit purge`.
type purgeOptions struct {
	backend backendFlags
	output  screen.Output
	shared  bool
	yes     bool
}

func newPurge() *cobra.Command {
	var o purgeOptions
	cmd := &cobra.Command{
		Use:   "purge CHANNEL",
		Short: "Delete all messages of a channel, or of dead letters",
		Long: "Delete all messages of a channel, or of dead letters.\n\n" +
			"Without --yes, it only prints how many there are. Messages that consumers hold are deleted, too.\n" +
			"On Kafka, the topic's records are deleted for all of its groups, which needs --shared if there are others;\n" +
			"to skip them for one group, use `godwit rewind CHANNEL --to end`.",
		Example: "  godwit purge orders@dlq\n  godwit purge orders@dlq --yes",
		Args:    oneChannel,
	}
	cmd.RunE = onChannel(&o.backend, &o.output, o.run)
	o.backend.add(cmd)
	o.output.Add(cmd)
	cmd.Flags().BoolVar(&o.shared, "shared", false, "also if other groups of Kafka lose the messages")
	addYes(cmd, &o.yes)
	return cmd
}

// purged is a purged channel in JSON.
type purged struct {
	Channel  string   `json:"channel"`
	Messages int64    `json:"messages"`
	Others   []string `json:"others,omitempty"` // consumer groups that lose the messages, too
	Done     bool     `json:"done"`             // false: a dry run
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

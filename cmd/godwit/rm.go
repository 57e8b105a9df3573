package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// rmOptions are the flags of `godwit rm`.
type rmOptions struct {
	backend  backendFlags
	output   output
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
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.output.check(); err != nil {
				return usage(cmd, err)
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				return o.run(ctx, b, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	o.backend.add(cmd)
	o.output.add(cmd)
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
	r, err := ops.Remove(ctx, b, channel, &ops.RemoveOptions{Dry: !o.yes, Messages: o.messages})
	if err != nil {
		return err
	}
	v := removed{Channel: r.Channel.String(), Resources: r.Resources, Messages: r.Messages, Done: o.yes}
	t := table{head: []string{"RESOURCE"}}
	for _, resource := range r.Resources {
		t.rows = append(t.rows, []string{resource})
	}
	if err := o.output.print(out, t, []any{v}); err != nil {
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

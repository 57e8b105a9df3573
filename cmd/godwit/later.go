package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// laterOf is the name of the channel in which the messages of another one wait for their time.
func laterOf(channel string) string {
	channel = strings.TrimSuffix(strings.TrimSuffix(channel, "@later"), ".*")
	return channel + "@later"
}

func newLater() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "later",
		Short: "Show, cancel and send on messages that wait for their time",
		Long:  "Show, cancel and send on messages of a channel that wait for their time.",
		Args:  subcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLaterLs(), newLaterCancel(), newLaterNow())
	return cmd
}

// laterLsOptions are the flags of `godwit later ls`.
type laterLsOptions struct {
	backend backendFlags
	output  screen.Output
	most    int
}

func newLaterLs() *cobra.Command {
	var o laterLsOptions
	cmd := &cobra.Command{
		Use:   "ls CHANNEL",
		Short: "Show the messages of a channel that wait for their time",
		Long: "Show the messages of a channel that wait for their time, the first one that is due first: on Kafka and the\n" +
			"local server each with its time. SQS shows no message that is hidden, so that only the number of its messages\n" +
			"is known.",
		Example: "  godwit later ls orders\n  godwit later ls 'wishlist_events.*' -o json",
		Args:    oneChannel,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.most <= 0 {
				return usage(cmd, fmt.Errorf("--most is %d: it must be positive", o.most))
			}
			return onChannel(&o.backend, &o.output, o.run)(cmd, args)
		},
	}
	o.backend.add(cmd)
	o.output.Add(cmd)
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.IntVarP(&o.most, "most", "n", 100, "show at most so many messages")
	})
	return cmd
}

// waiting is a message that waits in JSON. Without an id, it stands for all messages, none of which can be seen.
type waiting struct {
	Channel string     `json:"channel"`
	ID      string     `json:"id,omitempty"`
	Due     *time.Time `json:"due,omitempty"`
	Key     string     `json:"key,omitempty"`
	Bytes   int64      `json:"bytes,omitempty"`
	Type    string     `json:"type,omitempty"`
	Count   int64      `json:"count"`
	// Cancellable: godwit later cancel cancels it by its id.
	Cancellable bool `json:"cancellable,omitempty"`
}

func (o *laterLsOptions) run(ctx context.Context, b driver.Backend, channel string, out, errOut io.Writer) error {
	entries, err := ops.Peek(ctx, b, laterOf(channel), &ops.PeekOptions{Most: o.most})
	_, missing := errors.AsType[*ops.NoChannelError](err)
	switch {
	case missing:
		if _, err := ops.Find(ctx, b, strings.TrimSuffix(channel, "@later")); err != nil {
			return err
		}
		return o.nothing(channel)
	case errors.Is(err, ops.ErrMustReceive):
		return o.count(ctx, b, channel, out, errOut)
	case err != nil:
		return err
	case len(entries) == 0:
		return o.nothing(channel)
	}
	slices.SortStableFunc(entries, func(a, b ops.Entry) int { return a.Due.Compare(b.Due) })
	t := screen.Table{
		Head:  []string{"DUE", "ID", "KEY", "BYTES", "CANCELLABLE", "TYPE"},
		Spare: []string{"TYPE", "BYTES", "KEY", "CANCELLABLE"},
	}
	var values []any
	for i := range entries {
		e := &entries[i]
		v := waiting{
			Channel: laterOf(channel), ID: e.ID, Key: e.OrderKey, Bytes: int64(len(e.Delivery.Body)), Type: e.Type,
			Count: 1, Cancellable: e.Cancellable,
		}
		if e.Opener != nil {
			v.Bytes = e.Size
		}
		due, cancellable := "unknown", "no"
		if !e.Due.IsZero() {
			v.Due, due = &e.Due, e.Due.UTC().Format(time.RFC3339)
		}
		if e.Cancellable {
			cancellable = "yes"
		}
		t.Rows = append(t.Rows, []string{
			due, printable(e.ID), printable(e.OrderKey), strconv.FormatInt(v.Bytes, 10), cancellable, printable(e.Type),
		})
		values = append(values, v)
	}
	if err := o.all(ctx, b, channel, len(entries), errOut); err != nil {
		return err
	}
	return o.output.Print(out, t, values)
}

// all says how many messages there are, if not all of them are shown.
func (o *laterLsOptions) all(ctx context.Context, b driver.Backend, channel string, shown int, errOut io.Writer) error {
	inspect := driver.OperationsOf(b).Inspect
	if shown < o.most || inspect == nil {
		return nil
	}
	found, err := ops.Find(ctx, b, laterOf(channel))
	if err != nil {
		return err
	}
	depth, err := inspect(ctx, found.Channel)
	if n := depth.All(); err == nil && n > int64(shown) {
		fmt.Fprintf(errOut, "%d of %d messages are shown: show more with --most\n", shown, n)
	}
	return err
}

func (o *laterLsOptions) nothing(channel string) error {
	return fmt.Errorf("%w: no message of %s waits for its time", errNothing, channel)
}

// count shows how many messages wait, where none can be seen.
func (o *laterLsOptions) count(ctx context.Context, b driver.Backend, channel string, out, errOut io.Writer) error {
	found, err := ops.Find(ctx, b, laterOf(channel))
	if err != nil {
		return err
	}
	inspect := driver.OperationsOf(b).Inspect
	if inspect == nil {
		return fmt.Errorf("%s: the backend does not count messages", channel)
	}
	depth, err := inspect(ctx, found.Channel)
	switch {
	case err != nil:
		return err
	case depth.All() == 0:
		return o.nothing(channel)
	}
	fmt.Fprintln(errOut, "SQS shows no message that is hidden until its time: their times and ids are unknown")
	return o.output.Print(out, screen.Table{
		Head: []string{"CHANNEL", "COUNT"}, Rows: [][]string{{laterOf(channel), strconv.FormatInt(depth.All(), 10)}},
	}, []any{waiting{Channel: laterOf(channel), Count: depth.All()}})
}

// laterCancelOptions are the flags of `godwit later cancel`.
type laterCancelOptions struct {
	backend backendFlags
	output  screen.Output
}

func newLaterCancel() *cobra.Command {
	var o laterCancelOptions
	cmd := &cobra.Command{
		Use:   "cancel CHANNEL ID",
		Short: "Cancel a message that waits for its time",
		Long: "Cancel a message that waits for its time, by the id in the receipt of its producer. The answers \"cancelled\" and\n" +
			"\"too late\" are final. If the command fails, the answer is unknown: call it again.",
		Example: "  godwit later cancel orders \\\n" +
			"    orders.1803891600.4f1c09ab.K5LZQX2M7R4T6WYJ3HDNBVAC5E \\\n" +
			"    --decisions s3://acme-prod/decisions/",
		Args: channelAndID,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return onChannel(&o.backend, &o.output, func(
			ctx context.Context, b driver.Backend, channel string, out, errOut io.Writer,
		) error {
			return o.run(ctx, b, channel, args[1], out)
		})(cmd, args)
	}
	o.backend.add(cmd)
	o.output.Add(cmd)
	o.backend.addDecisions(cmd)
	return cmd
}

// channelAndID are the arguments of commands about one message that waits.
func channelAndID(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return usage(cmd, fmt.Errorf("name a channel and the id of a message: got %d arguments", len(args)))
	}
	return nil
}

// cancelledMessage is the answer about a message in JSON.
type cancelledMessage struct {
	Channel   string `json:"channel"`
	ID        string `json:"id"`
	Cancelled bool   `json:"cancelled"`
}

func (o *laterCancelOptions) run(ctx context.Context, b driver.Backend, channel, id string, out io.Writer) error {
	cancel := driver.OperationsOf(b).Cancel
	if cancel == nil {
		return errors.New("messages cannot be cancelled: with SNS and SQS, name the decisions of their producer with " +
			"--decisions")
	}
	found, err := ops.Find(ctx, b, channel)
	if err != nil {
		return err
	}
	v := cancelledMessage{Channel: channel, ID: id}
	if v.Cancelled, err = cancel(ctx, found.Channel, id); err != nil {
		return err
	}
	answer := "too late"
	if v.Cancelled {
		answer = "cancelled"
	}
	err = o.output.Print(out, screen.Table{
		Head: []string{"CHANNEL", "ID", "ANSWER"}, Rows: [][]string{{printable(channel), printable(id), answer}},
	}, []any{v})
	if err == nil && !v.Cancelled {
		return errFindings
	}
	return err
}

// laterNowOptions are the flags of `godwit later now`.
type laterNowOptions struct {
	backend backendFlags
	output  screen.Output
}

func newLaterNow() *cobra.Command {
	var o laterNowOptions
	cmd := &cobra.Command{
		Use:   "now CHANNEL ID",
		Short: "Send on a message that waits for its time",
		Long: "Send on a message that waits for its time, by the id that godwit later ls shows. The answer \"sent on\" is\n" +
			"final: a consumer of the channel sends it on, at once if one runs. \"too late\" says that it was sent on or\n" +
			"cancelled before. On Kafka only, because SQS receives no message that is hidden.",
		Example: "  godwit later now orders orders.later/0/17",
		Args:    channelAndID,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return onChannel(&o.backend, &o.output, func(
			ctx context.Context, b driver.Backend, channel string, out, errOut io.Writer,
		) error {
			return o.run(ctx, b, channel, args[1], out)
		})(cmd, args)
	}
	o.backend.add(cmd)
	o.output.Add(cmd)
	return cmd
}

// nowMessage is the answer about a message in JSON.
type nowMessage struct {
	Channel string `json:"channel"`
	ID      string `json:"id"`
	Sent    bool   `json:"sent"`
}

func (o *laterNowOptions) run(ctx context.Context, b driver.Backend, channel, id string, out io.Writer) error {
	send := driver.OperationsOf(b).SendNow
	if send == nil {
		return errors.New("SQS cannot send on a message before its time: it is hidden, and nothing can receive it: cancel " +
			"it (godwit later cancel), and send another one")
	}
	found, err := ops.Find(ctx, b, channel)
	if err != nil {
		return err
	}
	v := nowMessage{Channel: channel, ID: id}
	if v.Sent, err = send(ctx, found.Channel, id); err != nil {
		return err
	}
	answer := "too late"
	if v.Sent {
		answer = "sent on"
	}
	err = o.output.Print(out, screen.Table{
		Head: []string{"CHANNEL", "ID", "ANSWER"}, Rows: [][]string{{printable(channel), printable(id), answer}},
	}, []any{v})
	if err == nil && !v.Sent {
		return errFindings
	}
	return err
}

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
		Long: "Show the messages of a channel that wait for their time, in the order of these times: on Kafka and the\n" +
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

// ending is a command that ends the wait of one message: it asks the backend about its id, and prints the answer.
type ending struct {
	backend backendFlags
	output  screen.Output

	// ask is the operation; nil: the backend has none, for the reason missing.
	ask     func(do driver.Operations) func(ctx context.Context, of driver.Channel, id string) (bool, error)
	missing string
	done    string // the answer if it was not too late
	// answer is the answer in JSON.
	answer func(channel, id string, done bool) any
}

// command adds what both commands have.
func (e *ending) command(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) != 2 {
			return usage(cmd, fmt.Errorf("name a channel and the id of a message: got %d arguments", len(args)))
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return onChannel(&e.backend, &e.output, func(
			ctx context.Context, b driver.Backend, channel string, out, errOut io.Writer,
		) error {
			return e.run(ctx, b, channel, args[1], out)
		})(cmd, args)
	}
	e.backend.add(cmd)
	e.output.Add(cmd)
	return cmd
}

func (e *ending) run(ctx context.Context, b driver.Backend, channel, id string, out io.Writer) error {
	ask := e.ask(driver.OperationsOf(b))
	if ask == nil {
		return errors.New(e.missing)
	}
	found, err := ops.Find(ctx, b, channel)
	if err != nil {
		return err
	}
	done, err := ask(ctx, found.Channel, id)
	if err != nil {
		return err
	}
	answer := "too late"
	if done {
		answer = e.done
	}
	err = e.output.Print(out, screen.Table{
		Head: []string{"CHANNEL", "ID", "ANSWER"}, Rows: [][]string{{printable(channel), printable(id), answer}},
	}, []any{e.answer(channel, id, done)})
	if err == nil && !done {
		return errFindings
	}
	return err
}

// cancelledMessage is the answer about a message in JSON, and nowMessage that of `godwit later now`.
type (
	cancelledMessage struct {
		Channel   string `json:"channel"`
		ID        string `json:"id"`
		Cancelled bool   `json:"cancelled"`
	}
	nowMessage struct {
		Channel string `json:"channel"`
		ID      string `json:"id"`
		Sent    bool   `json:"sent"`
	}
)

func newLaterCancel() *cobra.Command {
	e := ending{
		ask: func(do driver.Operations) func(context.Context, driver.Channel, string) (bool, error) {
			return do.Cancel
		},
		missing: "messages cannot be cancelled: with SNS and SQS, name the decisions of their producer with " +
			"--decisions",
		done:   "cancelled",
		answer: func(channel, id string, done bool) any { return cancelledMessage{channel, id, done} },
	}
	cmd := e.command(&cobra.Command{
		Use:   "cancel CHANNEL ID",
		Short: "Cancel a message that waits for its time",
		Long: "Cancel a message that waits for its time, by the id in the receipt of its producer. The answers \"cancelled\" and\n" +
			"\"too late\" are final. If the command fails, the answer is unknown: call it again.",
		Example: "  godwit later cancel orders \\\n" +
			"    orders.1803891600.4f1c09ab.K5LZQX2M7R4T6WYJ3HDNBVAC5E \\\n" +
			"    --decisions s3://acme-prod/decisions/",
	})
	e.backend.addDecisions(cmd)
	return cmd
}

func newLaterNow() *cobra.Command {
	e := ending{
		ask: func(do driver.Operations) func(context.Context, driver.Channel, string) (bool, error) {
			return do.SendNow
		},
		missing: "SQS cannot send on a message before its time: it is hidden, and nothing can receive it: cancel " +
			"it (godwit later cancel), and send another one",
		done:   "sent on",
		answer: func(channel, id string, done bool) any { return nowMessage{channel, id, done} },
	}
	return e.command(&cobra.Command{
		Use:   "now CHANNEL ID",
		Short: "Send on a message that waits for its time",
		Long: "Send on a message that waits for its time, by the id that godwit later ls shows. The answer \"sent on\" is\n" +
			"final: a consumer of the channel sends it on, at once if one runs. \"too late\" says that it was sent on or\n" +
			"cancelled before. On Kafka only, because SQS receives no message that is hidden.",
		Example: "  godwit later now orders orders.later/0/17",
	})
}

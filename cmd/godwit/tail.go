package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// tailOptions are the flags of `godwit tail`.
type tailOptions struct {
	backend backendFlags
	output  screen.Output
	since   string
	most    int // messages; 0: no limit
	tail    ops.TailOptions
}

func newTail() *cobra.Command {
	var o tailOptions
	cmd := &cobra.Command{
		Use:   "tail CHANNEL",
		Short: "Show messages as they come, and take none from consumers",
		Long: "Show messages as they come, and take none from consumers, until it is interrupted.\n\n" +
			"Kafka's topics are read outside of all groups, also from an earlier time or id on. Of an exchange of SNS,\n" +
			"copies come to a temporary queue, which is deleted at the end; if the command is killed, `godwit sweep` finds\n" +
			"the queue. A queue on the local server is looked at five times a second, so what is handled in between is not\n" +
			"shown. A queue of SQS cannot be followed: each of its messages goes to one receiver.",
		Example: "  godwit tail 'events.*' --routing-prefix MAIL.\n" +
			"  godwit tail orders --since 2h -n 100 -o jsonl\n  godwit tail orders --id orders/3/1200",
		Args: oneChannel,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(o.output.Check(), o.read(args[0], time.Now())); err != nil {
				return usage(cmd, err)
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				return o.run(ctx, b, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	o.backend.add(cmd)
	o.backend.addStore(cmd)
	o.output.Add(cmd)
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&o.since, "since", "", "begin earlier: at a `time` (RFC 3339), or a duration back from now")
		f.StringVar(&o.tail.From.ID, "id", "",
			"begin with the message of this `id`; on Kafka TOPIC/PARTITION/OFFSET, and only that partition is read")
		f.IntVarP(&o.most, "most", "n", 0, "end after so many messages; 0: no limit")
		f.StringSliceVar(&o.tail.Filter.Prefix, "routing-prefix", nil,
			"of an exchange, only messages whose routing keys begin so; may be repeated")
	})
	return cmd
}

// read reads the flags.
func (o *tailOptions) read(channel string, now time.Time) (err error) {
	switch {
	case o.output == screen.AsJSON:
		return errors.New("--output json is one list, and tail has no end: use --output jsonl")
	case o.most < 0:
		return fmt.Errorf("--most is %d: it cannot be negative; 0 is no limit", o.most)
	case len(o.tail.Filter.Prefix) > 0 && !ofExchange(channel):
		return fmt.Errorf("--routing-prefix is for an exchange and its channels, such as 'events.*': messages of %s have no "+
			"routing keys", channel)
	case o.since != "" && o.tail.From.ID != "":
		return errors.New("--since and --id both say where to begin: use one of them")
	case o.since != "":
		o.tail.From.Time, err = parseSince(o.since, now)
	}
	return err
}

// errShown ends a tail that has shown enough.
var errShown = errors.New("enough was shown")

// run shows messages until ctx ends, enough were shown, or nobody reads any more.
func (o *tailOptions) run(ctx context.Context, b driver.Backend, channel string, out, errOut io.Writer) error {
	o.tail.Begun = func(how string) { fmt.Fprintf(errOut, "following %s: %s; interrupt to end\n", channel, how) }
	shown := 0
	err := ops.Tail(ctx, b, channel, &o.tail, func(es []ops.Entry) error {
		for i := range es {
			if !o.wanted(&es[i]) {
				continue
			}
			if err := o.show(channel, &es[i], out); err != nil {
				return err
			}
			if shown++; shown == o.most {
				return errShown
			}
		}
		return nil
	})
	if left, ok := errors.AsType[*ops.LeftError](err); ok {
		return left
	}
	switch {
	case errors.Is(err, errShown):
		err = nil
	case ctx.Err() != nil:
		fmt.Fprintf(errOut, "%d messages were shown\n", shown)
		err = nil
	}
	return missing(err)
}

// wanted reports whether a message passes the filter. SNS sends no others, and elsewhere nothing else looks at it.
func (o *tailOptions) wanted(e *ops.Entry) bool {
	for _, prefix := range o.tail.Filter.Prefix {
		if strings.HasPrefix(e.RoutingKey, prefix) {
			return true
		}
	}
	return len(o.tail.Filter.Prefix) == 0
}

// show prints one message in one line.
func (o *tailOptions) show(channel string, e *ops.Entry, out io.Writer) error {
	if o.output == screen.AsJSONLines {
		return json.NewEncoder(out).Encode(ops.NewRecord(channel, e))
	}
	var line strings.Builder
	fmt.Fprintf(&line, "%s  %s", e.SentAt.UTC().Format("2006-01-02 15:04:05.000"), e.ID)
	for _, one := range []struct{ name, value string }{
		{"key", e.OrderKey + e.Tenant},
		{"routing", e.RoutingKey},
		{"type", e.Type},
		{"died", e.Kind()},
		{"of", e.Reason()},
	} {
		if one.value != "" {
			fmt.Fprintf(&line, "  %s=%s", one.name, one.value)
		}
	}
	switch {
	case e.Err != nil:
		fmt.Fprintf(&line, "  cannot be decoded: %v", e.Err)
	case e.Opener != nil:
		fmt.Fprintf(&line, "  (%d bytes in the store)", e.Size)
	default:
		fmt.Fprintf(&line, "  %s", glimpse(e.Delivery.Body))
	}
	_, err := fmt.Fprintln(out, printable(line.String()))
	return err
}

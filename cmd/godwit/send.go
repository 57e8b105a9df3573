package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/cmd/godwit/internal/compose"
	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// sendOptions are the flags of `godwit send`.
type sendOptions struct {
	backend   backendFlags
	output    screen.Output
	file      string // of one body; "-": standard input
	lines     string // a file with a message in each line
	headers   []string
	count     int
	templates bool
	rate      float64 // messages a second; 0: no limit
	create    bool
	ordered   bool
	at        string // a time; "": at once
	message   godwit.Message
}

func newSend() *cobra.Command {
	var o sendOptions
	cmd := &cobra.Command{
		Use:   "send CHANNEL [BODY]",
		Short: "Send messages to a channel, and print their ids",
		Long: "Send messages to a channel, and print their ids.\n\n" +
			"The body is the argument, a file, or standard input. With --jsonl each line of a file is a message.",
		Example: "  godwit send 'events.*' --routing-key MAIL.SENT --file event.json\n" +
			"  godwit send orders '{\"id\": {{.N}}}' --template --count 1000 --rate 50",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usage(cmd, fmt.Errorf("name one channel, such as orders, and at most one body: got %d arguments",
					len(args)))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(o.output.Check(), o.check(args[1:])); err != nil {
				return usage(cmd, err)
			}
			source, closeFile, err := o.source(args[1:], cmd.InOrStdin())
			if err != nil {
				return usage(cmd, err)
			}
			err = o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				return o.run(ctx, b, args[0], source, cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
			return errors.Join(err, closeFile())
		},
	}
	o.backend.add(cmd)
	o.backend.addStore(cmd)
	o.backend.addDecisions(cmd)
	o.output.Add(cmd)
	m := &o.message
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.StringVarP(&o.file, "file", "f", "", "a `file` with the body; -: standard input")
		f.StringVar(&o.lines, "jsonl", "", "a `file` with a message in each line; -: standard input")
		f.StringVar(&m.OrderKey, "key", "", "the order `key`")
		f.StringVar(&m.RoutingKey, "routing-key", "", "the routing `key`; by which consumers of an exchange select")
		f.StringVar(&m.DedupID, "dedup-id", "", "the `id` by which ordered channels know duplicates")
		f.StringArrayVar(&o.headers, "header", nil, "a header, as `name=value`; may be repeated")
		f.StringVar(&m.ContentType, "content-type", "", "the content `type`")
		f.StringVar(&m.Type, "type", "", "the `type` of the message")
		f.IntVar(&m.Version, "version", 0, "the version of its type")
		f.IntVarP(&o.count, "count", "n", 1, "send so `many` messages")
		f.BoolVar(&o.templates, "template", false, "body, keys and headers are templates")
	})
	f := cmd.Flags()
	f.DurationVar(&m.Delay, "delay", 0, "how long nobody can receive the message")
	f.StringVar(&o.at, "at", "", "the `time` from which the message can be received, such as 2027-03-01T09:00:00Z")
	f.BoolVar(&m.Cancellable, "cancellable", false, "print the id by which godwit later cancel cancels the message")
	f.DurationVar(&m.Expires, "expires", 0, "how long the message is worth handling")
	f.Float64Var(&o.rate, "rate", 0, "send at most so many messages a second; 0: no limit")
	f.BoolVar(&o.create, "create", false, "create what does not exist: the channel, or the queue for delays")
	f.BoolVar(&o.ordered, "ordered", false, "with --create, an ordered channel")
	manual.Rare(cmd, "cancellable", "dedup-id", "content-type", "version")
	manual.More(cmd, "With --jsonl, each line is an object:\n\n"+
		"  {\"body\": \"text, or any JSON\", \"order_key\": \"customer-7\",\n"+
		"   \"headers\": [{\"name\": \"a\", \"value\": \"b\"}]}\n\n"+
		"also with body_base64, routing_key, dedup_id, delay, at, type, version and content_type. With --template the body, the "+
		"keys and the headers are templates: {{.N}} is the number of the message, {{.Time}} its time, also as "+
		"{{printf \"%05d\" .N}}, {{.Time.Unix}} and {{.Time.Format \"15:04:05\"}}.", "")
	return cmd
}

// check checks the flags.
func (o *sendOptions) check(body []string) error {
	if o.at != "" {
		var err error
		if o.message.At, err = time.Parse(time.RFC3339, o.at); err != nil {
			return fmt.Errorf("--at is %q: write a time such as 2027-03-01T09:00:00Z (RFC 3339)", o.at)
		}
	}
	given := len(body)
	for _, one := range []string{o.file, o.lines} {
		if one != "" {
			given++
		}
	}
	switch {
	case given > 1:
		return errors.New("the body is given more than once: use one of the argument, --file and --jsonl")
	case o.lines != "" && (o.templates || o.count != 1):
		return errors.New("--template and --count are for one body: with --jsonl, each line is a message")
	case o.count < 1:
		return fmt.Errorf("--count is %d: it must be at least 1", o.count)
	case o.rate < 0:
		return fmt.Errorf("--rate is %v: it cannot be negative; 0 is no limit", o.rate)
	case o.message.Delay < 0:
		return fmt.Errorf("--delay is %v: it cannot be negative", o.message.Delay)
	case o.message.Delay != 0 && !o.message.At.IsZero():
		return errors.New("--delay and --at are given: use one of them")
	case o.message.Expires < 0:
		return fmt.Errorf("--expires is %v: it cannot be negative", o.message.Expires)
	case o.message.Version < 0:
		return fmt.Errorf("--version is %d: it cannot be negative", o.message.Version)
	case o.ordered && !o.create:
		return errors.New("--ordered is for --create: of a channel that exists it is looked up")
	}
	for _, h := range o.headers {
		name, value, ok := strings.Cut(h, "=")
		if !ok || name == "" {
			return fmt.Errorf("--header is %q: write name=value", h)
		}
		o.message.Headers = o.message.Headers.With(name, value)
	}
	return nil
}

// source opens what is sent.
func (o *sendOptions) source(body []string, in io.Reader) (compose.Source, func() error, error) {
	nothing := func() error { return nil }
	open := func(flag, file string) (io.Reader, func() error, error) {
		if file == "-" {
			return in, nothing, nil
		}
		f, err := os.Open(file)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", flag, err)
		}
		return f, f.Close, nil
	}
	if o.lines != "" {
		r, end, err := open("--jsonl", o.lines)
		if err != nil {
			return nil, nil, err
		}
		return compose.Lines(r, o.message), end, nil
	}
	if len(body) > 0 {
		o.message.Body = []byte(body[0])
	} else {
		if o.file == "" {
			o.file = "-"
		}
		r, end, err := open("--file", o.file)
		if err != nil {
			return nil, nil, err
		}
		if o.message.Body, err = io.ReadAll(r); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("--file: %w", err), end())
		}
		if err := end(); err != nil {
			return nil, nil, err
		}
	}
	source, err := compose.Repeat(o.message, o.count, o.templates, time.Now)
	return source, nothing, err
}

// sentMessage is a sent message in JSON.
type sentMessage struct {
	ID        string `json:"id"`
	Duplicate bool   `json:"duplicate,omitempty"`
	CancelID  string `json:"cancel_id,omitempty"`
}

func (o *sendOptions) run(ctx context.Context, b driver.Backend, channel string, next compose.Source,
	out, errOut io.Writer,
) error {
	options := godwit.ProducerOptions{Ordered: o.ordered, Provision: godwit.ProvisionNever}
	switch found, err := ops.Find(ctx, b, channel); {
	case err == nil:
		options.Ordered = found.Channel.Ordered
		if o.create { // the queue in which messages wait for their time
			options.Provision = godwit.ProvisionAuto
		}
	case driver.ClassOf(err) == driver.NotFound && o.create:
		options.Provision = godwit.ProvisionAuto
	case driver.ClassOf(err) == driver.NotFound:
		return fmt.Errorf("%w (--create makes it)", err)
	default:
		return err
	}
	p, err := godwit.NewProducer(ctx, b, channel, &options)
	if errors.Is(err, godwit.ErrInvalid) {
		return &usageError{"godwit send", err}
	}
	if err != nil {
		return err
	}
	s := &sending{o: o, p: p, begun: time.Now()}
	err = errors.Join(s.all(ctx, next, out), p.Close(context.WithoutCancel(ctx)))
	if driver.ClassOf(err) == driver.NotFound && !o.create {
		err = fmt.Errorf("%w (--create makes it)", err)
	}
	if err != nil {
		err = fmt.Errorf("%w\n%d messages were sent before", err, s.sent)
	} else if s.sent > 1 || s.duplicates > 0 {
		fmt.Fprintf(errOut, "%d messages were sent to %s, %d of them duplicates, in %s\n", s.sent, channel, s.duplicates,
			screen.Ago(time.Since(s.begun)))
	}
	return err
}

// sending is a run of `godwit send`.
type sending struct {
	o                *sendOptions
	p                *godwit.Producer
	begun            time.Time
	sent, duplicates int
}

// inFlight is a message that is not answered yet.
type inFlight struct {
	receipt *godwit.Receipt
	result  *godwit.Result
}

// manyInFlight is how many messages are on their way at once.
const manyInFlight = 500

// all sends all messages, and prints their ids in their order. After an error nothing more is sent, and what is on its
// way is waited for.
func (s *sending) all(ctx context.Context, next compose.Source, out io.Writer) (err error) {
	var on []inFlight
	var ids []any
	answered := func() {
		one := on[0]
		on = on[1:]
		if failed := one.result.Wait(context.WithoutCancel(ctx)); failed != nil {
			err = errors.Join(err, failed)
			return
		}
		s.sent++
		if one.receipt.Duplicate {
			s.duplicates++
		}
		ids = append(ids, sentMessage{one.receipt.MessageID, one.receipt.Duplicate, one.receipt.ID})
		if s.o.output != screen.AsJSON {
			err = errors.Join(err, s.print(out, ids))
			ids = ids[:0]
		}
	}
	for n := 0; err == nil; n++ {
		m, end := next()
		if end != nil {
			if !errors.Is(end, io.EOF) {
				err = end
			}
			break
		}
		if err = s.wait(ctx, n); err != nil {
			break
		}
		m.Receipt = &godwit.Receipt{}
		r, failed := s.p.SendAsync(ctx, m)
		if failed != nil {
			if err = fmt.Errorf("message %d: %w", n+1, failed); n == 0 &&
				(errors.Is(failed, godwit.ErrInvalid) || driver.ClassOf(failed) == driver.Permanent) {
				err = &usageError{"godwit send", sendFlags(err)}
			}
			break
		}
		on = append(on, inFlight{m.Receipt, r})
		if len(on) == manyInFlight || s.o.rate > 0 && s.o.rate < manyInFlight {
			answered()
		}
	}
	for len(on) > 0 {
		answered()
	}
	if s.o.output == screen.AsJSON {
		err = errors.Join(err, s.print(out, ids))
	}
	return err
}

// sendFlags says the names of flags instead of those of a message's fields.
func sendFlags(err error) error {
	return errors.New(strings.NewReplacer("Message.DedupID", "--dedup-id", "Message.Delay", "--delay",
		"Message.At", "--at",
		"Message.OrderKey", "--key", "Message.RoutingKey", "--routing-key", "Message.Expires", "--expires",
		"Message.Headers", "--header", "Message.ContentType", "--content-type", "Message.Type", "--type",
		"Message.Version", "--version", "Message.Cancellable", "--cancellable",
		"set Delay or At", "set --delay or --at", "snssqs.Options.Decisions", "--decisions").Replace(err.Error()))
}

func (s *sending) print(out io.Writer, ids []any) error {
	if s.o.output != screen.AsTable {
		return s.o.output.Print(out, screen.Table{}, ids)
	}
	for _, id := range ids {
		m := id.(sentMessage)
		if _, err := fmt.Fprintln(out, cmp.Or(m.CancelID, m.ID)); err != nil {
			return err
		}
	}
	return nil
}

// wait waits until message n may be sent.
func (s *sending) wait(ctx context.Context, n int) error {
	if s.o.rate == 0 {
		return ctx.Err()
	}
	due := s.begun.Add(time.Duration(float64(n) / s.o.rate * float64(time.Second)))
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/cmd/godwit/internal/selection"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// peekOptions are the flags of `godwit peek`.
type peekOptions struct {
	backend backendFlags
	output  screen.Output
	sel     selection.Words
	choose  ops.Selection
	since   string
	groups  string
	all     bool // --most is not given
	peek    ops.PeekOptions
}

func newPeek() *cobra.Command {
	var o peekOptions
	cmd := &cobra.Command{
		Use:   "peek CHANNEL",
		Short: "Show messages of a channel, and leave them where they are",
		Long: "Show messages of a channel, and leave them where they are.\n\n" +
			"Kafka and the local server show messages without receiving them. SQS can only receive: with --receive, the\n" +
			"command polls for at most a second and releases everything at once.",
		Example: "  godwit peek orders@dlq --groups\n  godwit peek orders --since 2h --key customer-7 -o jsonl",
		Args:    oneChannel,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.all = !cmd.Flags().Changed("most")
			err := o.output.Check()
			if err == nil {
				err = o.read(cmd.Context(), time.Now())
			}
			if err != nil {
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
	manual.What(cmd, o.sel.Add)
	p := &o.peek
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.IntVarP(&p.Most, "most", "n", ops.DefaultPeek, "show at most so many messages")
		f.BoolVar(&p.From.Last, "last", false, "the last messages instead of the first")
		f.StringVar(&o.since, "since", "", "only messages since then: a `time` (RFC 3339), or a duration back from now")
		f.StringVar(&p.From.ID, "id", "", "only messages from the one with this `id` on")
		f.BoolVar(&p.From.Finished, "finished", false, "on Kafka, also messages that are finished")
	})
	f := cmd.Flags()
	f.StringVar(&o.groups, "groups", "", "count the messages by kind, type and `shape` of the error, or exact, "+
		"instead of showing them")
	f.Lookup("groups").NoOptDefVal = byShape
	f.BoolVar(&p.Receive, "receive", false, "on SQS, receive the messages and release them")
	manual.Rare(cmd, "attempts", "older", "newer", "id", "finished")
	manual.More(cmd, "With --receive, it counts as a receive of each message, and hides it from consumers for that time. "+
		"Conditions select among the first 10,000 messages.", "docs/operations.md")
	return cmd
}

// The values of --groups.
const (
	byShape = "shape"
	byText  = "exact"
)

// groupedMost is how many messages are grouped at most, unless --most says otherwise.
const groupedMost = 10_000

// read reads the flags.
func (o *peekOptions) read(ctx context.Context, now time.Time) error {
	if o.peek.Most <= 0 {
		return fmt.Errorf("--most is %d: it must be positive", o.peek.Most)
	}
	switch o.groups {
	case "":
	case byShape, byText:
		if o.all {
			o.peek.Most = groupedMost
		}
	default:
		return fmt.Errorf("--groups is %q: use --groups=%s or --groups=%s", o.groups, byShape, byText)
	}
	var err error
	if o.choose, err = o.sel.Selection(ctx); err != nil || o.since == "" {
		return err
	}
	o.peek.From.Time, err = parseSince(o.since, now)
	return err
}

// parseSince reads the value of --since: a time, or a duration back from now.
func parseSince(text string, now time.Time) (time.Time, error) {
	if back, err := selection.ParseSpan(text); err == nil && back > 0 {
		return now.Add(-back), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("--since is %q: use a time such as 2026-11-23T10:00:00Z, or a duration back from now such "+
			"as 2h or 3d", text)
	}
	if at.After(now) {
		return at, fmt.Errorf("--since is %s: it has not come yet; it is %s now", text, now.UTC().Format(time.RFC3339))
	}
	return at, nil
}

func (o *peekOptions) run(ctx context.Context, b driver.Backend, channel string, out, errOut io.Writer) error {
	entries, err := o.look(ctx, b, channel, errOut)
	switch {
	case errors.Is(err, ops.ErrMustReceive):
		return fmt.Errorf("%s: %w", channel, errors.New("SQS can only receive, which counts as a receive of each message "+
			"and hides it from consumers for about a second: add --receive to do it"))
	case err != nil && len(entries) == 0:
		return missing(err)
	case len(entries) == 0:
		if err = fmt.Errorf("%w: no message of %s can be seen now", errNothing, channel); o.output == screen.AsTable {
			return err
		}
	}
	if o.groups != "" {
		if len(entries) == o.peek.Most {
			fmt.Fprintf(errOut, "only %d messages were looked at: count more with --most\n", len(entries))
		}
		groups := ops.Groups
		if o.groups == byText {
			groups = ops.ExactGroups
		}
		return errors.Join(err, o.printGroups(groups(entries), out))
	}
	if o.output != screen.AsTable {
		values := make([]any, len(entries))
		for i := range entries {
			values[i] = ops.NewRecord(channel, &entries[i])
		}
		return errors.Join(err, o.output.Print(out, screen.Table{}, values))
	}
	for i := range entries {
		if _, failed := io.WriteString(out, describeEntry(ctx, &entries[i])); failed != nil {
			return errors.Join(err, failed)
		}
	}
	return err
}

// look returns the messages that are selected, among those that can be seen.
func (o *peekOptions) look(ctx context.Context, b driver.Backend, channel string, errOut io.Writer) (
	[]ops.Entry, error,
) {
	if o.choose.IsZero() {
		return ops.Peek(ctx, b, channel, &o.peek)
	}
	all := o.peek
	all.Most = max(o.peek.Most, groupedMost)
	entries, err := ops.Peek(ctx, b, channel, &all)
	if len(entries) == all.Most {
		fmt.Fprintf(errOut, "only %d messages were looked at: a message behind them may be selected, too\n", all.Most)
	}
	unread, now := 0, time.Now()
	entries = slices.DeleteFunc(entries, func(e ops.Entry) bool {
		selected, wrong := o.choose.Selects(ctx, &e, now)
		if wrong != nil {
			unread++
		}
		return !selected
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if unread > 0 {
		fmt.Fprintf(errOut, "%d messages have bodies that could not be read or tried, and are not shown\n", unread)
	}
	if more := len(entries) - o.peek.Most; more > 0 && o.peek.From.Last {
		entries = entries[more:]
	} else if more > 0 {
		entries = entries[:o.peek.Most]
	}
	return entries, err
}

// group is a group in JSON.
type group struct {
	ID    string     `json:"group,omitempty"`
	Kind  string     `json:"kind"`
	Type  string     `json:"type,omitempty"`
	Shape string     `json:"shape"`
	Error string     `json:"error"`
	Count int        `json:"count"`
	First *time.Time `json:"first,omitempty"`
	Last  *time.Time `json:"last,omitempty"`
}

func (o *peekOptions) printGroups(groups []ops.Group, out io.Writer) error {
	t := screen.Table{Head: []string{"COUNT", "GROUP", "KIND", "TYPE", "FIRST", "LAST", "ERROR"}}
	values := []any{}
	for _, g := range groups {
		v := group{ID: g.ID, Kind: g.Kind, Type: g.Type, Shape: g.Shape, Error: g.Error, Count: g.Count}
		first, last := "", ""
		if !g.First.IsZero() {
			v.First, v.Last = &g.First, &g.Last
			first, last = g.First.UTC().Format(time.DateTime), g.Last.UTC().Format(time.DateTime)
		}
		kind := g.Kind
		if kind == "" {
			kind = "unknown"
		}
		t.Rows = append(t.Rows, []string{
			strconv.Itoa(g.Count), g.ID, printable(kind), printable(g.Type), first, last, printable(g.Error),
		})
		values = append(values, v)
	}
	return o.output.Print(out, t, values)
}

// describeEntry is a message as a text for people.
func describeEntry(ctx context.Context, e *ops.Entry) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s", printable(e.ID))
	add := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&s, "  %s %s", name, printable(value))
		}
	}
	if !e.SentAt.IsZero() {
		add("sent", e.SentAt.UTC().Format(time.DateTime))
	}
	if e.Due.After(time.Now()) {
		add("due", e.Due.UTC().Format(time.DateTime))
	}
	add("key", e.OrderKey+e.Tenant)
	add("routing key", e.RoutingKey)
	add("type", e.Type)
	if n := e.Attempts(); n > 0 {
		add("attempts", strconv.Itoa(int(n)))
	}
	if e.Received > 0 {
		add("received", strconv.Itoa(int(e.Received)))
	}
	size := int64(len(e.Delivery.Body))
	if e.Opener != nil {
		size = e.Size
	}
	add("bytes", strconv.FormatInt(size, 10))
	s.WriteByte('\n')
	if o := e.Origin; o != nil {
		kind := o.Death.Kind
		if kind == "" {
			kind = "moved by the service, which gives no reason"
		}
		fmt.Fprintf(&s, "  died: %s", kind)
		add("of", o.Death.Error)
		add("in", o.Death.Consumer)
		if !o.Death.Last.IsZero() {
			add("at", o.Death.Last.UTC().Format(time.DateTime))
		}
		if o.Deaths > 1 {
			add("deaths", strconv.Itoa(o.Deaths))
		}
		s.WriteByte('\n')
	}
	for _, h := range e.Header {
		fmt.Fprintf(&s, "  header %s: %s\n", printable(h.Name), printable(h.Value))
	}
	if e.Err != nil {
		fmt.Fprintf(&s, "  cannot be decoded: %s\n", printable(e.Err.Error()))
	}
	body, err := e.Content(ctx)
	if err != nil {
		fmt.Fprintf(&s, "  %s\n\n", printable(err.Error()))
		return s.String()
	}
	for line := range strings.Lines(pretty(body)) {
		s.WriteString("  " + strings.TrimRight(line, "\n") + "\n")
	}
	s.WriteByte('\n')
	return s.String()
}

// bodyShown is how much of a body is shown; `godwit export` has all of it.
const bodyShown = 4 << 10

// pretty is a body for people: indented JSON, text, or a dump of bytes.
func pretty(body []byte) string {
	more := ""
	if len(body) > bodyShown {
		more = fmt.Sprintf("\n… and %d bytes more", len(body)-bodyShown)
	}
	var indented bytes.Buffer
	switch {
	case len(body) == 0:
		return "(an empty body)"
	case !utf8.Valid(body):
		return strings.TrimRight(hex.Dump(body[:min(len(body), bodyShown)]), "\n") + more
	case more == "" && json.Indent(&indented, body, "", "  ") == nil:
		return printableLines(indented.String())
	}
	return printableLines(strings.ToValidUTF8(string(body[:min(len(body), bodyShown)]), "")) + more
}

// printable is a text without line breaks and other characters that control a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '·'
	}, s)
}

func printableLines(s string) string {
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		lines = append(lines, printable(strings.ReplaceAll(line, "\t", "    ")))
	}
	return strings.Join(lines, "\n")
}

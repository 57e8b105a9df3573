package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/described"
	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// lsOptions are the flags of `godwit ls`.
type lsOptions struct {
	backend backendFlags
	output  screen.Output
	list    ops.ListOptions

	problems  bool
	tolerance time.Duration // of --problems
	sort      string
	noHead    bool
	times     bool // the table has the times of creation
	watch     bool
	every     time.Duration

	asked  time.Time       // when metrics were asked about delayed messages
	asleep map[string]bool // addresses of those that nobody wakes
}

func newLs() *cobra.Command {
	var o lsOptions
	cmd := &cobra.Command{
		Use:   "ls [PATTERN]",
		Short: "List the channels that exist, and what waits in them",
		Long: "List the channels that exist, and what waits in them.\n\n" +
			"Nothing is created or changed. Numbers are approximate where the service counts approximately.\n" +
			"On AWS, channels are found by the tags that Godwit sets; a change may show after a minute.\n" +
			"On Kafka, the names of topics and groups decide.",
		Example: "  godwit ls\n  godwit ls 'wishlist_events.*' --output jsonl\n  godwit ls --problems --sort age --watch",
		Args:    onePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(o.output.Check(), o.check()); err != nil {
				return usage(cmd, err)
			}
			if len(args) > 0 {
				o.list.Match = args[0]
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				if o.watch {
					return o.follow(ctx, b, cmd.OutOrStdout(), cmd.ErrOrStderr())
				}
				return o.run(ctx, b, cmd.OutOrStdout())
			})
		},
	}
	o.backend.add(cmd)
	o.output.Add(cmd)
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.BoolVar(&o.list.NoDepths, "no-depths", false, "do not count what waits, which saves a request a channel")
		f.BoolVar(&o.problems, "problems", false,
			"only channels with dead letters, with old messages, with delayed messages that nobody wakes, that are paused, "+
				"or that could not be looked at")
	})
	f := cmd.Flags()
	f.DurationVar(&o.tolerance, "tolerance", ops.DefaultTolerance, "how old messages may be before they are a problem")
	f.StringVar(&o.sort, "sort", byName, "the `order`: name, waiting (the most first) or age (the oldest first)")
	f.BoolVar(&o.times, "times", false, "also when the channels were created; --output json has it always")
	f.BoolVar(&o.noHead, "no-headers", false, "print the table without its head")
	f.BoolVarP(&o.watch, "watch", "w", false, "list again and again, until the command is interrupted")
	f.DurationVar(&o.every, "every", 5*time.Second, "the pause between two looks, with --watch")
	return cmd
}

// The values of --sort.
const (
	byName    = "name"
	byWaiting = "waiting"
	byAge     = "age"
)

// asksEvery is how often --watch asks the metrics of the service, which cost more than counts.
const asksEvery = 10 * time.Minute

// leastPause is the shortest pause between two looks: each costs a request a channel.
const leastPause = time.Second

func (o *lsOptions) check() error {
	switch {
	case o.sort != byName && o.sort != byWaiting && o.sort != byAge:
		return fmt.Errorf("--sort is %q: use %s, %s or %s", o.sort, byName, byWaiting, byAge)
	case o.list.NoDepths && (o.problems || o.sort != byName):
		return errors.New("--no-depths counts nothing, and --problems and --sort need the counts: remove one of them")
	case o.tolerance <= 0:
		return fmt.Errorf("--tolerance is %v: it must be positive", o.tolerance)
	case o.watch && o.output == screen.AsJSON:
		return errors.New("--watch has no end, and --output json is one list: use --output jsonl")
	case o.every < leastPause:
		return fmt.Errorf("--every is %v: it must be at least %v", o.every, leastPause)
	}
	return nil
}

// follow lists again and again. On a terminal, each list replaces the one before.
func (o *lsOptions) follow(ctx context.Context, b driver.Backend, out, errOut io.Writer) error {
	tick := time.NewTicker(o.every)
	defer tick.Stop()
	for {
		if terminal := screen.TerminalOf(out); terminal != nil && o.output == screen.AsTable {
			fmt.Fprint(terminal, "\x1b[H\x1b[2J")
		}
		if err := o.run(ctx, b, out); err != nil && ctx.Err() == nil {
			fmt.Fprintf(errOut, "godwit: %v\n", err) // it may pass
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if o.output == screen.AsTable {
			fmt.Fprintln(out)
		}
	}
}

// problem is the color of what somebody should look at in a channel; 0: nothing is wrong.
func (o *lsOptions) problem(l *ops.Listed) screen.Color {
	switch {
	case l.Err != nil, l.Asleep, l.Channel.DeadLetter && l.Depth.Waiting > 0:
		return screen.Red
	case l.Channel.Queue != "" && l.Depth.Waiting > 0 && l.Depth.Oldest > o.tolerance:
		return screen.Yellow
	case l.Paused:
		return screen.Magenta
	}
	return 0
}

// arrange selects and sorts channels.
func (o *lsOptions) arrange(all []ops.Listed) []ops.Listed {
	if o.problems {
		all = slices.DeleteFunc(all, func(l ops.Listed) bool { return o.problem(&l) == 0 })
	}
	slices.SortStableFunc(all, func(a, b ops.Listed) int {
		switch o.sort {
		case byWaiting:
			return cmp.Compare(b.Depth.Waiting, a.Depth.Waiting)
		case byAge:
			return cmp.Compare(ageOf(b), ageOf(a))
		}
		return 0 // they are by name
	})
	return all
}

// ageOf is the age of the oldest message that waits; negative: there is none, or it is unknown.
func ageOf(l ops.Listed) time.Duration {
	if l.Depth.Waiting == 0 {
		return -1
	}
	return l.Depth.Oldest
}

// onePattern checks the arguments of a command that takes a pattern of channels, or none.
func onePattern(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage(cmd, errors.New("one pattern at most: quote it, so that the shell does not expand it"))
	}
	if len(args) == 1 {
		if _, err := path.Match(args[0], ""); err != nil {
			return usage(cmd, fmt.Errorf("the pattern %q: '*' stands for any text, '?' for one letter, and '[' needs a ']'",
				args[0]))
		}
	}
	return nil
}

// run lists the channels of a backend. Channels that could not be looked at are an error, after the list.
func (o *lsOptions) run(ctx context.Context, b driver.Backend, out io.Writer) error {
	all, err := o.look(ctx, b)
	if err != nil {
		return err
	}
	var nothing error
	if len(all) == 0 {
		if nothing = noChannels(ctx, b, o.list.Match); o.output == screen.AsTable || !errors.Is(nothing, errNothing) {
			return nothing
		}
	}
	t := screen.Table{
		Head:   []string{"CHANNEL", "ROLE", "WAITING", "IN FLIGHT", "DELAYED", "OLDEST", "NOTES"},
		Spare:  []string{"CREATED", "DELAYED", "NOTES", "IN FLIGHT", "ROLE"},
		NoHead: o.noHead,
	}
	if o.times {
		t.Head = append(t.Head, "CREATED")
	}
	values := []any{} // an empty list in JSON is not null
	var failed []error
	for i := range all {
		lookForOldest(ctx, b, &all[i])
	}
	if all = o.arrange(all); len(all) == 0 && nothing == nil {
		if nothing = fmt.Errorf("%w: no channel has a problem", errNothing); o.output == screen.AsTable {
			return nothing
		}
	}
	for i := range all {
		l := &all[i]
		if l.Err != nil {
			failed = append(failed, l.Err)
		}
		t.Rows, t.Colors = append(t.Rows, o.row(l)), append(t.Colors, o.problem(l))
		values = append(values, described.ListedOf(l, o.list.NoDepths))
	}
	return errors.Join(append([]error{o.output.Print(out, t, values), nothing}, failed...)...)
}

// look lists the channels. Whether somebody wakes delayed messages is remembered for some minutes.
func (o *lsOptions) look(ctx context.Context, b driver.Backend) ([]ops.Listed, error) {
	o.list.Asleep = !o.list.NoDepths && time.Since(o.asked) >= asksEvery
	all, err := ops.List(ctx, b, &o.list)
	if err == nil && o.list.Asleep {
		o.asked, o.asleep = time.Now(), map[string]bool{}
		for i := range all {
			o.asleep[all[i].Address] = all[i].Asleep
		}
	}
	for i := range all {
		all[i].Asleep = o.asleep[all[i].Address]
	}
	return all, err
}

// noChannels is the error for an empty list. For a name that is no pattern, it has the names that are near.
func noChannels(ctx context.Context, b driver.Backend, match string) error {
	if match != "" && !strings.ContainsAny(match, "*?[\\") {
		if _, err := ops.Find(ctx, b, match); err != nil {
			return err
		}
	}
	what := "there are no channels"
	if match != "" {
		what = "no channel matches " + match
	}
	return fmt.Errorf("%w: %s: check --namespace, and the region or the brokers", errNothing, what)
}

// lookForOldest sets the age of the oldest message where the service does not count it, and messages can be looked at
// without a receive, as on the local server. SQS itself is not asked.
func lookForOldest(ctx context.Context, b driver.Backend, l *ops.Listed) {
	if l.Err != nil || l.Depth.Oldest >= 0 || l.Depth.Waiting == 0 || l.Channel.Queue == "" {
		return
	}
	first, err := ops.Peek(ctx, b, l.Channel.String(), &ops.PeekOptions{Most: 1})
	if err == nil && len(first) == 1 && !first[0].SentAt.IsZero() {
		l.Depth.Oldest = max(0, time.Since(first[0].SentAt))
	}
}

func (o *lsOptions) row(l *ops.Listed) []string {
	notes := described.Notes(l.ChannelInfo)
	if l.Asleep {
		notes = append(notes, "nobody has received from it for a day")
	}
	waiting, inFlight, delayed, oldest := "", "", "", ""
	switch {
	case l.Err != nil:
		notes = append(notes, "could not be looked at")
	case l.Channel.Queue == "" || o.list.NoDepths:
	default:
		waiting, inFlight = strconv.FormatInt(l.Depth.Waiting, 10), strconv.FormatInt(l.Depth.InFlight, 10)
		delayed = strconv.FormatInt(l.Depth.Delayed, 10)
		if l.Depth.Oldest >= 0 && l.Depth.Waiting > 0 {
			oldest = screen.Ago(l.Depth.Oldest)
		}
	}
	cells := []string{
		l.Channel.String(), l.Channel.Role().String(), waiting, inFlight, delayed, oldest, strings.Join(notes, ", "),
	}
	if o.times && !l.Created.IsZero() {
		cells = append(cells, l.Created.UTC().Format(time.DateTime))
	}
	return cells
}

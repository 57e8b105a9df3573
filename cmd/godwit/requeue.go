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

	"github.com/godwitmq/godwit/cmd/godwit/internal/jq"
	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/cmd/godwit/internal/selection"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// requeueOptions are the flags of `godwit requeue`.
type requeueOptions struct {
	backend backendFlags
	output  screen.Output
	sel     selection.Words
	edit    string
	yes     bool
	requeue ops.RequeueOptions
}

func newRequeue() *cobra.Command {
	var o requeueOptions
	cmd := &cobra.Command{
		Use:   "requeue CHANNEL",
		Short: "Send dead letters back, or messages to another channel",
		Long: "Send dead letters back to where they died, or messages to another channel.\n\n" +
			"A message is deleted only after the destination has accepted it. Without --yes, it only says what would " +
			"happen. A run that is stopped is continued by the next one.",
		Example: "  godwit requeue orders@dlq --kind timeout --newer 2h --rate 50 --yes",
		Args:    oneChannel,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.read(cmd.Context(), args[0]); err != nil {
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
	r := &o.requeue
	manual.What(cmd, func(f *pflag.FlagSet) {
		f.StringVar(&r.To, "to", "",
			"the `channel` that gets the messages; without it, dead letters go back to where they died")
		f.IntVarP(&r.Most, "most", "n", 0, "send at most so many messages; 0: all")
	})
	f := cmd.Flags()
	f.BoolVar(&r.Alone, "only-group", false, "on Kafka, send so that no other group sees it; to the group's own retry tier")
	f.StringVar(&o.edit, "edit", "", "a jq `filter` whose result replaces a JSON body")
	f.IntVar(&r.MaxDeaths, "max-deaths", ops.DefaultMaxDeaths, "leave messages that died so often; -1: no limit")
	f.BoolVar(&r.RenewExpiry, "renew-expiry", false, "let the age of the messages begin with this send")
	f.IntVar(&r.Hold, "hold", ops.DefaultHold, "hold at most so many messages that stay")
	f.Float64Var(&r.PerSecond, "rate", 0, "look at most at so many messages a second; 0: no limit")
	f.BoolVar(&r.LoseOrder, "lose-order", false, "allow the way from an ordered channel to one without order")
	f.StringVar(&r.Journal, "journal", "", "the `file` that tells what a crash may have doubled; "+
		"without it godwit-requeue-CHANNEL.journal, which is deleted when nothing is open")
	f.BoolVar(&o.yes, "yes", false, "do it; without this flag, the command only says what would happen")
	manual.Rare(cmd, "hold", "journal", "lose-order", "renew-expiry", "attempts")
	manual.More(cmd, "Messages are sent as they were received. If messages are selected, a dry run looks at them, which "+
		"counts as a receive on SQS.\n\nWithout --to, a dead letter of an exchange goes to the one queue in which it died. "+
		"On Kafka it goes to its topic, where other groups see it as well, unless --only-group is possible. The journal "+
		"names what may be there twice.\n\nWith --to and --max-deaths -1, and without a selection, SQS moves the messages "+
		"by itself.", "docs/operations.md")
	return cmd
}

// read turns the flags into options.
func (o *requeueOptions) read(ctx context.Context, channel string) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	var err error
	if o.requeue.Select, err = o.sel.Selection(ctx); err != nil {
		return err
	}
	if o.edit != "" {
		e, err := jq.Parse(ctx, "--edit", o.edit)
		if err != nil {
			return err
		}
		o.requeue.Edit = e.Edit
	}
	switch r := &o.requeue; {
	case r.Most < 0:
		return fmt.Errorf("--most is %d: it cannot be negative; 0 is no limit", r.Most)
	case r.PerSecond < 0:
		return fmt.Errorf("--rate is %g: it cannot be negative; 0 is no limit", r.PerSecond)
	case r.Hold <= 0:
		return fmt.Errorf("--hold is %d: it must be positive", r.Hold)
	}
	if o.requeue.MaxDeaths == 0 {
		return errors.New("--max-deaths is 0: no message has died less often; -1 is no limit")
	}
	if err := checkFile("--journal", o.requeue.Journal); err != nil {
		return err
	}
	if o.requeue.Journal == "" {
		o.requeue.Journal = journalOf(channel)
	}
	o.requeue.Dry = !o.yes
	return nil
}

// journalOf is the file of the journal where no flag names one.
func journalOf(channel string) string {
	return "godwit-requeue-" + strings.ReplaceAll(channel, "/", "_") + ".journal"
}

// requeued is the result in JSON.
type requeued struct {
	From           string           `json:"from"`
	To             string           `json:"to"`
	Address        string           `json:"address"`
	Shared         bool             `json:"shared"` // other consumers get the messages, too
	Done           bool             `json:"done"`   // false: a dry run
	Waiting        int64            `json:"waiting"`
	Looked         int64            `json:"looked"`
	Moved          int64            `json:"moved"`
	Edited         int64            `json:"edited"`
	Expired        int64            `json:"expired"` // of those moved; -1: unknown
	Stay           map[string]int64 `json:"stay"`
	Refused        []string         `json:"refused,omitempty"`
	PerhapsDoubled []string         `json:"perhaps_doubled,omitempty"`
	Windows        int              `json:"windows"`
	Seconds        float64          `json:"seconds"`
	Task           *driver.MoveTask `json:"task,omitempty"`
}

// run requeues, or says what would happen.
func (o *requeueOptions) run(ctx context.Context, b driver.Backend, channel string, out, errOut io.Writer) error {
	if o.yes {
		if err := askMany(ctx, b, channel, "send those that are selected"); err != nil {
			return err
		}
	}
	p := screen.NewProgress(errOut)
	o.requeue.Progress = func(r *ops.RequeueResult) {
		text := fmt.Sprintf("%d of about %d looked at, %d %s", r.Looked, r.Waiting, r.Moved, o.sent())
		p.At(r.Looked, shareOf(r.Looked, r.Waiting), text)
	}
	r, err := ops.Requeue(ctx, b, channel, &o.requeue)
	p.End()
	_, unseen := errors.AsType[*ops.UnseenError](err)
	if err != nil && (r.Address == "" || r.Looked == 0 && !unseen) { // nothing began
		return err
	}
	return errors.Join(err, o.print(r, out, errOut))
}

// sent says what becomes of the selected messages.
func (o *requeueOptions) sent() string {
	if o.yes {
		return "sent"
	}
	return "would go"
}

// shareOf is a part as a share of a whole; negative: the whole is unknown.
func shareOf(part, whole int64) float64 {
	if whole <= 0 {
		return -1
	}
	return float64(part) / float64(whole)
}

// staying names the reasons for which messages stay.
func staying(s *ops.RequeueStay) (names []string, counts []int64) {
	return []string{
			"not selected", "died too often", "refused", "behind one of their key", "more than wanted", "died later",
			"not seen",
		},
		[]int64{s.NotSelected, s.TooOften, s.Refused, s.Behind, s.TooMany, s.Later, s.Unlooked}
}

func (o *requeueOptions) print(r *ops.RequeueResult, out, errOut io.Writer) error {
	v := requeued{
		From: r.From, To: r.To, Address: r.Address, Shared: r.Shared, Done: o.yes, Waiting: r.Waiting, Looked: r.Looked,
		Moved: r.Moved, Edited: r.Edited, Expired: r.Expired, Stay: map[string]int64{}, PerhapsDoubled: r.Doubled,
		Windows: r.Windows, Seconds: r.Took.Seconds(), Task: r.Native,
	}
	var stay []string
	names, counts := staying(&r.Stay)
	for i, n := range counts {
		v.Stay[strings.ReplaceAll(names[i], " ", "_")] = n
		if n > 0 {
			stay = append(stay, fmt.Sprintf("%d %s", n, names[i]))
		}
	}
	for _, err := range r.Refused {
		v.Refused = append(v.Refused, err.Error())
	}
	t := screen.Table{Head: []string{
		"FROM", "TO", "WAITING", "LOOKED AT", strings.ToUpper(o.sent()), "EDITED", "STAY",
	}}
	t.Rows = [][]string{{
		r.From, r.To, strconv.FormatInt(r.Waiting, 10), strconv.FormatInt(r.Looked, 10), strconv.FormatInt(r.Moved, 10),
		strconv.FormatInt(r.Edited, 10), strings.Join(stay, ", "),
	}}
	if err := o.output.Print(out, t, []any{v}); err != nil {
		return err
	}
	for _, text := range v.Refused {
		fmt.Fprintf(errOut, "stays: %s\n", text)
	}
	if more := r.Stay.Refused - int64(len(r.Refused)); more > 0 {
		fmt.Fprintf(errOut, "stays: %d others that were refused\n", more)
	}
	switch n := r.Expired; {
	case n > 0 && o.requeue.RenewExpiry:
		fmt.Fprintf(errOut, "%d of them had expired, and their age begins again\n", n)
	case n > 0:
		fmt.Fprintf(errOut, "%d of them had expired, and expire again at their consumer: add --renew-expiry to handle "+
			"them\n", n)
	}
	if r.Shared {
		fmt.Fprintf(errOut, "%s is shared: other consumers get the messages as well\n", r.Address)
	}
	if r.Windows > 1 {
		fmt.Fprintf(errOut, "more messages stay than can be held at once: they were released in %d windows meanwhile\n",
			r.Windows)
	}
	if n := len(r.Doubled); n > 0 {
		fmt.Fprintf(errOut, "%d messages may be in %s twice: the journal %s names them\n", n, r.To, o.requeue.Journal)
	}
	if s := r.Sample; s != nil && !o.yes {
		fmt.Fprintf(errOut, "message %s would be changed\n  from %s\n  to   %s\n",
			s.ID, glimpse(s.Before), glimpse(s.After))
	}
	switch {
	case r.Native != nil:
		fmt.Fprintf(errOut, "the service moved them itself: task %q, %s\n", r.Native.ID, r.Native.Status)
	case !o.yes && r.Moved > 0:
		fmt.Fprintf(errOut, "nothing was sent: %d messages would go to %s; add --yes to do it\n", r.Moved, r.Address)
	}
	switch n := r.Stay.Refused; {
	case n > 0 && r.Moved == 0:
		return &partError{fmt.Sprintf("all %d selected messages were refused, see above", n)}
	case n > 0:
		return &partError{fmt.Sprintf("%d of %d selected messages were refused, see above", n, n+r.Moved)}
	case r.Moved == 0 && r.Looked == 0:
		return fmt.Errorf("%w: no message of %s waits", errNothing, r.From)
	case r.Moved == 0 && r.Looked == r.Stay.NotSelected:
		return fmt.Errorf("%w: none of %d messages was selected", errNothing, r.Looked)
	}
	return nil
}

// glimpse is the beginning of a body in one line.
func glimpse(body []byte) string {
	const most = 300
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(body[:min(len(body), most)]), "·")), " ")
	if len(body) > most {
		text += " …"
	}
	return text
}

package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/ops/describe"
	"github.com/godwitmq/godwit/ops/processes"
	"github.com/godwitmq/godwit/s3store"
)

// describeOptions are the flags of `godwit describe`.
type describeOptions struct {
	backend backendFlags
	output  screen.Output
	workers []string // addresses
	history string   // a file
}

func newDescribe() *cobra.Command {
	var o describeOptions
	cmd := &cobra.Command{
		Use:   "describe CHANNEL",
		Short: "Tell all about one channel",
		Long: "Tell all about one channel: what waits in it and in its dead letters, who consumes it, its last hour, its\n" +
			"settings, its policy in words, and who gets the messages of an exchange. What may not be looked at is told at the\n" +
			"end. On AWS, the last hour costs 72 metrics of CloudWatch (0.0007 $) without --history.",
		Example: "  godwit describe orders\n  godwit describe orders --workers 10.0.0.7:8080/workers --history history.bin\n" +
			"  godwit describe 'events.*' -o json",
		Args: oneChannel,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.output.Check(); err != nil {
				return usage(cmd, err)
			}
			if o.history != "" {
				if _, err := os.Stat(o.history); err != nil {
					return usage(cmd, fmt.Errorf("--history: %w", err))
				}
			}
			asked, err := processes.New(&processes.Options{Addresses: o.workers})
			if err != nil {
				return usage(cmd, fmt.Errorf("--workers: %w", err))
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				c, err := describe.Read(ctx, b, args[0], &describe.Options{
					Audience: true, Processes: asked, Payloads: o.backend.payloads(),
					LastHour: true, History: o.history,
				})
				if err != nil {
					return err
				}
				if o.output != screen.AsTable {
					return o.output.Print(cmd.OutOrStdout(), screen.Table{}, []any{newDescribed(c)})
				}
				_, err = io.WriteString(cmd.OutOrStdout(), describedText(c, time.Now()))
				return err
			})
		},
	}
	o.backend.add(cmd)
	o.backend.addStore(cmd)
	o.output.Add(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&o.workers, "workers", nil, aboutWorkers)
	f.StringVar(&o.history, "history", "", "the `file` of `godwit console --history` or of a sampler, for the last hour")
	return cmd
}

// payloads returns a look at the bucket of large messages; nil: none is named.
func (b *backendFlags) payloads() func(ctx context.Context) (describe.Payloads, error) {
	if b.store.Bucket == "" {
		return nil
	}
	return func(ctx context.Context) (describe.Payloads, error) {
		p := describe.Payloads{Bucket: b.store.Bucket, Prefix: b.store.Prefix}
		s, err := s3store.Open(ctx, &b.store)
		if err != nil {
			return p, err
		}
		place, err := s.Look(ctx)
		p.Days = place.Days
		return p, err
	}
}

// described is a described channel in JSON.
type described struct {
	listed
	Partitions  []describedPartition `json:"partitions,omitempty"`
	LastHour    map[string]int64     `json:"last_hour,omitempty"` // what is known
	Timeline    *timeline            `json:"timeline,omitempty"`
	Consumers   *consumers           `json:"consumers,omitempty"`
	Payloads    *payloads            `json:"payloads,omitempty"`
	Settings    map[string]string    `json:"settings,omitempty"`
	Policy      []string             `json:"policy,omitempty"`
	Subscribers []string             `json:"subscribers,omitempty"`
	Related     []listed             `json:"related,omitempty"`
	Problems    []string             `json:"problems,omitempty"`
}

// payloads is where the bodies of large messages are.
type payloads struct {
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix"`
	Days   *int   `json:"lifecycle_days,omitempty"` // 0: nothing deletes them
}

type describedPartition struct {
	Partition     int32    `json:"partition"`
	Waiting       int64    `json:"waiting"`
	OldestSeconds *float64 `json:"oldest_seconds,omitempty"`
}

// timeline is the last hour in steps, the oldest first; null is unknown.
type timeline struct {
	StepSeconds float64    `json:"step_seconds"`
	Sent        []*float64 `json:"sent_per_second,omitempty"`
	Done        []*float64 `json:"done_per_second,omitempty"`
	Waiting     []*float64 `json:"waiting,omitempty"`
}

// consumers are who consumes a channel.
type consumers struct {
	Told      bool       `json:"told"` // whether the service tells who receives
	Members   []member   `json:"members,omitempty"`
	Asked     bool       `json:"asked"` // whether processes were asked
	Processes []consumer `json:"processes,omitempty"`
}

type member struct {
	ID         string  `json:"id"`
	Client     string  `json:"client,omitempty"`
	Host       string  `json:"host,omitempty"`
	Partitions []int32 `json:"partitions,omitempty"`
}

// consumer is what a process holds.
type consumer struct {
	Host     string    `json:"host"`
	PID      int       `json:"pid"`
	State    string    `json:"state"`
	Workers  int       `json:"workers"`
	Held     int       `json:"held"`
	Waiting  int       `json:"waiting"`
	Retrying int       `json:"retrying"`
	Handled  int64     `json:"handled"`
	Retried  int64     `json:"retried"`
	Rejected int64     `json:"rejected"`
	Running  []running `json:"running,omitempty"`
}

type running struct {
	ID      string    `json:"id"`
	Attempt int       `json:"attempt"`
	Since   time.Time `json:"since"`
}

func newConsumers(a *describe.Audience) *consumers {
	if a == nil {
		return nil
	}
	v := &consumers{Told: a.Told, Asked: a.Asked}
	for _, m := range a.Members {
		v.Members = append(v.Members, member(m))
	}
	for _, h := range a.Holders {
		one := consumer{
			Host: h.Host, PID: h.PID, State: h.State, Workers: h.Workers, Held: h.Held, Waiting: h.Waiting,
			Retrying: h.Retrying, Handled: h.Handled, Retried: h.Retried, Rejected: h.Rejected,
		}
		for _, r := range h.Running {
			one.Running = append(one.Running, running{r.ID, r.Attempt, r.Since})
		}
		v.Processes = append(v.Processes, one)
	}
	return v
}

func newTimeline(t *describe.Timeline) *timeline {
	if t == nil {
		return nil
	}
	nullable := func(all []float64) (values []*float64) {
		for _, v := range all {
			if math.IsNaN(v) {
				values = append(values, nil)
			} else {
				values = append(values, &v)
			}
		}
		return values
	}
	return &timeline{describe.Step.Seconds(), nullable(t.Sent), nullable(t.Done), nullable(t.Waiting)}
}

func newDescribed(c *describe.Channel) described {
	v := described{
		listed: newListed(asListed(c), c.Depth == nil), Policy: sentences(c.Policy), Subscribers: c.Subscribers,
		Settings: settingsOf(c), Timeline: newTimeline(c.Timeline), Consumers: newConsumers(c.Audience),
	}
	if c.Depth != nil {
		for _, p := range c.Depth.Partitions {
			one := describedPartition{Partition: p.Partition, Waiting: p.Waiting}
			if s := p.Oldest.Seconds(); s >= 0 {
				one.OldestSeconds = &s
			}
			v.Partitions = append(v.Partitions, one)
		}
	}
	if c.Payloads != nil {
		v.Payloads = &payloads{Bucket: c.Payloads.Bucket, Prefix: c.Payloads.Prefix}
		if c.Payloads.Days >= 0 {
			v.Payloads.Days = &c.Payloads.Days
		}
	}
	for _, r := range readings(c.Activity) {
		if v.LastHour == nil {
			v.LastHour = map[string]int64{}
		}
		v.LastHour[r.name] = r.value
	}
	for i := range c.Related {
		v.Related = append(v.Related, newListed(&c.Related[i], false))
	}
	for _, err := range c.Problems {
		v.Problems = append(v.Problems, err.Error())
	}
	return v
}

// describedText is a channel for people.
func describedText(c *describe.Channel, now time.Time) string {
	var b strings.Builder
	role := c.Channel.Role().String()
	if notes := notesOf(c.ChannelInfo); notes != "" {
		role += ", " + notes
	}
	fmt.Fprintf(&b, "%s\n  %s\n  %s\n", c.Channel, role, c.Address)
	if !c.Created.IsZero() {
		fmt.Fprintf(&b, "  created %s, %s ago\n", c.Created.UTC().Format(time.DateTime), screen.Ago(now.Sub(c.Created)))
	}
	if d := c.Depth; d != nil {
		fmt.Fprintf(&b, "\nwaiting %d, in flight %d, delayed %d%s\n", d.Waiting, d.InFlight, d.Delayed, oldestOf(*d))
		for _, p := range d.Partitions {
			fmt.Fprintf(&b, "  partition %d: %d waiting%s\n", p.Partition, p.Waiting,
				oldestOf(driver.Depth{Waiting: p.Waiting, Oldest: p.Oldest}))
		}
	}
	if known := readings(c.Activity); len(known) > 0 {
		texts := make([]string, len(known))
		for i, r := range known {
			texts[i] = r.name + " " + strconv.FormatInt(r.value, 10)
		}
		fmt.Fprintf(&b, "last hour: %s\n", strings.Join(texts, ", "))
	}
	b.WriteString(timelineText(c.Timeline))
	section := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n%s\n", title)
		for _, line := range lines {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	related := []string{}
	for i := range c.Related {
		related = append(related, relatedText(&c.Related[i]))
	}
	section("consumers", audienceLines(c.Audience, now))
	section("belongs to it", related)
	section("subscribers", c.Subscribers)
	section("payloads", payloadLines(c))
	section("settings", pairs(settingsOf(c)))
	section("policy", sentences(c.Policy))
	section("tags", pairs(c.Tags))
	problems := []string{}
	for _, err := range c.Problems {
		problems = append(problems, err.Error())
	}
	section("not known", problems)
	return b.String()
}

// payloadLines are where the bodies of large messages are.
func payloadLines(c *describe.Channel) []string {
	p := c.Payloads
	if p == nil {
		return []string{"no bucket is known: --bucket, or payloads in the context, names that of large messages"}
	}
	text := "large bodies are in bucket " + p.Bucket
	if p.Prefix != "" {
		text += ", below " + p.Prefix
	}
	switch {
	case p.Days > 0:
		text += ", which deletes them after " + strconv.Itoa(p.Days) + " days"
	case p.Days == 0:
		text += ", which deletes none of them by itself"
	}
	return []string{text}
}

// timelineText draws the last hour.
func timelineText(t *describe.Timeline) string {
	if t == nil {
		return "last hour, in steps: not known\n"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "last hour, in steps of %s (? is not known)\n", screen.Ago(describe.Step))
	for _, line := range []struct {
		name, unit string
		values     []float64
	}{{"sent", "/s", t.Sent}, {"done", "/s", t.Done}, {"waiting", "", t.Waiting}} {
		if line.values == nil {
			fmt.Fprintf(&text, "  %s: not known\n", line.name)
			continue
		}
		most := 0.0
		for _, v := range line.values {
			if v > most { // NaN is not
				most = v
			}
		}
		fmt.Fprintf(&text, "  %-7s %s at most %s%s\n", line.name, screen.Spark(line.values),
			strconv.FormatFloat(most, 'g', 3, 64), line.unit)
	}
	return text.String()
}

// runningShown is how many running handlers of a process are shown.
const runningShown = 3

// audienceLines are who consumes a channel, and what they hold.
func audienceLines(a *describe.Audience, now time.Time) (lines []string) {
	if a == nil {
		return nil
	}
	for _, m := range a.Members {
		lines = append(lines, fmt.Sprintf("%s (%s, %s)%s", m.ID, m.Client, m.Host, partitionsText(m.Partitions)))
	}
	for _, h := range a.Holders {
		lines = append(lines, fmt.Sprintf("process %d on %s: %s, %d workers, holds %d (%d wait, %d are retries); "+
			"handled %d, retried %d, rejected %d", h.PID, h.Host, h.State, h.Workers, h.Held, h.Waiting, h.Retrying,
			h.Handled, h.Retried, h.Rejected))
		for _, r := range h.Running[:min(len(h.Running), runningShown)] {
			took := screen.Ago(now.Sub(r.Since))
			lines = append(lines, fmt.Sprintf("  %s runs for %s, attempt %d", r.ID, took, r.Attempt))
		}
		if more := len(h.Running) - runningShown; more > 0 {
			lines = append(lines, fmt.Sprintf("  and %d more", more))
		}
	}
	switch {
	case a.Told && len(a.Members) == 0:
		lines = append(lines, "none: nobody receives from it")
	case !a.Told && len(a.Holders) == 0:
		lines = append(lines, "not known: the service does not tell who receives")
	}
	if !a.Asked {
		lines = append(lines, "what they hold is not known: --workers ADDRESS asks processes that serve ops.Workers")
	}
	return lines
}

// partitionsText is a list of partitions, with neighbours together.
func partitionsText(all []int32) string {
	if len(all) == 0 {
		return ""
	}
	var parts []string
	for i := 0; i < len(all); {
		last := i
		for last+1 < len(all) && all[last+1] == all[last]+1 {
			last++
		}
		part := strconv.Itoa(int(all[i]))
		if last > i {
			part += "-" + strconv.Itoa(int(all[last]))
		}
		parts = append(parts, part)
		i = last + 1
	}
	return ": partitions " + strings.Join(parts, ",")
}

// settingsOf are the settings by their names.
func settingsOf(c *describe.Channel) map[string]string {
	all := map[string]string{}
	for _, s := range c.Settings {
		all[s.Name] = s.Value
	}
	return all
}

// sentences are the statements of a policy.
func sentences(all []describe.Statement) (texts []string) {
	for _, s := range all {
		texts = append(texts, s.String())
	}
	return texts
}

// pairs are names with their values, in two columns.
func pairs(all map[string]string) (lines []string) {
	names := slices.Sorted(maps.Keys(all))
	width := 0
	for _, name := range names {
		width = max(width, utf8.RuneCountInString(name))
	}
	for _, name := range names {
		lines = append(lines, name+strings.Repeat(" ", width-utf8.RuneCountInString(name))+screen.Gap+all[name])
	}
	return lines
}

// known is a number of the last hour.
type known struct {
	name  string
	value int64
}

// readings are the numbers that are known.
func readings(a *driver.Activity) (all []known) {
	if a == nil {
		return nil
	}
	for _, r := range []struct {
		name string
		of   driver.Reading[int64]
	}{
		{"sent", a.Sent},
		{"received", a.Received},
		{"done", a.Deleted},
		{"delivered", a.Delivered},
		{"failed", a.Failed},
		{"consumers", a.Consumers},
	} {
		if r.of.Known() {
			all = append(all, known{r.name, r.of.Value})
		}
	}
	return all
}

func asListed(c *describe.Channel) *ops.Listed {
	l := &ops.Listed{ChannelInfo: c.ChannelInfo}
	if c.Depth != nil {
		l.Depth = *c.Depth
	}
	return l
}

func oldestOf(d driver.Depth) string {
	if d.Oldest < 0 || d.Waiting == 0 {
		return ""
	}
	return ", the oldest for " + screen.Ago(d.Oldest)
}

func relatedText(l *ops.Listed) string {
	text := l.Channel.String() + ": " + l.Channel.Role().String()
	switch {
	case l.Err == nil && l.Channel.Queue != "":
		text += fmt.Sprintf(", %d waiting, %d in flight", l.Depth.Waiting, l.Depth.InFlight)
		if l.Depth.Delayed > 0 {
			text += fmt.Sprintf(", %d delayed", l.Depth.Delayed)
		}
		text += oldestOf(l.Depth)
		if l.Channel.DeadLetter && l.Depth.Waiting > 0 {
			text += fmt.Sprintf(" (godwit peek %s --groups)", l.Channel)
		}
	case l.Err != nil:
		text += ": " + l.Err.Error()
	}
	return text
}

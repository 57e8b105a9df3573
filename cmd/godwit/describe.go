package main

import (
	"context"
	"fmt"
	"io"
	"maps"
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
)

// describeOptions are the flags of `godwit describe`.
type describeOptions struct {
	backend backendFlags
	output  screen.Output
}

func newDescribe() *cobra.Command {
	var o describeOptions
	cmd := &cobra.Command{
		Use:   "describe CHANNEL",
		Short: "Tell all about one channel",
		Long: "Tell all about one channel: what waits in it and in its dead letters, what has happened within the last\n" +
			"hour, its settings, its policy in words, and who gets the messages of an exchange. What may not be looked at is\n" +
			"told at the end.",
		Example: "  godwit describe orders\n  godwit describe 'events.*' -o json",
		Args:    oneChannel,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.output.Check(); err != nil {
				return usage(cmd, err)
			}
			return o.backend.use(cmd, func(ctx context.Context, b driver.Backend) error {
				c, err := describe.Read(ctx, b, args[0])
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
	o.output.Add(cmd)
	return cmd
}

// described is a described channel in JSON.
type described struct {
	listed
	Partitions  []describedPartition `json:"partitions,omitempty"`
	LastHour    map[string]int64     `json:"last_hour,omitempty"` // what is known
	Settings    map[string]string    `json:"settings,omitempty"`
	Policy      []string             `json:"policy,omitempty"`
	Subscribers []string             `json:"subscribers,omitempty"`
	Related     []listed             `json:"related,omitempty"`
	Problems    []string             `json:"problems,omitempty"`
}

type describedPartition struct {
	Partition     int32    `json:"partition"`
	Waiting       int64    `json:"waiting"`
	OldestSeconds *float64 `json:"oldest_seconds,omitempty"`
}

func newDescribed(c *describe.Channel) described {
	v := described{
		listed: newListed(asListed(c), c.Depth == nil), Policy: sentences(c.Policy), Subscribers: c.Subscribers,
		Settings: settingsOf(c),
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
	section("belongs to it", related)
	section("subscribers", c.Subscribers)
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
		text += fmt.Sprintf(", %d waiting, %d in flight%s", l.Depth.Waiting, l.Depth.InFlight, oldestOf(l.Depth))
		if l.Channel.DeadLetter && l.Depth.Waiting > 0 {
			text += fmt.Sprintf(" (godwit peek %s --groups)", l.Channel)
		}
	case l.Err != nil:
		text += ": " + l.Err.Error()
	}
	return text
}

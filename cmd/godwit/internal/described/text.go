package described

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/ops/describe"
)

// Text is all that is known about a channel, for people.
func Text(c *describe.Channel, now time.Time) string {
	var b strings.Builder
	role := strings.Join(append([]string{c.Channel.Role().String()}, Notes(c.ChannelInfo)...), ", ")
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
	b.WriteString(keptText(c))
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

// keptText says how long messages and dead letters are kept.
func keptText(c *describe.Channel) string {
	switch own, letters := c.Kept(), c.DeadLettersKept; {
	case own == 0:
		return ""
	case letters == 0:
		return fmt.Sprintf("messages are kept for %s\n", screen.Ago(own))
	default:
		return fmt.Sprintf("messages are kept for %s, dead letters for %s\n", screen.Ago(own), screen.Ago(letters))
	}
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

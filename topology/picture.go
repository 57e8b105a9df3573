package topology

import (
	"fmt"
	"strings"
	"time"
)

// Mermaid returns a picture of the declared channels as a flowchart of Mermaid: exchanges, queues with their filters,
// and dead letters.
func Mermaid(s *Spec) string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	node := strings.NewReplacer(".", "__", "_", "_u", "-", "_h").Replace // different names stay different
	for _, name := range s.ExchangeNames() {
		fmt.Fprintf(&b, "  %s_exchange{{%s}}\n", node(name), quoted(name, s.Exchanges[name].Ordered, ""))
	}
	for _, name := range s.ChannelNames() {
		c := s.Channels[name]
		fmt.Fprintf(&b, "  %s_queue[%s]\n", node(name), quoted(name, s.orderedness(name), ownerOf(c.Owner, s.Owner)))
		if exchange, _, many := cutName(name); many {
			arrow := "-->"
			if label := c.Filter.words(); label != "" {
				arrow = "-->|" + quote(label) + "|"
			}
			fmt.Fprintf(&b, "  %s_exchange %s %s_queue\n", node(exchange), arrow, node(name))
		}
		if !c.NoDeadLetters {
			fmt.Fprintf(&b, "  %s_queue -.-> %s_dlq[(%s)]\n", node(name), node(name), quote(name+"@dlq"))
		}
	}
	return b.String()
}

// quoted is the label of a node.
func quoted(name string, ordered bool, owner string) string {
	if ordered {
		name += " (ordered)"
	}
	if owner != "" {
		name += "<br/>" + owner
	}
	return quote(name)
}

// quote is a text of Mermaid, in which quotes and '#' are entities.
func quote(text string) string {
	return `"` + strings.NewReplacer("#", "#35;", `"`, "#quot;", "\n", " ").Replace(text) + `"`
}

// words is a filter in words; "": everything passes.
func (f Filter) words() string {
	var parts []string
	parts = append(parts, f.Exact...)
	for _, prefix := range f.Prefix {
		parts = append(parts, prefix+"*")
	}
	for _, other := range f.Exclude {
		parts = append(parts, "not "+other)
	}
	return strings.Join(parts, ", ")
}

// Markdown returns the declared channels as a page: exchanges and channels with their settings.
func Markdown(s *Spec) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Channels of %s\n", s.name())
	if s.Namespace != "" {
		fmt.Fprintf(&b, "\nThe namespace is `%s`.\n", s.Namespace)
	}
	if len(s.Exchanges) > 0 {
		b.WriteString("\n## Exchanges\n\n| exchange | owner | order | channels |\n|---|---|---|---|\n")
	}
	for _, name := range s.ExchangeNames() {
		e := s.Exchanges[name]
		var queues []string
		for _, channel := range s.ChannelNames() {
			if exchange, _, many := cutName(channel); many && exchange == name {
				queues = append(queues, "`"+channel+"`")
			}
		}
		row(&b, "`"+name+".*`", ownerOf(e.Owner, s.Owner), order(e.Ordered), strings.Join(queues, ", "))
	}
	b.WriteString("\n## Channels\n\n| channel | owner | order | gets | waits | kept | attempts | timeout | alarms |\n" +
		"|---|---|---|---|---|---|---|---|---|\n")
	for _, name := range s.ChannelNames() {
		c := s.Channels[name]
		gets := "what is sent to it"
		if _, _, many := cutName(name); many {
			if gets = "everything"; !c.Filter.empty() {
				gets = "`" + c.Filter.words() + "`"
			}
		}
		attempts := "3"
		if c.MaxAttempts > 0 {
			attempts = fmt.Sprint(c.MaxAttempts)
		}
		row(&b, "`"+name+"`", ownerOf(c.Owner, s.Owner), order(s.orderedness(name)), gets, short(c.Delay, "–"),
			short(c.Retention, "14d"), attempts, short(c.ProcessingTimeout, "5m"), c.alarmWords())
	}
	return b.String()
}

func row(b *strings.Builder, cells ...string) {
	for _, cell := range cells {
		b.WriteString("| " + strings.NewReplacer("|", `\|`, "\n", " ").Replace(cell) + " ")
	}
	b.WriteString("|\n")
}

func order(ordered bool) string {
	if ordered {
		return "by order key"
	}
	return "–"
}

// short is a duration without units that are zero; otherwise is the text for zero.
func short(d time.Duration, otherwise string) string {
	switch {
	case d == 0:
		return otherwise
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	}
	text := d.String() // 1h0m0s, 10m0s, 1m30s
	if rest, whole := strings.CutSuffix(text, "m0s"); whole {
		text = rest + "m"
	}
	if rest, whole := strings.CutSuffix(text, "h0m"); whole {
		text = rest + "h"
	}
	return text
}

// alarmWords is when there are alarms.
func (c *Channel) alarmWords() string {
	var parts []string
	if c.Alarms.Age > 0 {
		parts = append(parts, "age "+short(c.Alarms.Age, ""))
	}
	if c.Alarms.Depth > 0 {
		parts = append(parts, fmt.Sprintf("depth %d", c.Alarms.Depth))
	}
	if c.Alarms.DeadLetters > 0 {
		parts = append(parts, fmt.Sprintf("dead letters %d", c.Alarms.DeadLetters))
	}
	if c.Critical {
		parts = append(parts, "critical")
	}
	return strings.Join(parts, ", ")
}

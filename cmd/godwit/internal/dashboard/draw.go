package dashboard

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gdamore/tcell/v2"

	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
)

// column is a column of the list. Columns that do not fit are left out, the least important first.
type column struct {
	head  string
	width int
	rank  int                 // of its importance; the highest goes first
	cell  func(r *row) string // nil: the sparkline
}

const (
	// leastName is how many characters of a channel's name are shown at least.
	leastName = 13
	// leastSpark is how many steps a sparkline has where there is little room: the last half hour.
	leastSpark = sparkSteps / 2
	gap        = 1
)

func columns() []column {
	return []column{
		{"WAITING", 7, 1, func(r *row) string { return count(r, r.Waiting) }},
		{"AGE", 5, 2, func(r *row) string {
			if r.age() < 0 {
				return ""
			}
			return screen.Ago(r.age())
		}},
		{"DEAD", 5, 3, func(r *row) string {
			if r.dead < 0 {
				return ""
			}
			return short(float64(r.dead))
		}},
		{"FLIGHT", 6, 7, func(r *row) string { return count(r, r.InFlight) }},
		{"IN/s", 6, 5, func(r *row) string { return perSecond(r.Sent) }},
		{"OUT/s", 6, 6, func(r *row) string { return perSecond(r.Done) }},
		{"LAST HOUR", sparkSteps, 4, nil},
	}
}

// fitting are the columns that fit beside the name.
func fitting(width int) (shown []column, name int) {
	shown = columns()
	for {
		name = width
		worst := 0
		for i, c := range shown {
			name -= c.width + gap
			if c.rank > shown[worst].rank {
				worst = i
			}
		}
		if name >= leastName || len(shown) == 1 {
			return shown, max(name, 0)
		}
		if shown[worst].width == sparkSteps {
			shown[worst].head, shown[worst].width = "30m", leastSpark
			continue
		}
		shown = append(shown[:worst], shown[worst+1:]...)
	}
}

func count(r *row, n int64) string {
	if r.Channel.Queue == "" || r.Err != nil {
		return ""
	}
	return short(float64(n))
}

func perSecond(v float64) string {
	if v < 0 || math.IsNaN(v) {
		return ""
	}
	return short(v)
}

// short is a number in at most five characters.
func short(v float64) string {
	switch {
	case v >= 1e9:
		return strconv.FormatFloat(v/1e9, 'f', 0, 64) + "G"
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'f', 0, 64) + "M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'f', 0, 64) + "k"
	case v == math.Trunc(v), v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// painter draws on a screen.
type painter struct {
	to    tcell.Screen
	color bool
}

var plain = tcell.StyleDefault

func (p painter) problem() tcell.Style {
	if p.color {
		return plain.Foreground(tcell.ColorRed)
	}
	return plain.Bold(true)
}

func (p painter) quiet() tcell.Style {
	if p.color {
		return plain.Dim(true)
	}
	return plain
}

// put writes a text within a width, and nothing that controls the terminal. What is too long ends with an ellipsis.
func (p painter) put(x, y, width int, text string, style tcell.Style) {
	text = screen.Escape(text)
	if utf8.RuneCountInString(text) > width {
		if width < 1 {
			return
		}
		text = string([]rune(text)[:width-1]) + "…"
	}
	for at := x; text != "" && at < x+width; {
		rest, took := p.to.Put(at, y, text, style)
		if took == 0 {
			return
		}
		text, at = rest, at+took
	}
}

// fill writes a line of a style, over the whole width.
func (p painter) fill(y, width int, text string, style tcell.Style) {
	p.put(0, y, width, text+strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text))), style)
}

// rest is how many lines are neither rows nor text: the summary, the head, the notice and the keys.
const rest = 4

// draw draws everything.
func (d *Dashboard) draw(to tcell.Screen, now time.Time) {
	p := painter{to, d.o.Color}
	width, height := to.Size()
	to.Clear()
	p.put(0, 0, width, d.summary(now, width), plain.Bold(true))
	room := max(0, height-rest)
	keys := "enter describe  r requeue  s sort  q end"
	d.shown = wrapped(d.text, width)
	switch d.mode {
	case listing:
		d.drawList(p, width, room)
	case describing:
		for i := range room {
			if line := d.top + i; line < len(d.shown) {
				p.put(0, 2+i, width, d.shown[line], plain)
			}
		}
		keys = "esc back  ↑↓ scroll  q end"
	case asking:
		for i, line := range d.shown[:min(len(d.shown), room)] {
			p.put(0, 2+i, width, line, plain)
		}
		keys = "y requeue  any other key: no"
	}
	p.put(0, height-2, width, d.notice, plain)
	p.fill(height-1, width, keys, plain.Reverse(true))
	to.Show()
}

func (d *Dashboard) drawList(p painter, width, room int) {
	shown, name := fitting(width)
	x := name
	p.put(0, 1, name, "CHANNEL", p.quiet())
	for _, c := range shown {
		head := c.head
		if c.cell != nil {
			head = right(head, c.width)
		}
		p.put(x+gap, 1, c.width, head, p.quiet())
		x += gap + c.width
	}
	first := max(0, d.index()-room+1)
	for i := range room {
		if first+i >= len(d.rows) {
			break
		}
		r := &d.rows[first+i]
		style, y := plain, 2+i
		if r.problem(d.o.Old) {
			style = p.problem()
		}
		if r.Channel == d.selected {
			style = style.Reverse(true)
			p.fill(y, width, "", style)
		}
		title := r.Channel.String()
		if r.Paused {
			title = "paused: " + title
		}
		p.put(0, y, name, title, style)
		x := name
		for _, c := range shown {
			text := ""
			if c.cell != nil {
				text = right(c.cell(r), c.width)
			}
			if c.cell == nil {
				text = p.spark(r, c.width)
			}
			p.put(x+gap, y, c.width, text, style)
			x += gap + c.width
		}
	}
	if d.view != nil && len(d.rows) == 0 {
		p.put(0, 2, width, "there are no channels: check --namespace, and the region or the brokers", plain)
	}
}

// spark draws the last hour of a row. A terminal without the bars gets digits.
func (p painter) spark(r *row, steps int) string {
	if r.Channel.Queue == "" {
		return ""
	}
	line := strings.ReplaceAll(screen.Spark(r.spark[sparkSteps-steps:]), "?", " ") // what was not looked at is empty
	if strings.EqualFold(p.to.CharacterSet(), "UTF-8") {
		return line
	}
	return strings.Map(func(c rune) rune {
		if i := strings.IndexRune("▁▂▃▄▅▆▇█", c); i >= 0 {
			return rune('0' + i/utf8.RuneLen('█'))
		}
		return c
	}, line)
}

func right(text string, width int) string {
	return strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text))) + text
}

// wrapped are lines without those that are longer than a width.
func wrapped(all []string, width int) (shown []string) {
	for _, line := range all {
		runes := []rune(line)
		for len(runes) > max(width, 1) {
			shown, runes = append(shown, string(runes[:max(width, 1)])), runes[max(width, 1):]
		}
		shown = append(shown, string(runes))
	}
	return shown
}

// lines are the lines of a text.
func lines(text string) []string { return strings.Split(strings.TrimRight(text, "\n"), "\n") }

package chart

import (
	"html/template"
	"math"
	"slices"
	"strconv"
	"time"
)

// Dots draws a dot for each message: its time from left to right, and its attempts upwards. Messages at one place are
// one larger dot.
type Dots struct {
	Label       string
	Dots        []Dot
	From, To    time.Time // the time axis; zero: from the first message, to the last
	MaxAttempts int       // messages with as many attempts are red; 0: none are
	Width       int       // in pixels; 0: 640
}

// A Dot is one message of [Dots].
type Dot struct {
	Label    string
	At       time.Time
	Attempts int    // 0 or less: unknown
	Href     string // where the dot leads; "": nowhere. A dot of several messages leads to the first that has a link
}

// mostAttempts is the uppermost row. What has more attempts is there, too.
const mostAttempts = 10

// SVG returns the chart.
func (c Dots) SVG() template.HTML {
	const row = 16.0
	w := width(c.Width, rowsWidth)
	f := field{max: c.MaxAttempts, line: c.line(26, float64(w)-26-10)}
	rows, links := 1, false
	for _, dot := range c.Dots {
		rows, links = max(rows, min(dot.Attempts, mostAttempts)), links || local(dot.Href)
	}
	unknown := slices.ContainsFunc(c.Dots, func(dot Dot) bool { return dot.Attempts <= 0 })
	f.bottom = 12 + row*float64(rows)
	height := f.bottom
	if unknown {
		height += row
	}
	d := begin("c-dots", c.Label, w, int(height)+axisHeight, links)
	for i := range rows {
		y := f.bottom - row*(float64(i)+0.5)
		d.path("c-grid", path(nil).move(26, y).line(float64(w)-10, y), "")
		d.text("c-text c-name", 18, y+4, before, attempts(i+1))
	}
	if unknown {
		d.text("c-text c-name", 18, f.bottom+row/2+4, before, "?")
	}
	f.line.axis(d, 8, height)
	if len(c.Dots) == 0 {
		d.text("c-text c-name c-halo", float64(w)/2, f.bottom-row/2+4, around, "none")
	}
	for _, group := range f.groups(c.Dots) {
		y := f.bottom - row*(float64(min(group.attempts, mostAttempts))-0.5)
		end := d.link(group.href)
		d.circle(f.class(group.attempts), group.x, y, 3+min(math.Log2(float64(group.n))/2, 4), group.tooltip(f.line))
		end()
	}
	return d.end()
}

func attempts(n int) string {
	if n >= mostAttempts {
		return strconv.Itoa(mostAttempts) + "+"
	}
	return strconv.Itoa(n)
}

// line is the time axis.
func (c Dots) line(left, w float64) timeline {
	from, to := c.From, c.To
	for _, dot := range c.Dots {
		if c.From.IsZero() && (from.IsZero() || dot.At.Before(from)) {
			from = dot.At
		}
		if c.To.IsZero() && (to.IsZero() || dot.At.After(to)) {
			to = dot.At
		}
	}
	if to.Sub(from) > longestSpan {
		from = to.Add(-longestSpan)
	}
	return timeline{from, to, left, w}
}

// A field is where the dots are.
type field struct {
	line   timeline
	max    int
	bottom float64
}

// A group is the messages of one place.
type group struct {
	x           float64
	attempts    int
	n           int
	first, last time.Time
	label, href string
}

// groups joins the dots of each place, in their order from left to right. Dots outside of the time axis are left out.
func (f field) groups(dots []Dot) []group {
	type place struct{ column, attempts int }
	found := map[place]*group{}
	var order []place
	for _, dot := range dots {
		x := f.line.x(dot.At)
		if x < f.line.left-1 || x > f.line.left+f.line.w+1 {
			continue
		}
		at := place{int(x / columnWidth), min(max(dot.Attempts, 0), mostAttempts)}
		g := found[at]
		if g == nil {
			g = &group{x: x, attempts: at.attempts, first: dot.At, last: dot.At, label: dot.Label}
			found[at], order = g, append(order, at)
		}
		if g.n++; dot.At.Before(g.first) {
			g.first = dot.At
		}
		if dot.At.After(g.last) {
			g.last = dot.At
		}
		if g.href == "" && local(dot.Href) {
			g.href = dot.Href
		}
	}
	slices.SortFunc(order, func(a, b place) int {
		if a.column != b.column {
			return a.column - b.column
		}
		return a.attempts - b.attempts
	})
	all := make([]group, len(order))
	for i, at := range order {
		all[i] = *found[at]
	}
	return all
}

func (f field) class(attempts int) string {
	switch {
	case attempts <= 0:
		return "c-unknown"
	case f.max > 0 && attempts >= min(f.max, mostAttempts):
		return "c-bad"
	case attempts > 1:
		return "c-warn"
	default:
		return "c-ok"
	}
}

func (g group) tooltip(line timeline) string {
	says := g.label
	if g.n > 1 {
		says = strconv.Itoa(g.n) + " messages"
	}
	says += ", " + line.between(g.first, g.last)
	if g.attempts <= 0 {
		return says + ", attempts unknown"
	}
	return says + ", attempt " + attempts(g.attempts)
}

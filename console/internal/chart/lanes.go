package chart

import (
	"html/template"
	"time"
)

// Lanes draws a row for each handler that runs: its age against its timeout. The timeouts are in one line, so that only
// a handler beyond its timeout reaches the right side.
type Lanes struct {
	Label string
	Rows  []Lane
	Width int // in pixels; 0: 640
}

// A Lane is one handler of [Lanes].
type Lane struct {
	Label   string
	Age     time.Duration // negative: unknown
	Timeout time.Duration // 0: none; then the scale is logarithmic up to 14 days
	Href    string        // where the label leads; "": nowhere
}

// SVG returns the chart.
func (c Lanes) SVG() template.HTML {
	const row = 20.0
	n, rest := cut(len(c.Rows))
	links, limits := false, false
	for _, r := range c.Rows[:n] {
		links, limits = links || local(r.Href), limits || r.Timeout > 0
	}
	w := width(c.Width, rowsWidth)
	space := float64(w) - labelWidth - valueWidth
	bottom := topMargin + row*float64(n)
	d := begin("c-lanes", c.Label, w, int(bottom)+restHeight(len(c.Rows)), links)
	for i, r := range c.Rows[:n] {
		y := topMargin + row*float64(i)
		end := d.link(r.Href)
		d.label(0, y+14, labelWidth-8, after, r.Label)
		end()
		says := age(r.Age)
		if r.Timeout > 0 {
			says += " / " + age(r.Timeout)
		}
		class, share := against(r.Age, r.Timeout)
		if class == "c-ok" && r.Age > r.Timeout/2 {
			class = "c-warn"
		}
		size := box{labelWidth, y + 4, max(space*share, 1), 12}
		if r.Age < 0 {
			size.w = space
		} else {
			d.rect("c-track", box{labelWidth, y + 4, space, 12}, 0, "")
		}
		d.rect(class, size, 0, r.tooltip())
		d.label(float64(w), y+14, valueWidth-6, before, says)
	}
	if limits {
		x := labelWidth + space*bound
		d.path("c-limit", path(nil).move(x, topMargin).line(x, bottom), "timeout")
	}
	d.rest(len(c.Rows), bottom, rest)
	return d.end()
}

func (r Lane) tooltip() string {
	says := r.Label + ": runs for " + age(r.Age)
	if r.Age < 0 {
		says = r.Label + ": age unknown"
	}
	if r.Timeout > 0 {
		says += ", timeout " + age(r.Timeout)
	}
	return says
}

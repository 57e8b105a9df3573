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
	n, rest := cut(len(c.Rows))
	links, limits := false, false
	for _, r := range c.Rows[:n] {
		links, limits = links || local(r.Href), limits || r.Timeout > 0
	}
	w := width(c.Width, rowsWidth)
	row := lineAt(w, 0, 12).next
	bottom := topMargin + row*float64(n)
	d := begin("c-lanes", c.Label, w, int(bottom)+restHeight(len(c.Rows)), links)
	for i, r := range c.Rows[:n] {
		at := lineAt(w, topMargin+row*float64(i), 12)
		end := d.link(r.Href)
		d.label(at.label.x, at.label.y, at.label.w, after, r.Label)
		end()
		says := age(r.Age)
		if r.Timeout > 0 {
			says += " / " + age(r.Timeout)
		}
		class, share := against(r.Age, r.Timeout)
		if class == "c-ok" && r.Age > r.Timeout/2 {
			class = "c-warn"
		}
		size := at.bar
		if r.Age >= 0 {
			size.w = max(size.w*share, 1)
			d.rect("c-track", at.bar, 0, "")
		}
		d.rect(class, size, 0, r.tooltip())
		d.label(at.value.x, at.value.y, at.value.w, before, says)
	}
	if limits {
		bar := lineAt(w, 0, 12).bar
		x := bar.x + bar.w*bound
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

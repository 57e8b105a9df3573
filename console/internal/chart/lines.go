package chart

import (
	"html/template"
	"strings"
	"time"
)

// Lines draws one or several series over time, with axes and a legend that has the last values. Where all series are
// unknown, the background is grey; where one is, its line has a gap.
type Lines struct {
	Label  string
	Series []Series
	Step   time.Duration // between two values
	End    time.Time     // of the last values
	Unit   Unit
	Limit  float64 // the bound of the values; 0: none. A single series is red beyond it
	Width  int     // in pixels; 0: 640
	Height int     // in pixels; 0: 180. A legend of several rows is added
}

// SVG returns the chart.
func (c Lines) SVG() template.HTML {
	g := &graph{"c-lines", c.Label, c.Series, c.Step, c.End, c.Unit, c.Limit, c.Width, c.Height}
	n, high := g.length(), 0.0
	for _, s := range c.Series {
		for i := range n {
			high = max(high, s.value(i, n))
		}
	}
	p := g.begin(high)
	all := make([][]sample, len(c.Series))
	for i, s := range c.Series {
		all[i] = p.samples(func(i int) float64 { return s.value(i, n) })
	}
	p.unknown(func(k int) bool {
		for _, samples := range all {
			if samples[k].known {
				return false
			}
		}
		return true
	})
	limit := c.Limit
	if len(c.Series) > 1 {
		limit = 0
	}
	for i, s := range c.Series {
		line, beyond := p.trace(all[i], limit)
		p.path("c-line "+s.color(i), line, "")
		p.path("c-line c-bad", beyond, "")
	}
	return g.finish(p, func(k int) string {
		says := make([]string, len(all))
		for i, samples := range all {
			says[i] = c.Series[i].Name + " " + samples[k].write(c.Unit)
		}
		return strings.Join(says, ", ")
	})
}

func (s sample) write(u Unit) string {
	if !s.known {
		return "unknown"
	}
	return u.between(s.low, s.high)
}

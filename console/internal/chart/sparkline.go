package chart

import (
	"html/template"
	"time"
)

// Sparkline draws values over time as small as a word. Its tooltip has the last and the largest value.
type Sparkline struct {
	Label  string
	Values []float64
	Step   time.Duration // between two values
	End    time.Time     // of the last value
	Unit   Unit
	Limit  float64 // the bound of the values; 0: none. The line is red beyond it
}

// Sizes of a sparkline, in pixels.
const sparkWidth, sparkHeight = 120, 24

// SVG returns the chart.
func (c Sparkline) SVG() template.HTML {
	n, high := len(c.Values), 0.0
	for _, v := range c.Values {
		if known(v) {
			high = max(high, v)
		}
	}
	p := &plot{
		area: box{2, 3, sparkWidth - 6, sparkHeight - 6}, unit: c.Unit, n: n, top: high,
		columns: columnsOf(n, 2*sparkWidth),
	}
	if high == 0 {
		p.top = 1
	}
	p.line = evenly(n, c.Step, c.End, p.area.x, p.area.w)
	samples := p.samples(func(i int) float64 { return c.Values[i] })
	p.drawing = beginSmall("c-sparkline", c.says(p, samples, high), sparkWidth, sparkHeight)
	if n == 0 {
		p.rect("c-unknown", p.area, 0, "")
		return p.end()
	}
	p.unknown(func(k int) bool { return !samples[k].known })
	line, beyond := p.trace(samples, c.Limit)
	p.path("c-line c-s0", line, "")
	p.path("c-line c-bad", beyond, "")
	if v := c.Values[n-1]; known(v) {
		class := "c-s0"
		if c.Limit > 0 && v > c.Limit {
			class = "c-bad"
		}
		p.circle(class, p.x(n-1), p.y(v), 2, "")
	}
	return p.end()
}

// says is the tooltip.
func (c Sparkline) says(p *plot, samples []sample, high float64) string {
	if p.n == 0 {
		return c.Label + ": unknown"
	}
	says := c.Label + ": " + c.Unit.format(c.Values[p.n-1]) + " at " + p.line.write(c.End)
	for _, s := range samples {
		if s.known && p.n > 1 {
			return says + ", at most " + c.Unit.format(high) + " in " + age(p.line.span())
		}
	}
	return says
}

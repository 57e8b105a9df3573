package chart

import (
	"html/template"
	"strconv"
	"time"
)

// A Series is one row of values of [Lines] or [Bands], one a step. The last value is at the end of the chart; before
// the first one, the series is unknown. Class is the class of its color, usually one of c-s0 to c-s7; "": by its
// position.
type Series struct {
	Name, Class string
	Values      []float64
}

// Sizes of Lines and Bands, in pixels.
const (
	plotWidth, plotHeight = 640, 180
	lowest, highest       = 80, 1000
	axisWidth, axisHeight = 48, 18
	// The width of a column: its tooltip is found with the pointer.
	columnWidth = 4
)

// A plot is the part of a chart where its values over time are.
type plot struct {
	*drawing
	area    box
	line    timeline
	unit    Unit
	top     float64 // the value at the upper edge
	n       int     // values of the longest series
	columns []column
}

// A column are the values that are drawn at one place: from the first to before the last.
type column struct{ first, last int }

// columnsOf joins n values to as many columns as a width has.
func columnsOf(n int, w float64) []column {
	if n == 0 {
		return nil
	}
	most := max(int(w/columnWidth), 1)
	each := (n + most - 1) / most
	columns := make([]column, 0, n/each+1)
	for i := 0; i < n; i += each {
		columns = append(columns, column{i, min(i+each, n)})
	}
	return columns
}

// x returns where value i is.
func (p *plot) x(i int) float64 {
	if p.n < 2 {
		return p.line.left + p.line.w
	}
	return p.line.left + p.line.w*float64(i)/float64(p.n-1)
}

func (p *plot) y(v float64) float64 { return p.area.y + p.area.h*(1-v/p.top) }

// edges returns the left and right edge of a column.
func (p *plot) edges(c column) (left, right float64) {
	if p.n < 2 {
		return p.line.left, p.line.left + p.line.w
	}
	half := p.line.w / float64(p.n-1) / 2
	return max(p.x(c.first)-half, p.line.left), min(p.x(c.last-1)+half, p.line.left+p.line.w)
}

// when writes the time of a column.
func (p *plot) when(c column) string {
	return p.line.between(p.line.at(c.first, p.n), p.line.at(c.last-1, p.n))
}

// unknown draws the columns that are unknown as areas over the whole height.
func (p *plot) unknown(is func(k int) bool) {
	for k := 0; k < len(p.columns); k++ {
		if !is(k) {
			continue
		}
		from := k
		for k+1 < len(p.columns) && is(k+1) {
			k++
		}
		left, _ := p.edges(p.columns[from])
		_, right := p.edges(p.columns[k])
		p.rect("c-unknown", box{left, p.area.y, right - left, p.area.h}, 0,
			p.when(column{p.columns[from].first, p.columns[k].last})+": unknown")
	}
}

// grid draws the axes, with a line of the grid for each round value. The values are on the right, beside the latest
// ones: a narrow screen shows that end of a chart.
func (p *plot) grid(step float64) {
	for i := 0; float64(i)*step <= p.top*1.0001; i++ {
		v := float64(i) * step
		y := p.y(v)
		p.path("c-grid", path(nil).move(p.area.x, y).line(p.area.x+p.area.w, y), "")
		p.text("c-text c-name", p.area.x+p.area.w+5, y+4, after, p.unit.format(v))
	}
	p.line.axis(p.drawing, p.area.y, p.area.y+p.area.h)
}

// limit draws the line of a bound.
func (p *plot) limit(v float64) {
	if v > 0 && v <= p.top {
		y := p.y(v)
		p.path("c-limit", path(nil).move(p.area.x, y).line(p.area.x+p.area.w, y), "limit "+p.unit.format(v))
	}
}

// hits draws an area over each column, with what its tooltip says.
func (p *plot) hits(says func(k int) string) {
	p.raw(`<g class="c-hit">`)
	for k, c := range p.columns {
		left, right := p.edges(c)
		p.path("", path(nil).move(left, p.area.y).to('h', right-left).to('v', p.area.h).to('h', left-right).to('z'),
			p.when(c)+": "+says(k))
	}
	p.raw("</g>")
}

// An entry explains a color of a chart.
type entry struct{ class, text string }

// Sizes of a legend, in pixels.
const legendRow, swatch, legendGap = 16, 10, 14

// spread is the width of entries in one row.
func spread(entries []entry) (w float64) {
	for _, e := range entries {
		w += swatch + 4 + extent(e.text) + legendGap
	}
	return w
}

// legend draws entries in rows, or measures them if there is no drawing, and returns the height.
func legend(d *drawing, entries []entry, left, right float64) float64 {
	x, y := left, 0.0
	for _, e := range entries {
		text := fit(e.text, right-left-swatch-legendGap)
		w := swatch + 4 + extent(text) + legendGap
		if x+w > right && x > left {
			x, y = left, y+legendRow
		}
		if d != nil {
			d.rect(e.class, box{x, y + 2, swatch, swatch}, 2, "")
			d.text("c-text", x+swatch+4, y+11, after, text)
		}
		x += w
	}
	return y + legendRow
}

// A graph is what Lines and Bands have in common.
type graph struct {
	class, label  string
	series        []Series
	step          time.Duration
	end           time.Time
	unit          Unit
	limit         float64
	width, height int
}

// length returns the number of values of the longest series.
func (g *graph) length() (n int) {
	for _, s := range g.series {
		n = max(n, len(s.Values))
	}
	return n
}

// value returns value i of n of a series, which may be shorter; -1: it is unknown.
func (s Series) value(i, n int) float64 {
	if i -= n - len(s.Values); i < 0 || !known(s.Values[i]) {
		return -1
	}
	return s.Values[i]
}

// color returns the class of series i.
func (s Series) color(i int) string {
	if s.Class != "" {
		return s.Class
	}
	return "c-s" + strconv.Itoa(i%8)
}

// entries are the series with their last values.
func (g *graph) entries() (all []entry) {
	n := g.length()
	for i, s := range g.series {
		all = append(all, entry{s.color(i), s.Name + " " + g.unit.format(s.value(n-1, n))})
	}
	if g.limit > 0 && known(g.limit) {
		all = append(all, entry{"c-limit", "limit " + g.unit.format(g.limit)})
	}
	return all
}

// begin draws all that is below the values, whose largest is high.
func (g *graph) begin(high float64) *plot {
	w, h := width(g.width, plotWidth), plotHeight
	if g.height > 0 {
		h = min(max(g.height, lowest), highest)
	}
	entries := g.entries()
	right := float64(w) - axisWidth
	left := max(4, right-spread(entries)) // the end of the legend is the end of the values
	above := legend(nil, entries, left, float64(w)) + 6
	h += max(0, int(above)-22)
	p := &plot{drawing: begin(g.class, g.label, w, h, false), unit: g.unit, n: g.length()}
	p.area = box{4, above, right - 4, float64(h) - above - axisHeight}
	p.line = evenly(p.n, g.step, g.end, p.area.x, p.area.w)
	p.columns = columnsOf(p.n, p.area.w)
	if g.limit <= 3*high && known(g.limit) { // a bound that is far away would make a flat line of the values
		high = max(high, g.limit)
	}
	step, top := g.unit.ticks(high)
	p.top = top
	legend(p.drawing, entries, left, float64(w))
	if p.n == 0 {
		p.rect("c-unknown", p.area, 0, "unknown")
		p.text("c-text", p.area.x+p.area.w/2, p.area.y+p.area.h/2, around, "unknown")
		return p
	}
	p.grid(step)
	return p
}

// finish draws what is above the values.
func (g *graph) finish(p *plot, says func(k int) string) template.HTML {
	p.limit(g.limit)
	if p.n > 0 {
		p.hits(says)
	}
	return p.end()
}

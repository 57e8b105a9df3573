package chart

import (
	"html/template"
	"math"
	"strconv"
	"time"
)

// HeatMap draws counts by group and time. The color of a cell is logarithmic, from none to the largest count of all.
type HeatMap struct {
	Label string
	Rows  []HeatRow
	Step  time.Duration // the time that a cell stands for
	End   time.Time     // the end of the last cells
	Width int           // in pixels; 0: 640
}

// A HeatRow is one group of a [HeatMap]. The last cell is at the end of the chart; before the first one, the row is
// unknown.
type HeatRow struct {
	Label string
	Href  string // where the label leads; "": nowhere
	Cells []HeatCell
}

// A HeatCell is the count of a group in one step of time. More cells than the width has columns are joined, and joined
// cells have no link.
type HeatCell struct {
	Count    float64
	Href     string // where the cell leads; "": nowhere. A cell with no count has no link
	Selected bool
}

// SVG returns the chart.
func (c HeatMap) SVG() template.HTML {
	const row = 20.0
	n, rest := cut(len(c.Rows))
	w := width(c.Width, rowsWidth)
	h := heat{cells: 0, step: c.Step, end: c.End, left: labels(w), w: float64(w) - labels(w) - 4}
	if h.step <= 0 {
		h.step = time.Minute
	}
	links := false
	for _, r := range c.Rows[:n] {
		h.cells = max(h.cells, len(r.Cells))
		links = links || r.links()
	}
	h.columns = columnsOf(h.cells, h.w/2)
	h.step = min(h.step, longestSpan/time.Duration(h.cells+1))
	joined := make([][]HeatCell, n)
	for i, r := range c.Rows[:n] {
		joined[i] = h.join(r.Cells)
		for _, cell := range joined[i] {
			h.high = max(h.high, cell.Count)
		}
	}
	bottom := topMargin + row*float64(n)
	d := begin("c-heat-map", c.Label, w, int(bottom)+axisHeight+restHeight(len(c.Rows)), links)
	h.drawing = d
	if h.cells > 0 {
		h.line().axis(d, topMargin, bottom)
	}
	for i, r := range c.Rows[:n] {
		y := topMargin + row*float64(i)
		end := d.link(r.Href)
		d.label(0, y+14, labels(w)-8, after, r.Label)
		end()
		h.row(r.Label, joined[i], y+1, row-2)
	}
	d.rest(len(c.Rows), bottom, rest)
	return d.end()
}

func (r HeatRow) links() bool {
	for _, cell := range r.Cells {
		if local(cell.Href) {
			return true
		}
	}
	return local(r.Href)
}

// A heat is the part of a heat map where its cells are.
type heat struct {
	*drawing
	cells   int // of the longest row
	columns []column
	step    time.Duration
	end     time.Time
	left, w float64
	high    float64
}

func (h *heat) line() timeline {
	return timeline{h.end.Add(-time.Duration(h.cells) * h.step), h.end, h.left, h.w}
}

// join adds up the cells of each column. A column is unknown if all its cells are.
func (h *heat) join(cells []HeatCell) []HeatCell {
	missing := h.cells - len(cells)
	all := make([]HeatCell, len(h.columns))
	for k, c := range h.columns {
		all[k].Count = -1
		for i := max(c.first, missing); i < c.last; i++ {
			cell := cells[i-missing]
			if known(cell.Count) {
				all[k].Count = max(all[k].Count, 0) + cell.Count
			}
			all[k].Selected = all[k].Selected || cell.Selected
			if c.last-c.first == 1 {
				all[k].Href = cell.Href
			}
		}
	}
	return all
}

// row draws the cells of one group. Neighbors that are unknown, or that have no count, are one mark.
func (h *heat) row(label string, cells []HeatCell, y, height float64) {
	for k := 0; k < len(cells); k++ {
		from, cell := k, cells[k]
		for cell.Count <= 0 && !cell.Selected && k+1 < len(cells) && cells[k+1].Count == cell.Count &&
			!cells[k+1].Selected {
			k++
		}
		at := column{h.columns[from].first, h.columns[k].last}
		left := h.left + h.w*float64(at.first)/float64(h.cells)
		right := h.left + h.w*float64(at.last)/float64(h.cells)
		class := h.class(cell.Count)
		if cell.Selected {
			class += " c-selected"
		}
		if cell.Count <= 0 {
			cell.Href = ""
		}
		end := h.link(cell.Href)
		h.rect(class, box{left, y, max(right-left-1, 1), height}, 0, h.tooltip(label, cell.Count, at))
		end()
	}
}

func (h *heat) class(count float64) string {
	switch {
	case count < 0:
		return "c-unknown"
	case count == 0:
		return "c-h0"
	default:
		return "c-h" + strconv.Itoa(min(max(int(math.Ceil(5*math.Log1p(count)/math.Log1p(h.high))), 1), 5))
	}
}

func (h *heat) tooltip(label string, count float64, at column) string {
	from := h.end.Add(-time.Duration(h.cells-at.first) * h.step)
	to := h.end.Add(-time.Duration(h.cells-at.last) * h.step)
	return fit(label, 300) + ", " + h.line().between(from, to) + ": " + Count.format(count)
}

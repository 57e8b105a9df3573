package chart

import "strconv"

// Sizes of charts with a row a thing, in pixels.
const (
	rowsWidth  = 640
	labelWidth = 190
	valueWidth = 110
	topMargin  = 4
	// Up to narrow, a bar is below its label and its value; from wide on, there is room for longer labels and values.
	narrow, wide   = 480, 1000
	wideLabelWidth = 250
	wideValueWidth = 150
)

// labels is the width of the labels of a chart.
func labels(w int) float64 {
	if w >= wide {
		return wideLabelWidth
	}
	return labelWidth
}

// A line is where one row is drawn.
type line struct {
	label, bar, value box // of the value, the right edge counts
	next              float64
}

// lineAt is the row at a height, whose bar is so high.
func lineAt(w int, y, high float64) line {
	width := float64(w)
	if w <= narrow {
		return line{
			label: box{0, y + 12, width*0.6 - 8, 0}, bar: box{0, y + 17, width, high},
			value: box{width, y + 12, width * 0.4, 0}, next: y + 17 + high + 8,
		}
	}
	left, right := labels(w), float64(valueWidth)
	if w >= wide {
		right = wideValueWidth
	}
	return line{
		label: box{0, y + 14, left - 8, 0}, bar: box{left, y + 4, width - left - right, high},
		value: box{width, y + 14, right - 6, 0}, next: y + 8 + high,
	}
}

// cut returns how many of n rows are drawn, and what the chart says of the rest.
func cut(n int) (drawn int, rest string) {
	if n <= mostRows {
		return n, ""
	}
	return mostRows, "and " + strconv.Itoa(n-mostRows) + " more"
}

// rest draws what is said of rows that are not drawn, or that there are none.
func (d *drawing) rest(n int, y float64, rest string) {
	if n == 0 {
		rest = "none"
	}
	if rest != "" {
		d.text("c-text c-name", 0, y+14, after, rest)
	}
}

// restHeight is the height that rest needs.
func restHeight(n int) int {
	if n == 0 || n > mostRows {
		return 20
	}
	return 0
}

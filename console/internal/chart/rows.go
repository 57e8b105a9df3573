package chart

import "strconv"

// Sizes of charts with a row a thing, in pixels.
const (
	rowsWidth  = 640
	labelWidth = 190
	valueWidth = 110
	topMargin  = 4
)

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

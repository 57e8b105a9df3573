package chart

import "html/template"

// Bars draws amounts by name: a bar a row, in the order given, and the number beside it.
type Bars struct {
	Label  string
	Rows   []Bar
	Unit   Unit
	Name   string // of the values; only used with Second
	Second string // the name of the second values; "": there are none
	Width  int    // in pixels; 0: 640
}

// A Bar is one row of [Bars].
type Bar struct {
	Label  string
	Value  float64
	Second float64 // drawn below the value, thin; only with Bars.Second
	Href   string  // where the label leads; "": nowhere
}

// SVG returns the chart.
func (c Bars) SVG() template.HTML {
	n, rest := cut(len(c.Rows))
	high, links, row := 0.0, false, 20.0
	for _, r := range c.Rows[:n] {
		for _, v := range [...]float64{r.Value, r.Second} {
			if known(v) {
				high = max(high, v)
			}
		}
		links = links || local(r.Href)
	}
	w, above := width(c.Width, rowsWidth), float64(topMargin)
	var entries []entry
	if c.Second != "" {
		entries = []entry{{"c-plain", c.Name}, {"c-second", c.Second}}
		above, row = legend(nil, entries, labelWidth, float64(w))+4, 26
	}
	d := begin("c-bars", c.Label, w, int(above+row*float64(n))+restHeight(len(c.Rows)), links)
	legend(d, entries, labelWidth, float64(w))
	for i, r := range c.Rows[:n] {
		c.row(d, r, box{0, above + float64(i)*row, float64(w), row}, max(high, 1e-9))
	}
	d.rest(len(c.Rows), above+row*float64(n), rest)
	return d.end()
}

// row draws one row at a place.
func (c Bars) row(d *drawing, r Bar, at box, high float64) {
	end := d.link(r.Href)
	d.label(0, at.y+14, labelWidth-8, after, r.Label)
	end()
	space := at.w - labelWidth - valueWidth
	bar := func(class, name string, v, y, h float64) {
		if name != "" {
			name += " "
		}
		size := box{labelWidth, y, space * v / high, h}
		if v > 0 {
			size.w = max(size.w, 1)
		}
		if !known(v) {
			class, size.w = "c-unknown", space
		}
		d.rect(class, size, 0, r.Label+": "+name+c.Unit.format(v))
	}
	says := c.Unit.format(r.Value)
	if c.Second == "" {
		bar("c-plain", "", r.Value, at.y+4, 13)
	} else {
		bar("c-plain", c.Name, r.Value, at.y+3, 12)
		bar("c-second", c.Second, r.Second, at.y+16, 5)
		says += " / " + c.Unit.format(r.Second)
	}
	d.label(at.w, at.y+14, valueWidth-6, before, says)
}

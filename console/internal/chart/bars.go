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
	high, links, tall := 0.0, false, 12.0
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
		above, tall = legend(nil, entries, 0, float64(w))+4, 18
	}
	row := lineAt(w, 0, tall).next
	bottom := above + row*float64(n)
	d := begin("c-bars", c.Label, w, int(bottom)+restHeight(len(c.Rows)), links)
	legend(d, entries, lineAt(w, 0, tall).bar.x, float64(w))
	for i, r := range c.Rows[:n] {
		c.row(d, r, lineAt(w, above+float64(i)*row, tall), max(high, 1e-9))
	}
	d.rest(len(c.Rows), bottom, rest)
	return d.end()
}

// row draws one row at a place.
func (c Bars) row(d *drawing, r Bar, at line, high float64) {
	end := d.link(r.Href)
	d.label(at.label.x, at.label.y, at.label.w, after, r.Label)
	end()
	bar := func(class, name string, v, y, h float64) {
		if name != "" {
			name += " "
		}
		size := box{at.bar.x, y, at.bar.w * v / high, h}
		if v > 0 {
			size.w = max(size.w, 1)
		}
		if !known(v) {
			class, size.w = "c-unknown", at.bar.w
		}
		d.rect(class, size, 0, r.Label+": "+name+c.Unit.format(v))
	}
	says := c.Unit.format(r.Value)
	if c.Second == "" {
		bar("c-plain", "", r.Value, at.bar.y, at.bar.h)
	} else {
		bar("c-plain", c.Name, r.Value, at.bar.y, 12)
		bar("c-second", c.Second, r.Second, at.bar.y+13, 5)
		says += " / " + c.Unit.format(r.Second)
	}
	d.label(at.value.x, at.value.y, at.value.w, before, says)
}

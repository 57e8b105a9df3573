package chart

import (
	"html"
	"html/template"
	"math"
	"net/url"
	"strconv"
	"strings"
)

// Bounds of the width of charts that have one.
const (
	narrowest = 240
	widest    = 4000
)

// mostRows bounds the rows of charts that have them: what has more cannot be read. The chart says how many are missing.
const mostRows = 200

// width returns the width of a chart, in pixels.
func width(asked, usual int) int {
	if asked <= 0 {
		return usual
	}
	return min(max(asked, narrowest), widest)
}

// A box is a rectangle.
type box struct{ x, y, w, h float64 }

// A drawing is an svg element that is being written.
type drawing struct{ b []byte }

// begin starts a chart. Its role is img; with links, it is group, because a browser hides what is inside an img from
// people who do not see it.
func begin(class, label string, w, h int, links bool) *drawing {
	d := &drawing{b: make([]byte, 0, 4096)}
	role := "img"
	if links {
		role = "group"
	}
	d.raw(`<svg class="` + class + `" role="` + role + `" aria-label="`).escaped(label).raw(`"`)
	d.size(w, h).raw(` font-size="11">`)
	return d
}

// beginSmall starts a chart without texts, whose label is its tooltip.
func beginSmall(class, label string, w, h int) *drawing {
	d := &drawing{b: make([]byte, 0, 320)}
	d.raw(`<svg class="`+class+`" role="img"`).size(w, h).raw(">")
	d.title(label)
	return d
}

func (d *drawing) size(w, h int) *drawing {
	width, height := strconv.Itoa(w), strconv.Itoa(h)
	return d.raw(` viewBox="0 0 ` + width + " " + height + `" width="` + width + `" height="` + height + `"`)
}

// end completes the chart.
func (d *drawing) end() template.HTML {
	d.raw("</svg>")
	return template.HTML(d.b)
}

func (d *drawing) raw(s string) *drawing {
	d.b = append(d.b, s...)
	return d
}

// escaped writes a text, which may come from anybody.
func (d *drawing) escaped(s string) *drawing { return d.raw(html.EscapeString(Plain(s, longest))) }

func (d *drawing) title(s string) { d.raw("<title>").escaped(s).raw("</title>") }

// attribute writes an attribute that is a number.
func (d *drawing) attribute(name string, v float64) *drawing {
	d.raw(" " + name + `="`)
	d.b = number(d.b, v)
	return d.raw(`"`)
}

// open writes the begin of a tag with a class.
func (d *drawing) open(tag, class string) *drawing {
	d.raw("<" + tag)
	if class != "" {
		d.raw(` class="`).escaped(class).raw(`"`)
	}
	return d
}

// shut ends a tag whose only content is a tooltip, if there is one.
func (d *drawing) shut(tag, title string) {
	if title == "" {
		d.raw("/>")
		return
	}
	d.raw(">").title(title)
	d.raw("</" + tag + ">")
}

func (d *drawing) rect(class string, r box, round float64, title string) {
	d.open("rect", class)
	if r.x != 0 {
		d.attribute("x", r.x)
	}
	if r.y != 0 {
		d.attribute("y", r.y)
	}
	d.attribute("width", max(r.w, 0)).attribute("height", max(r.h, 0))
	if round > 0 {
		d.attribute("rx", round)
	}
	d.shut("rect", title)
}

func (d *drawing) circle(class string, x, y, r float64, title string) {
	d.open("circle", class).attribute("cx", x).attribute("cy", y).attribute("r", r).shut("circle", title)
}

// path writes a path; an empty one is left out.
func (d *drawing) path(class string, p path, title string) {
	if len(p) > 0 {
		d.open("path", class).raw(` d="`).raw(string(p)).raw(`"`).shut("path", title)
	}
}

// Where a text is, seen from its point.
const (
	after  = ""
	around = "middle"
	before = "end"
)

func (d *drawing) text(class string, x, y float64, where, s string) {
	d.open("text", class).attribute("x", x).attribute("y", y)
	if where != after {
		d.raw(` text-anchor="` + where + `"`)
	}
	d.raw(">").escaped(s).raw("</text>")
}

// label writes a text that is cut to a width. What is cut has the whole text as its tooltip.
func (d *drawing) label(x, y, w float64, where, s string) {
	short := fit(s, w)
	if short == Plain(s, longest) {
		d.text("c-text", x, y, where, short)
		return
	}
	d.raw("<g>").title(s)
	d.text("c-text", x, y, where, short)
	d.raw("</g>")
}

// link begins a link, and returns what ends it. It does nothing for a link that leads to no page of this server.
func (d *drawing) link(href string) (end func()) {
	if !local(href) {
		return func() {}
	}
	d.raw(`<a href="` + html.EscapeString(href) + `">`)
	return func() { d.raw("</a>") }
}

// local reports whether a link leads to a page of the same server. Browsers read a backslash as a slash.
func local(href string) bool {
	if href == "" || strings.Contains(href, `\`) || strings.HasPrefix(href, "//") {
		return false
	}
	u, err := url.Parse(href)
	return err == nil && u.Scheme == "" && u.Host == "" && Plain(href, longest) == href
}

// A path is the value of the attribute d.
type path []byte

func (p path) move(x, y float64) path { return p.to('M', x, y) }
func (p path) line(x, y float64) path { return p.to('L', x, y) }

// to writes a command with its numbers.
func (p path) to(command byte, numbers ...float64) path {
	p = append(p, command)
	for i, v := range numbers {
		if i > 0 {
			p = append(p, ' ')
		}
		p = number(p, v)
	}
	return p
}

// number writes a coordinate with one decimal.
func number(b []byte, v float64) []byte {
	v = math.Round(v*10) / 10
	if v == 0 {
		v = 0 // not -0
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}

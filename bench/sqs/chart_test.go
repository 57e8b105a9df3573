//go:build unix

package sqs

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// chart is a line chart as an SVG picture. Its positions on the x axis have names.
type chart struct {
	title, unit string
	at          []string // the names of the positions, from left to right
	under       string   // the title of the x axis
	log         bool     // logarithmic y axis
	lines       []line
}

type line struct {
	name   string
	values []float64 // one for each position; NaN: no value
}

// Each contender has the same colour and dash pattern in all charts. The dash patterns tell them apart without colours.
var (
	drawn   = []string{byHand.name, byWatermill.name, byGoCloud.name, byGodwit.name}
	colours = []string{"#cc79a7", "#0072b2", "#d55e00", "#009e73", "#000000"} // the first is for lines of no contender
	dashes  = []string{"1 3", "8 3", "3 3", "10 3 2 3", ""}
)

const (
	wide, high          = 720.0, 360.0
	left, right         = 70.0, 190.0
	above, below        = 40.0, 50.0
	plotWide, plotHigh  = wide - left - right, high - above - below
	gridLines           = 5
	smallest, labelSize = 0.01, 12
)

func (c *chart) svg() string {
	var b strings.Builder
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="%d">`+"\n",
		wide, high, labelSize)
	fmt.Fprintf(&b, `<rect width="%g" height="%g" fill="white"/>`+"\n", wide, high)
	fmt.Fprintf(&b, `<text x="%g" y="20" font-size="14">%s</text>`+"\n", left, escape(c.title))
	low, top := c.bounds()
	for _, v := range c.grid(low, top) {
		y := c.y(v, low, top)
		fmt.Fprintf(&b, `<path d="M%g %.1fH%g" stroke="#ddd"/><text x="%g" y="%.1f" text-anchor="end">%s</text>`+"\n",
			left, y, left+plotWide, left-6, y+4, escape(short(v)+c.unit))
	}
	for i, name := range c.at {
		fmt.Fprintf(&b, `<text x="%.1f" y="%g" text-anchor="middle">%s</text>`+"\n", c.x(i), high-below+18,
			escape(name))
	}
	fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="middle">%s</text>`+"\n", left+plotWide/2, high-10,
		escape(c.under))
	for i, l := range c.lines {
		c.draw(&b, i, slices.Index(drawn, l.name)+1, l, low, top)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (c *chart) draw(b *strings.Builder, i, style int, l line, low, top float64) {
	pen := fmt.Sprintf(`stroke="%s" stroke-width="2" stroke-dasharray="%s" fill="none"`, colours[style], dashes[style])
	path, verb := "", "M"
	for k, v := range l.values {
		if math.IsNaN(v) {
			verb = "M"
			continue
		}
		path += fmt.Sprintf("%s%.1f %.1f", verb, c.x(k), c.y(v, low, top))
		verb = "L"
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", c.x(k), c.y(v, low, top), colours[style])
	}
	fmt.Fprintf(b, `<path d="%s" %s/>`+"\n", path, pen)
	y := above + 10 + 20*float64(i)
	fmt.Fprintf(b, `<path d="M%g %gh26" %s/><text x="%g" y="%g">%s</text>`+"\n", left+plotWide+14, y, pen,
		left+plotWide+46, y+4, escape(l.name))
}

func (c *chart) bounds() (low, top float64) {
	low, top = math.Inf(1), 0
	for _, l := range c.lines {
		for _, v := range l.values {
			if !math.IsNaN(v) {
				low, top = min(low, max(v, smallest)), max(top, v)
			}
		}
	}
	if c.log {
		return math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(max(top, low*1.01))))
	}
	return 0, max(top, smallest) * 1.05
}

func (c *chart) grid(low, top float64) (values []float64) {
	if c.log {
		for v := low; v <= top*1.001; v *= 10 {
			values = append(values, v)
		}
		return values
	}
	step := math.Pow(10, math.Floor(math.Log10(top)))
	for _, part := range []float64{5, 4, 2} {
		if top/step < gridLines-1 {
			step /= part
			break
		}
	}
	for v := 0.0; v <= top; v += step {
		values = append(values, v)
	}
	return values
}

func (c *chart) x(i int) float64 {
	return left + plotWide*(float64(i)+0.5)/float64(len(c.at))
}

func (c *chart) y(v, low, top float64) float64 {
	part := (v - low) / (top - low)
	if c.log {
		part = math.Log(max(v, low)/low) / math.Log(top/low)
	}
	return above + plotHigh*(1-part)
}

func escape(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		panic(err) // a Builder accepts everything
	}
	return b.String()
}

// short formats a number with at most three significant digits.
func short(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 1:
		return fmt.Sprintf("%.3g", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// A chart is well-formed XML and draws each value once.
func TestChart(t *testing.T) {
	for _, scale := range []bool{false, true} {
		c := chart{
			title: "a < b & c", unit: " %", at: []string{"1", "10"}, under: "at", log: scale,
			lines: []line{{"one", []float64{1, 250}}, {"two", []float64{math.NaN(), 3}}},
		}
		circles := 0
		for d := xml.NewDecoder(strings.NewReader(c.svg())); ; {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "circle" {
				circles++
			}
		}
		if circles != 3 {
			t.Errorf("%d points are drawn, want 3", circles)
		}
	}
}

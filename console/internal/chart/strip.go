package chart

import (
	"html/template"
	"math"
	"time"
)

// Strip draws an age against a tolerance. The tolerance is always at two thirds of the width, so that in a table only
// what is beyond it reaches the last third, which is logarithmic up to a hundred times the tolerance.
type Strip struct {
	Label     string
	Age       time.Duration // negative: unknown
	Tolerance time.Duration // 0: none; then the scale is logarithmic from a second to 14 days
}

// Sizes of a strip, in pixels.
const stripWidth, stripHeight = 120, 10

// SVG returns the chart, in about 250 bytes and the label.
func (c Strip) SVG() template.HTML {
	says := age(c.Age)
	if c.Label != "" {
		says = c.Label + ": " + says
	}
	if c.Tolerance > 0 {
		says += ", tolerated " + age(c.Tolerance)
	}
	d := beginSmall("c-strip", says, stripWidth, stripHeight)
	class, share := against(c.Age, c.Tolerance)
	if c.Age < 0 {
		share = 1
	} else {
		d.rect("c-track", box{w: stripWidth, h: stripHeight}, 0, "")
	}
	d.rect(class, box{w: math.Ceil(share * stripWidth), h: stripHeight}, 0, "")
	if c.Tolerance > 0 {
		d.path("c-limit", path(nil).move(bound*stripWidth, 0).to('v', stripHeight), "")
	}
	return d.end()
}

// bound is where the bound of an age is, as a share of the width.
const bound = 2.0 / 3

// against returns the class of an age and its share of the width: linear up to its bound, logarithmic beyond.
func against(d, limit time.Duration) (class string, share float64) {
	switch {
	case d < 0:
		return "c-unknown", 0
	case limit <= 0:
		share = math.Log1p(d.Seconds()) / math.Log1p((14 * day).Seconds())
		return "c-plain", min(share, 1)
	case d <= limit:
		return "c-ok", bound * float64(d) / float64(limit)
	default:
		share = bound + (1-bound)*math.Log10(float64(d)/float64(limit))/2
		return "c-bad", min(share, 1)
	}
}

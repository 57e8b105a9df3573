package chart

import (
	"html/template"
	"slices"
	"strings"
	"time"
)

// Bands draws series as areas upon each other, the first at the bottom, so that their sum is seen. Where one of the
// series is unknown, so is the sum, and the background is grey. A series that is always unknown is only in the legend.
type Bands struct {
	Label  string
	Series []Series
	Step   time.Duration // between two values
	End    time.Time     // of the last values
	Unit   Unit
	Limit  float64 // the bound of the sum; 0: none
	Width  int     // in pixels; 0: 640
	Height int     // in pixels; 0: 180. A legend of several rows is added
}

// SVG returns the chart.
func (c Bands) SVG() template.HTML {
	g := &graph{"c-bands", c.Label, c.Series, c.Step, c.End, c.Unit, c.Limit, c.Width, c.Height}
	s := newStack(c.Series, g.length())
	p := g.begin(slices.Max(append(s.sums, 0)))
	chosen := make([]int, len(p.columns)) // the value of each column that has the largest sum; -1: all are unknown
	for k, at := range p.columns {
		chosen[k] = -1
		for i := at.first; i < at.last; i++ {
			if s.sums[i] >= 0 && (chosen[k] < 0 || s.sums[i] > s.sums[chosen[k]]) {
				chosen[k] = i
			}
		}
	}
	if len(s.series) > 0 {
		p.unknown(func(k int) bool { return chosen[k] < 0 })
	} else {
		p.unknown(func(int) bool { return true })
	}
	for j, at := range s.series {
		p.path("c-area "+c.Series[at].color(at), s.area(p, j, chosen), "")
	}
	return g.finish(p, func(k int) string {
		if chosen[k] < 0 {
			return "unknown"
		}
		var says []string
		for _, at := range s.series {
			says = append(says, c.Series[at].Name+" "+c.Unit.format(c.Series[at].value(chosen[k], p.n)))
		}
		return strings.Join(append(says, "all "+c.Unit.format(s.sums[chosen[k]])), ", ")
	})
}

// A stack is a set of series upon each other.
type stack struct {
	series []int       // those that have a known value
	tops   [][]float64 // the upper edge of each of them
	sums   []float64   // -1: unknown
}

func newStack(series []Series, n int) *stack {
	s := &stack{sums: make([]float64, n)}
	for i := range series {
		if slices.ContainsFunc(series[i].Values, known) {
			s.series = append(s.series, i)
		}
	}
	for range s.series {
		s.tops = append(s.tops, make([]float64, n))
	}
	for i := range n {
		if len(s.series) == 0 {
			s.sums[i] = -1
		}
		for j, at := range s.series {
			v := series[at].value(i, n)
			if v < 0 {
				s.sums[i] = -1
				break
			}
			s.sums[i] += v
			s.tops[j][i] = s.sums[i]
		}
	}
	return s
}

// area returns the area of series j, with gaps where the sum is unknown.
func (s *stack) area(p *plot, j int, chosen []int) (all path) {
	bottom := func(i int) float64 {
		if j == 0 {
			return 0
		}
		return s.tops[j-1][i]
	}
	for k := 0; k < len(chosen); k++ {
		if chosen[k] < 0 {
			continue
		}
		from := k
		for k+1 < len(chosen) && chosen[k+1] >= 0 {
			k++
		}
		// The first and last columns are as wide as the others, so that one alone is seen.
		left, _ := p.edges(p.columns[from])
		_, right := p.edges(p.columns[k])
		all = all.move(left, p.y(s.tops[j][chosen[from]]))
		for _, i := range chosen[from : k+1] {
			all = all.line(p.x(i), p.y(s.tops[j][i]))
		}
		all = all.line(right, p.y(s.tops[j][chosen[k]])).line(right, p.y(bottom(chosen[k])))
		for at := k; at >= from; at-- {
			all = all.line(p.x(chosen[at]), p.y(bottom(chosen[at])))
		}
		all = all.line(left, p.y(bottom(chosen[from]))).to('Z')
	}
	return all
}

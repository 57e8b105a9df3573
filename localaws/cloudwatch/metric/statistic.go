package metric

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Statistic computes one number from samples. Parse returns one.
type Statistic struct {
	Name string // as it was given
	// NeedsValues says that the statistic needs the samples' values, which a statistic set does not have.
	NeedsValues bool

	of func(*Stats) float64
}

// Of returns the statistic of samples; ok is false if it needs values that are unknown.
func (s *Statistic) Of(stats *Stats) (x float64, ok bool) {
	if stats.Count == 0 || s.NeedsValues && !stats.Known() {
		return 0, false
	}
	x = s.of(stats)
	return x, !math.IsNaN(x)
}

// form is the form of an extended statistic: p99, tm90, TM(10%:90%), PR(:300).
var form = regexp.MustCompile(`^(?:(p|tm|wm|tc|ts)(\d{1,3}(?:\.\d{1,10})?)|(TM|WM|TC|TS|PR)\(([^:)]*):([^:)]*)\))$`)

// Parse returns the statistic with a name: one of the five simple ones, or an extended one.
func Parse(name string) (s Statistic, ok bool) {
	simple := map[string]func(*Stats) float64{
		"SampleCount": func(s *Stats) float64 { return s.Count },
		"Sum":         func(s *Stats) float64 { return s.Sum },
		"Minimum":     func(s *Stats) float64 { return s.Min },
		"Maximum":     func(s *Stats) float64 { return s.Max },
		"Average":     func(s *Stats) float64 { return s.Sum / s.Count },
	}
	if of := simple[name]; of != nil {
		return Statistic{Name: name, of: of}, true
	}
	of := extended(name)
	return Statistic{Name: name, NeedsValues: true, of: of}, of != nil
}

// Simple reports whether a name is one of the five simple statistics.
func Simple(name string) bool {
	s, ok := Parse(name)
	return ok && !s.NeedsValues
}

func extended(name string) func(*Stats) float64 {
	if name == "IQM" {
		return func(s *Stats) float64 { return mean(trimmed(s.values(), s.Count, 0.25, 0.75)) }
	}
	m := form.FindStringSubmatch(name)
	if m == nil {
		return nil
	}
	if m[1] != "" {
		percent, err := strconv.ParseFloat(m[2], 64)
		if err != nil || percent > 100 {
			return nil
		}
		return shortForm(m[1], percent/100)
	}
	return longForm(m[3], m[4], m[5])
}

// shortForm returns the statistic of a form with one percentage.
func shortForm(kind string, share float64) func(*Stats) float64 {
	if kind == "p" {
		return func(s *Stats) float64 { return percentile(s, share) }
	}
	return ranged(kind, func(s *Stats) (low, high float64, shares bool) { return 0, share, true })
}

// longForm returns the statistic of a form with two bounds, percentages or values. A missing bound is open.
func longForm(kind, low, high string) func(*Stats) float64 {
	shares := strings.HasSuffix(low, "%") || strings.HasSuffix(high, "%")
	from, ok1 := bound(low, shares, math.Inf(-1))
	to, ok2 := bound(high, shares, math.Inf(1))
	if !ok1 || !ok2 || low == "" && high == "" || from > to || shares && kind == "PR" {
		return nil
	}
	if kind == "PR" {
		return func(s *Stats) float64 { return 100 * count(within(s.values(), from, to)) / s.Count }
	}
	return ranged(strings.ToLower(kind), func(*Stats) (float64, float64, bool) { return from, to, shares })
}

func bound(text string, share bool, open float64) (float64, bool) {
	if text == "" {
		if share {
			return math.Max(0, math.Min(1, open)), true
		}
		return open, true
	}
	x, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	switch {
	case err != nil || share != strings.HasSuffix(text, "%"):
		return 0, false
	case share:
		return x / 100, x >= 0 && x <= 100
	}
	return x, true
}

// ranged returns a statistic of the samples between two bounds: their trimmed mean, winsorized mean, count or sum.
func ranged(kind string, bounds func(*Stats) (low, high float64, shares bool)) func(*Stats) float64 {
	return func(s *Stats) float64 {
		low, high, shares := bounds(s)
		var inside []Weighted
		if shares {
			inside = trimmed(s.values(), s.Count, low, high)
		} else {
			inside = within(s.values(), low, high)
		}
		switch kind {
		case "tc":
			return count(inside)
		case "ts":
			return sum(inside)
		case "wm":
			return winsorized(s, inside)
		default:
			return mean(inside)
		}
	}
}

// percentile returns the smallest value that at least the share of the samples does not exceed.
func percentile(s *Stats, share float64) float64 {
	wanted, seen := share*s.Count, 0.0
	for _, w := range s.values() {
		if seen += w.Count; seen >= wanted-1e-9*s.Count {
			return w.Value
		}
	}
	return s.Max
}

// trimmed returns the samples between two shares of all.
func trimmed(values []Weighted, total, low, high float64) []Weighted {
	var inside []Weighted
	from, to, seen := low*total, high*total, 0.0
	for _, w := range values {
		n := math.Min(seen+w.Count, to) - math.Max(seen, from)
		seen += w.Count
		if n > 0 {
			inside = append(inside, Weighted{Value: w.Value, Count: n})
		}
	}
	return inside
}

// within returns the samples in (low, high].
func within(values []Weighted, low, high float64) []Weighted {
	var inside []Weighted
	for _, w := range values {
		if w.Value > low && w.Value <= high {
			inside = append(inside, w)
		}
	}
	return inside
}

// winsorized returns the mean of all samples; a sample outside counts as the nearest one inside.
func winsorized(s *Stats, inside []Weighted) float64 {
	if len(inside) == 0 {
		return math.NaN()
	}
	low, high, total := inside[0].Value, inside[len(inside)-1].Value, 0.0
	for _, w := range s.values() {
		total += math.Max(low, math.Min(high, w.Value)) * w.Count
	}
	return total / s.Count
}

func count(values []Weighted) float64 {
	n := 0.0
	for _, w := range values {
		n += w.Count
	}
	return n
}

func sum(values []Weighted) float64 {
	x := 0.0
	for _, w := range values {
		x += w.Value * w.Count
	}
	return x
}

// mean returns the mean, which is not a number if there are no values.
func mean(values []Weighted) float64 { return sum(values) / count(values) }

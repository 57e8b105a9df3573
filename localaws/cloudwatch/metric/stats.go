package metric

import (
	"cmp"
	"math"
	"slices"
)

// Stats summarize samples. The zero value summarizes none.
type Stats struct {
	Count float64
	Sum   float64
	Min   float64
	Max   float64
	// Values are the samples, in order of their values; nil: they are unknown, or all have the value Min. Only with
	// them there are percentiles.
	Values []Weighted
}

// Weighted is a value and how many samples have it.
type Weighted struct {
	Value float64
	Count float64
}

// Of returns the Stats of one value that count samples have.
func Of(value, count float64) Stats {
	return Stats{Count: count, Sum: value * count, Min: value, Max: value}
}

// OfAll returns the Stats of values, which it sorts. Each value must be there once.
func OfAll(values []Weighted) Stats {
	var s Stats
	if len(values) == 0 {
		return s
	}
	slices.SortFunc(values, func(a, b Weighted) int { return cmp.Compare(a.Value, b.Value) })
	s.Min, s.Max = values[0].Value, values[len(values)-1].Value
	for _, w := range values {
		s.Count += w.Count
		s.Sum += w.Value * w.Count
	}
	if len(values) > 1 {
		s.Values = merge(values, nil)
	}
	return s
}

// Known reports whether the values of the samples are known.
func (s *Stats) Known() bool { return s.Values != nil || s.Min == s.Max }

// values returns the samples; they must be known.
func (s *Stats) values() []Weighted {
	if s.Values != nil || s.Count == 0 {
		return s.Values
	}
	return []Weighted{{Value: s.Min, Count: s.Count}}
}

// Add adds the samples of other. If the samples of one of them are unknown, so are those of the sum.
func (s *Stats) Add(other Stats) {
	switch {
	case other.Count == 0:
		return
	case s.Count == 0:
		*s = other
		s.Values = slices.Clone(other.Values)
		return
	}
	if s.Known() && other.Known() {
		if s.Min == s.Max && other.Min == other.Max && s.Min == other.Min {
			s.Values = nil
		} else {
			s.Values = merge(s.values(), other.values())
		}
	} else {
		s.Values = nil
	}
	s.Count += other.Count
	s.Sum += other.Sum
	s.Min = min(s.Min, other.Min)
	s.Max = max(s.Max, other.Max)
}

// merge returns the samples of both lists.
func merge(a, b []Weighted) []Weighted {
	merged := make([]Weighted, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		var next Weighted
		if len(b) == 0 || len(a) > 0 && a[0].Value <= b[0].Value {
			next, a = a[0], a[1:]
		} else {
			next, b = b[0], b[1:]
		}
		if last := len(merged) - 1; last >= 0 && merged[last].Value == next.Value {
			merged[last].Count += next.Count
			continue
		}
		merged = append(merged, next)
	}
	for bits := 8; len(merged) > maxValues; bits-- {
		merged = rounded(merged, bits)
	}
	return merged
}

// maxValues bounds the values of one point. Beyond it, they are rounded: CloudWatch's percentiles of many values are
// approximate as well.
const maxValues = 4096

// rounded joins values that are equal in their first bits; with eight, a value changes by at most 0.2 %.
func rounded(values []Weighted, bits int) []Weighted {
	joined := values[:0]
	for _, w := range values {
		fraction, exponent := math.Frexp(w.Value)
		scale := float64(int(1) << bits)
		w.Value = math.Ldexp(math.Round(fraction*scale)/scale, exponent)
		if last := len(joined) - 1; last >= 0 && joined[last].Value == w.Value {
			joined[last].Count += w.Count
			continue
		}
		joined = append(joined, w)
	}
	return joined
}

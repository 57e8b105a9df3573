package expression

import (
	"maps"
	"slices"
	"sort"
)

// Series is a list of times, in ascending order, with values.
type Series struct {
	ID     string
	Period int64 // seconds between two times
	Times  []int64
	Values []float64
}

// each returns a series with a function applied to every value.
func (s Series) each(f func(float64) float64) Series {
	out := Series{Period: s.Period, Times: s.Times, Values: make([]float64, len(s.Values))}
	for i, x := range s.Values {
		out.Values[i] = f(x)
	}
	return out
}

// with returns a series of the times that both have.
func (s Series) with(other Series, f func(a, b float64) float64) Series {
	out := Series{Period: max(s.Period, other.Period)}
	for i, j := 0, 0; i < len(s.Times) && j < len(other.Times); {
		switch {
		case s.Times[i] < other.Times[j]:
			i++
		case s.Times[i] > other.Times[j]:
			j++
		default:
			out.add(s.Times[i], f(s.Values[i], other.Values[j]))
			i, j = i+1, j+1
		}
	}
	return out
}

func (s *Series) add(at int64, x float64) {
	s.Times, s.Values = append(s.Times, at), append(s.Values, x)
}

// at returns the value at a time.
func (s Series) at(at int64) (float64, bool) {
	i := sort.Search(len(s.Times), func(i int) bool { return s.Times[i] >= at })
	if i == len(s.Times) || s.Times[i] != at {
		return 0, false
	}
	return s.Values[i], true
}

// across returns a series of all times that one of the series has, with a function of the values there.
func across(all []Series, f func([]float64) float64) Series {
	values := map[int64][]float64{}
	out := Series{}
	for _, s := range all {
		out.Period = max(out.Period, s.Period)
		for i, at := range s.Times {
			values[at] = append(values[at], s.Values[i])
		}
	}
	out.Times = slices.Sorted(maps.Keys(values))
	for _, at := range out.Times {
		out.Values = append(out.Values, f(values[at]))
	}
	return out
}

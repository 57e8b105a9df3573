package expression

import (
	"errors"
	"maps"
	"math"
	"slices"
)

// function is one function of metric math.
type function struct {
	least, most int // arguments
	call        func(env *Environment, args []value) (value, error)
}

// Functions returns the names of the supported functions.
func Functions() []string { return slices.Sorted(maps.Keys(functions())) }

func functions() map[string]function {
	return map[string]function{
		"ABS":   {1, 1, eachValue(math.Abs)},
		"CEIL":  {1, 1, eachValue(math.Ceil)},
		"FLOOR": {1, 1, eachValue(math.Floor)},
		"EXP":   {1, 1, eachValue(math.Exp)},
		"LOG":   {1, 1, eachValue(math.Log)},
		"LOG10": {1, 1, eachValue(math.Log10)},

		"AVG":    {1, 1, overall(average)},
		"MAX":    {1, 1, overall(slices.Max[[]float64])},
		"MIN":    {1, 1, overall(slices.Min[[]float64])},
		"SUM":    {1, 1, overall(total)},
		"STDDEV": {1, 1, overall(deviation)},

		"DIFF":        {1, 1, eachSeries(difference)},
		"RATE":        {1, 1, eachSeries(rate)},
		"RUNNING_SUM": {1, 1, eachSeries(runningSum)},

		"FILL":         {2, 2, fill},
		"IF":           {2, 3, choose},
		"METRICS":      {0, 1, metrics},
		"METRIC_COUNT": {1, 1, metricCount},
		"PERIOD":       {1, 1, period},
		"TIME_SERIES":  {1, 1, timeSeries},
	}
}

var errNotSeries = errors.New("the argument is not a time series")

func eachValue(f func(float64) float64) func(*Environment, []value) (value, error) {
	return func(_ *Environment, args []value) (value, error) {
		switch v := args[0]; v.kind {
		case scalar:
			return value{number: f(v.number)}, nil
		case word:
			return value{}, errNotSeries
		default:
			return v.map1(func(s Series) Series { return s.each(f).finite() }), nil
		}
	}
}

func eachSeries(f func(Series) Series) func(*Environment, []value) (value, error) {
	return func(_ *Environment, args []value) (value, error) {
		if v := args[0]; v.kind == one || v.kind == many {
			return v.map1(f), nil
		}
		return value{}, errNotSeries
	}
}

// overall returns a function that makes a number of a series, and one series of several.
func overall(f func([]float64) float64) func(*Environment, []value) (value, error) {
	return func(_ *Environment, args []value) (value, error) {
		switch v := args[0]; {
		case v.kind == many:
			return value{kind: one, series: []Series{across(v.series, f)}}, nil
		case v.kind == one && len(v.series[0].Values) == 0:
			return value{number: 0}, nil
		case v.kind == one:
			return value{number: f(v.series[0].Values)}, nil
		default:
			return value{}, errNotSeries
		}
	}
}

func total(values []float64) float64 {
	x := 0.0
	for _, v := range values {
		x += v
	}
	return x
}

func average(values []float64) float64 { return total(values) / float64(len(values)) }

func deviation(values []float64) float64 {
	mean, x := average(values), 0.0
	for _, v := range values {
		x += (v - mean) * (v - mean)
	}
	return math.Sqrt(x / float64(len(values)))
}

func difference(s Series) Series {
	out := Series{Period: s.Period}
	for i := 1; i < len(s.Values); i++ {
		out.add(s.Times[i], s.Values[i]-s.Values[i-1])
	}
	return out
}

func rate(s Series) Series {
	out := Series{Period: s.Period}
	for i := 1; i < len(s.Values); i++ {
		out.add(s.Times[i], (s.Values[i]-s.Values[i-1])/float64(s.Times[i]-s.Times[i-1]))
	}
	return out
}

func runningSum(s Series) Series {
	x := 0.0
	return s.each(func(v float64) float64 { x += v; return x })
}

// grid returns the times of the request's range, in the phase of a series.
func (env *Environment) grid(s Series) []int64 {
	period := s.Period
	if period <= 0 {
		period = env.Period
	}
	first := env.From
	if len(s.Times) > 0 {
		first = s.Times[0] - (s.Times[0]-env.From)/period*period
	}
	var times []int64
	for at := first; at < env.To; at += period {
		times = append(times, at)
	}
	return times
}

// fill fills the gaps of series with a number, another series, the last value (REPEAT), or a line between the
// neighbours (LINEAR).
func fill(env *Environment, args []value) (value, error) {
	v, with := args[0], args[1]
	if v.kind != one && v.kind != many || with.kind == many {
		return value{}, errNotSeries
	}
	return v.map1(func(s Series) Series {
		out := Series{Period: s.Period}
		for _, at := range env.grid(s) {
			x, ok := s.at(at)
			if !ok {
				x, ok = filling(s, with, at)
			}
			if ok {
				out.add(at, x)
			}
		}
		return out
	}), nil
}

func filling(s Series, with value, at int64) (float64, bool) {
	next, _ := slices.BinarySearch(s.Times, at)
	switch {
	case with.kind == scalar:
		return with.number, true
	case with.kind == one:
		return with.series[0].at(at)
	case next == 0:
		return 0, false
	case with.text == "REPEAT":
		return s.Values[next-1], true
	case next == len(s.Times):
		return 0, false
	}
	share := float64(at-s.Times[next-1]) / float64(s.Times[next]-s.Times[next-1])
	return s.Values[next-1] + share*(s.Values[next]-s.Values[next-1]), true
}

// choose is IF: at each time of the condition, the second argument where it is not 0, else the third; without a third
// argument, nothing.
func choose(env *Environment, args []value) (value, error) {
	condition := args[0]
	if condition.kind == scalar {
		v, err := timeSeries(env, []value{condition})
		if err != nil {
			return value{}, err
		}
		condition = v
	}
	if condition.kind != one {
		return value{}, errNotSeries
	}
	for _, v := range args[1:] {
		if v.kind != scalar && v.kind != one {
			return value{}, errNotSeries
		}
	}
	s := condition.series[0]
	out := Series{Period: s.Period}
	for i, at := range s.Times {
		branch := 1
		if s.Values[i] == 0 {
			branch = 2
		}
		if branch >= len(args) {
			continue
		}
		x, ok := args[branch].number, true
		if args[branch].kind == one {
			x, ok = args[branch].series[0].at(at)
		}
		if ok {
			out.add(at, x)
		}
	}
	return value{kind: one, series: []Series{out}}, nil
}

func metrics(env *Environment, args []value) (value, error) {
	part := ""
	if len(args) == 1 {
		if args[0].kind != word {
			return value{}, errors.New("the argument is not a text")
		}
		part = args[0].text
	}
	series, err := env.Metrics(part)
	return value{kind: many, series: series}, err
}

func metricCount(_ *Environment, args []value) (value, error) {
	if v := args[0]; v.kind == many || v.kind == one {
		return value{number: float64(len(v.series))}, nil
	}
	return value{}, errNotSeries
}

func period(_ *Environment, args []value) (value, error) {
	if args[0].kind != one {
		return value{}, errNotSeries
	}
	return value{number: float64(args[0].series[0].Period)}, nil
}

func timeSeries(env *Environment, args []value) (value, error) {
	if args[0].kind != scalar {
		return value{}, errors.New("the argument is not a number")
	}
	s := Series{Period: env.Period}
	for _, at := range env.grid(s) {
		s.add(at, args[0].number)
	}
	return value{kind: one, series: []Series{s}}, nil
}

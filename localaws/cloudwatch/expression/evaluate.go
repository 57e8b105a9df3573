package expression

import (
	"errors"
	"fmt"
	"math"
)

// Environment is what an expression is evaluated with.
type Environment struct {
	From, To, Period int64 // the request's range, for functions that fill gaps
	// Lookup returns the series of an id.
	Lookup func(id string) ([]Series, error)
	// Metrics returns the series of every metric whose id contains a text.
	Metrics func(part string) ([]Series, error)
}

// value is what a part of an expression evaluates to.
type value struct {
	kind   valueKind
	number float64
	series []Series // one, unless kind is many
	text   string
}

type valueKind uint8

const (
	scalar valueKind = iota
	one
	many
	word
)

// Evaluate returns the expression's series.
func (e *Expression) Evaluate(env *Environment) ([]Series, error) {
	v, err := env.value(&e.root)
	if err != nil {
		return nil, err
	}
	if v.kind != one && v.kind != many {
		return nil, errors.New("the result is not a time series")
	}
	return v.series, nil
}

func (env *Environment) value(n *node) (value, error) {
	switch n.kind {
	case numberNode:
		return value{number: n.number}, nil
	case textNode:
		return value{kind: word, text: n.text}, nil
	case idNode:
		series, err := env.Lookup(n.text)
		if len(series) == 1 {
			return value{kind: one, series: series}, err
		}
		return value{kind: many, series: series}, err
	case listNode:
		return env.list(n)
	case operatorNode:
		return env.operator(n)
	default:
		return env.call(n)
	}
}

func (env *Environment) list(n *node) (value, error) {
	all := value{kind: many}
	for i := range n.children {
		v, err := env.value(&n.children[i])
		if err != nil {
			return value{}, err
		}
		if v.kind != one && v.kind != many {
			return value{}, errors.New("a list has an element that is not a time series")
		}
		all.series = append(all.series, v.series...)
	}
	return all, nil
}

func (env *Environment) operator(n *node) (value, error) {
	a, err := env.value(&n.children[0])
	if err != nil {
		return value{}, err
	}
	b, err := env.value(&n.children[1])
	if err != nil {
		return value{}, err
	}
	return combine(a, b, operators(n.text))
}

// combine applies a function to two values: number by number, or at the times that both have.
func combine(a, b value, f func(a, b float64) float64) (value, error) {
	switch {
	case a.kind == word || b.kind == word:
		return value{}, errors.New("an operator cannot be applied to a text")
	case a.kind == scalar && b.kind == scalar:
		return value{number: f(a.number, b.number)}, nil
	case a.kind == scalar:
		return b.map1(func(s Series) Series {
			return s.each(func(x float64) float64 { return f(a.number, x) }).finite()
		}), nil
	case b.kind == scalar:
		return a.map1(func(s Series) Series {
			return s.each(func(x float64) float64 { return f(x, b.number) }).finite()
		}), nil
	case a.kind == many && b.kind == many:
		return value{}, errors.New("an operator cannot be applied to two lists of time series")
	case a.kind == many:
		return a.map1(func(s Series) Series { return s.with(b.series[0], f).finite() }), nil
	default:
		return b.map1(func(s Series) Series { return a.series[0].with(s, f).finite() }), nil
	}
}

// map1 applies a function to every series.
func (v value) map1(f func(Series) Series) value {
	out := value{kind: v.kind}
	for _, s := range v.series {
		mapped := f(s)
		mapped.ID = s.ID
		out.series = append(out.series, mapped)
	}
	return out
}

// finite returns a series without results that are not numbers, such as those of a division by zero.
func (s Series) finite() Series {
	out := Series{Period: s.Period}
	for i, x := range s.Values {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			out.add(s.Times[i], x)
		}
	}
	return out
}

func operators(name string) func(a, b float64) float64 {
	truth := func(yes bool) float64 {
		if yes {
			return 1
		}
		return 0
	}
	switch name {
	case "+":
		return func(a, b float64) float64 { return a + b }
	case "-":
		return func(a, b float64) float64 { return a - b }
	case "*":
		return func(a, b float64) float64 { return a * b }
	case "/":
		return func(a, b float64) float64 { return a / b }
	case "^":
		return math.Pow
	case "<":
		return func(a, b float64) float64 { return truth(a < b) }
	case ">":
		return func(a, b float64) float64 { return truth(a > b) }
	case "<=":
		return func(a, b float64) float64 { return truth(a <= b) }
	case ">=":
		return func(a, b float64) float64 { return truth(a >= b) }
	case "==":
		return func(a, b float64) float64 { return truth(a == b) }
	case "!=":
		return func(a, b float64) float64 { return truth(a != b) }
	case "AND", "&&":
		return func(a, b float64) float64 { return truth(a != 0 && b != 0) }
	default: // OR
		return func(a, b float64) float64 { return truth(a != 0 || b != 0) }
	}
}

func (env *Environment) call(n *node) (value, error) {
	args := make([]value, len(n.children))
	for i := range n.children {
		v, err := env.value(&n.children[i])
		if err != nil {
			return value{}, err
		}
		args[i] = v
	}
	out, err := functions()[n.text].call(env, args)
	if err != nil {
		return value{}, fmt.Errorf("function %s: %w", n.text, err)
	}
	return out, nil
}

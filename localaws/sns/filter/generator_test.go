package filter_test

import (
	"encoding/json"
	"math/rand/v2"

	"github.com/godwitmq/godwit/localaws/sns/filter"
)

// generator generates policies and messages from few names and values, so that they often match.
type generator struct{ *rand.Rand }

func pick[T any](d generator, from ...T) T { return from[d.IntN(len(from))] }

func (d generator) scalar() any {
	return pick[any](d, "x", "y", "xy", "X", "", "10.0.0.1", "::1", "1", true, false, nil, 1, 1.00001, 2, -3.5, 1e9,
		12345678901)
}

func (d generator) text() string { return pick(d, "x", "y", "xy", "X", "1", "Y") }

func (d generator) pattern() any {
	number := func() any { return pick[any](d, 1, 1.5, 2, -3.5) }
	switch d.IntN(14) {
	case 0:
		return map[string]any{"prefix": d.text()}
	case 1:
		return map[string]any{"suffix": d.text()}
	case 2:
		return map[string]any{"equals-ignore-case": d.text()}
	case 3:
		return map[string]any{"anything-but": d.text()}
	case 4:
		return map[string]any{"anything-but": []any{d.text(), d.text()}}
	case 5:
		return map[string]any{"anything-but": []any{number(), number()}}
	case 6:
		return map[string]any{"anything-but": map[string]any{"prefix": d.text()}}
	case 7:
		return map[string]any{"exists": d.IntN(2) == 0}
	case 8:
		return map[string]any{"cidr": pick(d, "10.0.0.0/8", "::/64", "11.0.0.0/8")}
	case 9:
		return map[string]any{"numeric": []any{pick(d, "=", "<", "<=", ">", ">="), number()}}
	case 10:
		return map[string]any{"numeric": []any{pick(d, ">", ">="), -4, pick(d, "<", "<="), number()}}
	case 11:
		return map[string]any{"wildcard": d.wildcard()}
	case 12:
		return map[string]any{"anything-but": map[string]any{"wildcard": d.wildcard()}}
	}
	return d.scalar()
}

func (d generator) wildcard() string {
	return pick(d, "*", "x*", "*y", "x*y", "*x*", "xy", "*1*x*", `\\*`, "Y*1")
}

func (d generator) policy(depth int) map[string]any {
	p := map[string]any{}
	for range 1 + d.IntN(2) {
		name := pick(d, "a", "b", "c", "a.b")
		if depth > 0 && d.IntN(3) == 0 {
			p[name] = d.policy(depth - 1)
			continue
		}
		if depth > 0 && d.IntN(5) == 0 {
			p["$or"] = []any{d.policy(depth - 1), d.policy(depth - 1)}
			continue
		}
		p[name] = []any{d.pattern(), d.pattern()}[:1+d.IntN(2)]
	}
	return p
}

func (d generator) body(depth int) any {
	if depth == 0 || d.IntN(3) == 0 {
		return d.scalar()
	}
	if d.IntN(2) == 0 {
		var a []any
		for range d.IntN(4) {
			a = append(a, d.body(depth-1))
		}
		return a
	}
	o := map[string]any{}
	for range 1 + d.IntN(3) {
		o[pick(d, "a", "b", "c", "a.b", "z")] = d.body(depth - 1)
	}
	return o
}

// object generates a body with most of the names that policies use.
func (d generator) object(depth int) map[string]any {
	o := map[string]any{}
	for _, name := range []string{"a", "b", "c", "a.b"} {
		if d.IntN(3) > 0 {
			o[name] = d.body(depth)
		}
	}
	return o
}

// attributes generates message attributes, and the leaves that the naive evaluator derives from them.
func (d generator) attributes() (out []filter.Attribute, leaves []naiveLeaf) {
	for _, name := range []string{"a", "b", "c", "a.b"} {
		switch d.IntN(4) {
		case 0:
			v := d.text()
			out = append(out, filter.Attribute{Name: name, Type: "String", Value: v})
			leaves = append(leaves, naiveLeaf{path: name, value: v})
		case 1:
			v := pick(d, "1", "1.0", "2", "-3.5")
			out = append(out, filter.Attribute{Name: name, Type: "Number", Value: v})
			leaves = append(leaves, naiveLeaf{path: name, value: json.Number(v)})
		case 2:
			out = append(out, filter.Attribute{Name: name, Type: "String.Array", Value: `["x",1,null,"10.0.0.1"]`})
			for _, v := range []any{"x", json.Number("1"), nil, "10.0.0.1"} {
				leaves = append(leaves, naiveLeaf{path: name, value: v})
			}
		}
	}
	return out, leaves
}

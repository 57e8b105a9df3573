package filter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/localaws/sns/filter"
)

// The naive evaluator works on decoded JSON, expands everything and tries every combination. It shares no code with the
// package.

type naiveLeaf struct {
	path  string
	value any
	place map[int]int
}

func naiveBody(body map[string]any) []naiveLeaf {
	var leaves []naiveLeaf
	arrays := 0
	var walk func(path string, v any, place map[int]int)
	walk = func(path string, v any, place map[int]int) {
		switch v := v.(type) {
		case map[string]any:
			for k, m := range v {
				walk(strings.TrimPrefix(path+"."+k, "."), m, place)
			}
		case []any:
			id := arrays
			arrays++
			for i, m := range v {
				inner := place
				switch m.(type) {
				case map[string]any, []any:
					inner = map[int]int{id: i}
					maps.Copy(inner, place)
				}
				walk(path, m, inner)
			}
		default:
			leaves = append(leaves, naiveLeaf{path, v, place})
		}
	}
	walk("", body, nil)
	return leaves
}

// naiveBranches expands a policy into lists of (path, patterns).
func naiveBranches(policy map[string]any, path string) []map[string][]any {
	all := []map[string][]any{{}}
	for name, v := range policy {
		var parts []map[string][]any
		full := strings.TrimPrefix(path+"."+name, ".")
		switch v := v.(type) {
		case map[string]any:
			parts = naiveBranches(v, full)
		case []any:
			if name != "$or" {
				parts = []map[string][]any{{full: v}}
				break
			}
			for _, alternative := range v {
				parts = append(parts, naiveBranches(alternative.(map[string]any), path)...)
			}
		}
		var product []map[string][]any
		for _, a := range all {
			for _, b := range parts {
				both := map[string][]any{}
				maps.Copy(both, a)
				maps.Copy(both, b)
				product = append(product, both)
			}
		}
		all = product
	}
	return all
}

func naiveMatch(policy map[string]any, leaves []naiveLeaf) bool {
	for _, branch := range naiveBranches(policy, "") {
		var paths []string
		for path := range branch {
			paths = append(paths, path)
		}
		for i := range paths { // by name, because absence depends on earlier choices
			for j := range i {
				if paths[i] < paths[j] {
					paths[i], paths[j] = paths[j], paths[i]
				}
			}
		}
		if naiveTry(paths, branch, leaves, nil) {
			return true
		}
	}
	return false
}

func naiveTry(paths []string, branch map[string][]any, leaves, chosen []naiveLeaf) bool {
	if len(paths) == 0 {
		return true
	}
	there := false
	for _, l := range leaves {
		if l.path != paths[0] || naiveClash(l, chosen) {
			continue
		}
		there = true
		for _, p := range branch[paths[0]] {
			if naiveValue(p, l.value) &&
				naiveTry(paths[1:], branch, leaves, append(append([]naiveLeaf{}, chosen...), l)) {
				return true
			}
		}
	}
	for _, p := range branch[paths[0]] {
		if m, ok := p.(map[string]any); ok && m["exists"] == false && !there {
			return naiveTry(paths[1:], branch, leaves, chosen)
		}
	}
	return false
}

func naiveClash(l naiveLeaf, chosen []naiveLeaf) bool {
	for _, c := range chosen {
		for array, i := range c.place {
			if j, both := l.place[array]; both && i != j {
				return true
			}
		}
	}
	return false
}

func naiveNumber(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return math.Round(f * 1e5), err == nil && math.Abs(f) <= 1e9
}

func naiveValue(p, v any) bool {
	operation, ok := p.(map[string]any)
	if !ok {
		return naiveSame(p, v)
	}
	text, isText := v.(string)
	for operator, operand := range operation {
		switch operator {
		case "prefix":
			return isText && strings.HasPrefix(text, operand.(string))
		case "suffix":
			return isText && strings.HasSuffix(text, operand.(string))
		case "wildcard":
			return isText && naiveGlob(operand.(string), text)
		case "equals-ignore-case":
			return isText && strings.EqualFold(text, operand.(string))
		case "exists":
			return operand.(bool)
		case "cidr":
			a, err := netip.ParseAddr(text)
			return isText && err == nil && netip.MustParsePrefix(operand.(string)).Contains(a)
		case "anything-but":
			return naiveAnythingBut(operand, v)
		case "numeric":
			return naiveNumeric(operand.([]any), v)
		}
	}
	panic(fmt.Sprint(p))
}

func naiveSame(p, v any) bool {
	if a, ok := naiveNumber(p); ok {
		if b, ok := naiveNumber(v); ok {
			return a == b
		}
	}
	if s, ok := p.(string); ok {
		if a, err := netip.ParseAddr(s); err == nil {
			text, _ := v.(string)
			b, err := netip.ParseAddr(text)
			return err == nil && a == b
		}
	}
	return p == v
}

func naiveAnythingBut(operand, v any) bool {
	switch o := operand.(type) {
	case map[string]any:
		s, ok := v.(string)
		if glob, is := o["wildcard"]; is {
			return !ok || !naiveGlob(glob.(string), s)
		}
		return !ok || !strings.HasPrefix(s, o["prefix"].(string))
	case []any:
		for _, one := range o {
			if !naiveAnythingBut(one, v) {
				return false
			}
		}
		return true
	case string:
		return v != o
	}
	return !naiveSame(operand, v)
}

// naiveGlob tries every length of the text for every wildcard.
func naiveGlob(glob, text string) bool {
	switch {
	case glob == "":
		return text == ""
	case glob[0] == '*':
		return naiveGlob(glob[1:], text) || text != "" && naiveGlob(glob, text[1:])
	case glob[0] == '\\':
		glob = glob[1:]
	}
	return text != "" && glob[0] == text[0] && naiveGlob(glob[1:], text[1:])
}

func naiveNumeric(terms []any, v any) bool {
	f, ok := naiveNumber(v)
	for i := 0; i < len(terms); i += 2 {
		bound, _ := naiveNumber(terms[i+1])
		switch terms[i] {
		case "=":
			ok = ok && f == bound
		case "<":
			ok = ok && f < bound
		case "<=":
			ok = ok && f <= bound
		case ">":
			ok = ok && f > bound
		case ">=":
			ok = ok && f >= bound
		}
	}
	return ok
}

// FuzzMatch compares the package with the naive evaluator. A policy may contain one path twice ("a.b" and a nested b
// under a, or a field inside and outside $or); which of them applies depends on their order, so such policies are left
// out.
func FuzzMatch(f *testing.F) {
	for seed := range uint64(2000) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		d := generator{rand.New(rand.NewPCG(seed, 7))}
		policy, policyText := through(t, d.policy(2))
		if overlaps(policy) {
			return
		}
		p, err := filter.Compile(policyText, filter.MessageBody)
		if err != nil {
			return
		}
		body, bodyText := through(t, d.object(3))
		if got, want := p.MatchBody(context.Background(), bodyText), naiveMatch(policy, naiveBody(body)); got != want {
			t.Fatalf("seed %d: policy %s, body %s: got %v, the naive evaluator says %v", seed, policyText, bodyText,
				got, want)
		}
		attributes, leaves := d.attributes()
		if p, err := filter.Compile(policyText, filter.MessageAttributes); err == nil && len(attributes) > 0 {
			if got, want := p.MatchAttributes(attributes), naiveMatch(policy, leaves); got != want {
				t.Fatalf("seed %d: policy %s, attributes %v: got %v, the naive evaluator says %v", seed, policyText,
					attributes, got, want)
			}
		}
	})
}

// overlaps reports whether one branch contains one path twice.
func overlaps(policy map[string]any) bool {
	seen := map[string]int{}
	var walk func(p map[string]any, path string)
	walk = func(p map[string]any, path string) {
		for name, v := range p {
			full := strings.TrimPrefix(path+"."+name, ".")
			switch v := v.(type) {
			case map[string]any:
				walk(v, full)
			case []any:
				if name != "$or" {
					seen[full]++
					break
				}
				for _, a := range v {
					walk(a.(map[string]any), path)
				}
			}
		}
	}
	walk(policy, "")
	for _, n := range seen {
		if n > 1 {
			return true
		}
	}
	return false
}

// through marshals v and parses it again, keeping numbers as written.
func through(t *testing.T, v map[string]any) (map[string]any, string) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var out map[string]any
	if err := dec.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out, string(raw)
}

package filter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/localaws/sns/filter"
)

// A pattern has at most three wildcards, and all wildcards of a policy at most 100 points: one wildcard counts one,
// several count three each, times the number of patterns of the field.
func TestWildcardLimits(t *testing.T) {
	field := func(pattern string, n int) string {
		return `[` + strings.TrimSuffix(strings.Repeat(`{"wildcard":"`+pattern+`"},`, n), ",") + `]`
	}
	for _, c := range []struct {
		policy, want string
	}{
		{`{"a":` + field("*a*b*", 1) + `}`, ""},
		{`{"a":` + field("*a*b*c*", 1) + `}`, "at most 3 wildcards"},
		{`{"a":` + field(`*a*b*c\\*`, 1) + `}`, ""},
		{`{"a":` + field("a*", 10) + `}`, ""},
		{`{"a":` + field("a*", 11) + `}`, "more than 100 points"},
		{`{"a":` + field("*a*", 4) + `}`, ""},
		{`{"a":` + field("*a*", 5) + `}`, "more than 100 points"},
		{`{"a":` + field("a", 20) + `}`, ""},
		{`{"a":` + field("a*", 8) + `,"b":` + field("a*", 6) + `}`, ""},
		{`{"a":` + field("a*", 8) + `,"b":` + field("*a*", 3) + `}`, "more than 100 points"},
		{`{"a":[{"anything-but":{"wildcard":[` + strings.Repeat(`"a*",`, 10) + `"b*"]}}]}`, "more than 100 points"},
	} {
		_, err := filter.Compile(c.policy, filter.MessageAttributes)
		if (err == nil) != (c.want == "") || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v, want %q", c.policy, err, c.want)
		}
	}
}

// The time of a match is proportional to the text, also for texts that almost match in many places.
func BenchmarkWildcard(b *testing.B) {
	p := compile(b, `{"a":[{"wildcard":"*ab*ac*"}]}`, filter.MessageAttributes)
	for _, n := range []int{1 << 10, 1 << 18} {
		given := []filter.Attribute{{Name: "a", Type: "String", Value: strings.Repeat("ab", n/2)}}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				p.MatchAttributes(given)
			}
		})
	}
}

package filter_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/localaws/sns/filter"
)

// Bodies for which trying choices one after another takes a time with the fourth power of the length of their arrays:
// four fields match in every element, and the last one never does.
func TestMatchingIsBounded(t *testing.T) {
	list := func(k int, element string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(element+",", k), ",") + "]"
	}
	five := func(last string) string {
		return `{"a":{"x":["1"]},"b":{"x":["1"]},"c":{"x":["1"]},"d":{"x":["1"]},"e":{"x":[` + last + `]}}`
	}
	beside := func(k int) string {
		one := list(k, `{"x":"1"}`)
		return fmt.Sprintf(`{"a":%s,"b":%s,"c":%s,"d":%s,"e":%s}`, one, one, one, one, list(k, `{"x":"2"}`))
	}
	var alternatives []string
	for i := range 9 {
		alternatives = append(alternatives, fmt.Sprintf(`{"e":{"x":["%d"]}}`, i+10))
	}
	for _, c := range []struct{ name, policy, body string }{
		{"arrays beside each other", five(`"1"`), beside(100)},
		{"with absence", five(`{"exists":false}`), beside(100)},
		{
			"arrays in arrays", `{"a":["1"],"b":["1"],"c":["1"],"d":["1"],"e":["1"]}`,
			`{"l":1,"a":` + list(10, list(10, `{"a":"1"}`)) + `,"b":` + list(10, list(10, `{"b":"1"}`)) + `}`,
		},
		{
			"one array", `{"l":{"a":["1"],"b":["1"],"c":["1"],"d":[{"exists":false}]}}`,
			`{"l":` + list(1000, `{"a":"1","b":[{"b":"1"}],"d":"1"}`) + `}`,
		},
		{
			"many alternatives",
			`{"a":{"x":["1"]},"b":{"x":["1"]},"c":{"x":["1"]},"$or":[` + strings.Join(alternatives[:9], ",") + `]}`,
			beside(100),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := filter.Compile(c.policy, filter.MessageBody)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if p.MatchBody(t.Context(), c.body) {
				t.Error("it matches")
			}
			took := time.Since(began)
			t.Logf("%d bytes took %v", len(c.body), took)
			if took > 50*time.Millisecond*time.Duration(slowed) {
				t.Errorf("it took %v", took)
			}
		})
	}
	// The work is proportional to the body, whatever its arrays have.
	p, err := filter.Compile(five(`{"exists":false}`), filter.MessageBody)
	if err != nil {
		t.Fatal(err)
	}
	body := beside(4000)
	began := time.Now()
	p.MatchBody(t.Context(), body)
	t.Logf("%d bytes took %v", len(body), time.Since(began))
}

// A clause has one value, also if two arrays have the same name.
func TestAChoiceIsMadeOnce(t *testing.T) {
	p, err := filter.Compile(`{"l":{"a":["1"],"b":[{"exists":false}]}}`, filter.MessageBody)
	if err != nil {
		t.Fatal(err)
	}
	one := `"l":[{"a":"1"},{"b":"1"}]`
	if !p.MatchBody(t.Context(), "{"+one+"}") {
		t.Error("one array does not match")
	}
	if p.MatchBody(t.Context(), "{"+one+","+one+"}") {
		t.Error("two arrays match, although the second one has the field")
	}
}

// slowed is how much slower a loaded machine with the race detector may be.
const slowed = 10

// A request that has ended matches no further alternatives.
func TestMatchingEndsWithItsRequest(t *testing.T) {
	p, err := filter.Compile(`{"a":["1"]}`, filter.MessageBody)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if !p.MatchBody(ctx, `{"a":"1"}`) {
		t.Error("it does not match")
	}
	cancel()
	if p.MatchBody(ctx, `{"a":"1"}`) {
		t.Error("it matches after the end")
	}
}

package filter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/localaws/sns/filter"
)

// at returns the position of an error as SNS appends it.
func at(policy string, column int) string {
	return fmt.Sprintf("\n at [Source: (String)\"%s\"; line: 1, column: %d]", policy, column)
}

func TestRefusalsAreWordedAsSNSDoes(t *testing.T) {
	for _, c := range []struct {
		policy, want string
		column       int // 0: the reason has no position
	}{
		// The first group is recorded from AWS, columns included.
		{`{"key":[["value"]]}`, "Match value must be String, number, true, false, or null", 10},
		{`{"key":[{"wrong-operator":true}]}`, "Unrecognized match type wrong-operator", 31},
		{`{"key":[{"suffix":"value","prefix":"value2"}]}`, "Only one key allowed in match expression", 37},
		{`{"key":[{"suffix":100}]}`, "suffix match pattern must be a string", 22},
		{`{"key":[{"suffix":null}]}`, "suffix match pattern must be a string", 23},
		{`{"key":{"suffix":"value"}}`, `"suffix" must be an object or an array`, 19},
		{`{"key":[{"suffix":[]}]}`, "suffix match pattern must be a string", 20},
		{`{"key":[{"suffix":["test","test2"]}]}`, "suffix match pattern must be a string", 20},
		{`{"key":{"not-an-operator":"value"}}`, `"not-an-operator" must be an object or an array`, 28},
		{`{"key_a":"value_one"}`, `"key_a" must be an object or an array`, 11},
		{`{"key":[{"numeric":[]}]}`, "Invalid member in numeric match: ]", 22},
		{`{"key":[{"numeric":["operator"]}]}`, "Unrecognized numeric range operator: operator", 32},
		{`{"key":[{"numeric":[1,"<="]}]}`, "Invalid member in numeric match: 1", 22},
		{`{"key":[{"numeric":["=","000"]}]}`, "Value of equals must be numeric", 26},
		{`{"key":[{"numeric":[">="]}]}`, "Value of >= must be numeric", 26},
		{`{"key":[{"numeric":["<",100,">",10]}]}`, "Too many elements in numeric expression", 30},
		{`{"key":[{"numeric":[">=",1,">",2]}]}`, "Bad numeric range operator: >", 31},
		{`{"key":[{"numeric":[">",3,"<",1]}]}`, "Bottom must be less than top", 33},
		{`{"key":[{"numeric":[">",20,"<="]}]}`, "Value of <= must be numeric", 33},
		{`{"key":[{"numeric":[">",20,30]}]}`, "Bad value in numeric range: 30", 30},
		{`{"key":[{"numeric":[">",20,"test"]}]}`, "Bad numeric range operator: test", 34},
		{`{"key":[{"numeric":[">","20","<","30"]}]}`, "Value of > must be numeric", 26},
		{`{"key":[{"numeric":[">",20,"<","30"]}]}`, "Value of < must be numeric", 33},
		{`{"key":[{"numeric":[">",20,"<",30,"<",50]}]}`, "Too many terms in numeric range expression", 36},
		{`{"key":[{"exists":null}]}`, "exists match pattern must be either true or false.", 23},
		{`{"key":[{"exists":"no"}]}`, "exists match pattern must be either true or false.", 20},
		{`{"key":[{"anything-but":{"wrong-operator":null}}]}`, "Unsupported anything-but pattern: wrong-operator", 47},
		{`{"key":[{"anything-but":{"suffix":"test"}}]}`, "Unsupported anything-but pattern: suffix", 36},
		{`{"key":[{"anything-but":{"exists":false}}]}`, "Unsupported anything-but pattern: exists", 40},
		{`{"key":[{"anything-but":{"prefix":false}}]}`, "prefix match pattern must be a string", 40},
		{
			`{"a":["1"],"b":["1"],"c":["1"],"d":["1"],"e":["1"],"f":["1"]}`,
			"Filter policy can not have more than 5 keys",
			0,
		},
		{`{"key":[` + strings.Repeat(`"v",`, 150) + `"v"]}`, "Filter policy is too complex", 0},
		{
			`{"k1":[` + strings.Repeat(`"v",`, 99) + `"v"],"k2":[` + strings.Repeat(`"v",`, 50) + `"v"]}`,
			"Filter policy is too complex", 0,
		},

		// The rest follows Amazon's published matcher.
		{`[]`, "Filter is not an object", 2},
		{`{"key":[]}`, "Empty arrays are not allowed", 10},
		{`{"key":{}}`, "Empty objects are not allowed", 10},
		{`{"key":[{}]}`, "Match expression name not found", 11},
		{`{"key":[{"wildcard":1}]}`, "wildcard match pattern must be a string", 22},
		{`{"key":[{"wildcard":["a*"]}]}`, "wildcard match pattern must be a string", 22},
		{`{"key":[{"wildcard":"abc**def"}]}`, "Consecutive wildcard characters at pos 4", 31},
		{`{"key":[{"wildcard":"é**"}]}`, "Consecutive wildcard characters at pos 3", 26},
		{`{"key":[{"wildcard":"a\\b"}]}`, "Invalid escape character at pos 2", 27},
		{`{"key":[{"wildcard":"a\\"}]}`, "Invalid escape character at pos 2", 26},
		{`{"key":[{"wildcard":"a","prefix":"b"}]}`, "Only one key allowed in match expression", 35},
		{`{"key":[{"anything-but":{"wildcard":1}}]}`, "wildcard match pattern must be a string", 38},
		{`{"key":[{"anything-but":{"wildcard":["a*",1]}}]}`, "wildcard match pattern must be a string", 44},
		{`{"key":[{"anything-but":{"wildcard":[]}}]}`, "Empty arrays are not allowed", 39},
		{`{"key":[{"numeric":["=",1],"prefix":"a"}]}`, "Too many elements in numeric expression", 38},
		{`{"key":[{"numeric":"a"}]}`, "Value of numeric must be an array.", 21},
		{`{"key":[{"numeric":["=",1e10]}]}`, "Value must be between -1.0E9 and 1.0E9, inclusive", 29},
		{
			`{"key":[{"anything-but":null}]}`, "Value of anything-but must be an array or single string/number value.",
			29,
		},
		{
			`{"key":[{"anything-but":["a",1]}]}`,
			"Inside anything but list, either all values are number or string, mixed type is not supported", 32,
		},
		{`{"key":[{"anything-but":[true]}]}`, "Inside anything but list, start|null|boolean is not supported.", 30},
		{`{"key":[{"anything-but":{"prefix":""}}]}`, "Null prefix not allowed", 37},
		{`{"key":[{"cidr":"10.0.0.0"}]}`, "Malformed CIDR, one '/' required", 0},
		{`{"key":[{"cidr":"10.0.0.0/x"}]}`, "Malformed CIDR, mask bits must be an integer", 0},
		{`{"key":[{"cidr":"10.0.0.0/32"}]}`, "IPv4 mask bits must be < 32", 0},
		{`{"key":[{"cidr":"host/8"}]}`, "Nonstandard IP address: host", 0},
		{`{"$or":{"a":["1"]}}`, "It must be an Array followed with $or.", 9},
		{`{"$or":[{"a":["1"]}]}`, "There must have at least 2 Objects in $or relationship.", 21},
		{`{"$or":["a","b"]}`, "Only JSON object is allowed in array of $or relationship.", 10},
		{
			`{"$or":[{"prefix":["1"]},{"b":["1"]}]}`,
			"prefix is Ruler reserved fieldName which cannot be used inside $or.", 20,
		},
	} {
		_, err := filter.Compile(c.policy, filter.MessageBody)
		want := "FilterPolicy: " + c.want
		if c.column > 0 {
			want += at(c.policy, c.column)
		}
		if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
			t.Errorf("%s: %s", c.policy, diff)
		}
	}
}

func TestWhiteSpaceDoesNotMoveColumns(t *testing.T) {
	_, err := filter.Compile("{ \"key\" :\n [ [ \"value\" ] ] }", filter.MessageAttributes)
	want := "FilterPolicy: Match value must be String, number, true, false, or null" + at(`{"key":[["value"]]}`, 10)
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

func TestLongSourceIsCut(t *testing.T) {
	policy := `{"key":[["` + strings.Repeat("x", 600) + `"]]}`
	_, err := filter.Compile(policy, filter.MessageAttributes)
	want := `(String)"` + policy[:500] + `"[truncated 114 chars]; line: 1, column: 10]`
	if !strings.HasSuffix(fmt.Sprint(err), want) {
		t.Errorf("got %v, want the end %s", err, want)
	}
}

func TestScopeMessageAttributesTakesNoNesting(t *testing.T) {
	const nested = `{"object":{"key":[{"prefix":"auto-"}]}}`
	_, err := filter.Compile(nested, filter.MessageAttributes)
	if want := "Filter policy scope MessageAttributes does not support nested filter policy"; fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := filter.Compile(nested, filter.MessageBody); err != nil {
		t.Errorf("scope MessageBody: %v", err)
	}
}

func TestCombinations(t *testing.T) {
	list := func(n int) string {
		values := make([]string, n)
		for i := range values {
			values[i] = fmt.Sprint(i)
		}
		return "[" + strings.Join(values, ",") + "]"
	}
	for _, c := range []struct {
		policy string
		ok     bool
	}{
		{`{"key":` + list(150) + `}`, true},
		// 3×4 × 2×3 × 3 = 216 combinations, and 144.
		{`{"a":{"b":{"c":` + list(4) + `}},"d":{"e":` + list(3) + `},"f":` + list(3) + `}`, false},
		{`{"a":{"b":{"c":` + list(4) + `}},"d":{"e":` + list(3) + `},"f":` + list(2) + `}`, true},
		{`{"s":` + list(4) + `,"$or":[{"n":` + list(6) + `},{"t":` + list(4) + `,"$or":[{"i":` + list(4) + `},{"p":` +
			list(4) + `}]}]}`, false}, // 152
		{`{"s":` + list(3) + `,"$or":[{"n":` + list(6) + `},{"t":` + list(4) + `,"$or":[{"i":` + list(4) + `},{"p":` +
			list(7) + `}]}]}`, true}, // 150
		{`{"$or":[{"m":` + list(3) + `},{"n":` + list(2) + `}],"d":{"s":` + list(2) + `,"$or":[{"a":` + list(1) +
			`},{"b":` + list(3) + `}]}}`, false}, // 160
	} {
		if _, err := filter.Compile(c.policy, filter.MessageBody); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.policy, err)
		}
	}
	if _, err := filter.Compile(`{"k":["`+strings.Repeat("x", 256<<10)+`"]}`, filter.MessageBody); err == nil {
		t.Error("a policy above 256 KB is accepted")
	}
}

func TestNestedOrStopsEarly(t *testing.T) {
	or := `"a":["x"]`
	for range 40 { // 2^40 branches, if they were not limited
		or = `"$or":[{"b":["y"]},{"c":["z"]}],"n":{` + or + `}`
	}
	if _, err := filter.Compile("{"+or+"}", filter.MessageBody); err == nil ||
		!strings.Contains(err.Error(), "too complex") {
		t.Errorf("got %v", err)
	}
}

func FuzzCompile(f *testing.F) {
	f.Add(`{"a":[{"numeric":[">",1,"<=",2]},{"anything-but":["x"]}],"$or":[{"b":[1]},{"c":[{"cidr":"::/1"}]}]}`)
	f.Add(`{"a":[{"anything-but":{"prefix":"x"}}]}`)
	f.Fuzz(func(t *testing.T, policy string) {
		for _, scope := range []filter.Scope{filter.MessageAttributes, filter.MessageBody} {
			p, err := filter.Compile(policy, scope)
			if (p == nil) != (err != nil) {
				t.Fatalf("policy %v, error %v", p, err)
			}
			if p != nil {
				p.MatchBody(t.Context(), policy)
			}
		}
	})
}

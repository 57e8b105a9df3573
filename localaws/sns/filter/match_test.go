package filter_test

import (
	"context"
	"testing"

	"github.com/godwitmq/godwit/localaws/sns/filter"
)

func compile(t testing.TB, policy string, scope filter.Scope) *filter.Policy {
	t.Helper()
	p, err := filter.Compile(policy, scope)
	if err != nil {
		t.Fatalf("%s: %v", policy, err)
	}
	return p
}

func TestMatchBody(t *testing.T) {
	for _, c := range []struct {
		policy   string
		yes, not []string
	}{
		{
			`{"a":["x"]}`,
			[]string{`{"a":"x"}`, `{"a":["y","x"]}`, `{"a":[["x"]]}`, `{"b":{"c":[1]},"a":"x"}`},
			[]string{
				`{"a":"X"}`, `{"b":"x"}`, `{}`, `"x"`, `x`, ``, `{"a":"x"`, `{"a":"x"}}`, `[{"a":"x"}]`,
				`{"a":{"b":"x"}}`,
			},
		},
		{
			`{"a":[1]}`,
			[]string{`{"a":1}`, `{"a":1.0}`, `{"a":10e-1}`, `{"a":1.000001}`},
			[]string{`{"a":"1"}`, `{"a":1.00001}`, `{"a":true}`},
		},
		{
			`{"a":[123456789012]}`,
			[]string{`{"a":123456789012}`},
			[]string{`{"a":123456789012.0}`, `{"a":123456789013}`},
		},
		{`{"a":[null,true]}`, []string{`{"a":null}`, `{"a":true}`}, []string{`{"a":false}`, `{"a":"null"}`, `{}`}},
		{
			`{"a":[{"prefix":"ab"}]}`,
			[]string{`{"a":"ab"}`, `{"a":"abc"}`},
			[]string{`{"a":"a"}`, `{"a":"Abc"}`, `{"a":1}`},
		},
		{`{"a":[{"suffix":"ab"}]}`, []string{`{"a":"ab"}`, `{"a":"cab"}`}, []string{`{"a":"abc"}`, `{"a":null}`}},
		{
			`{"a":[{"equals-ignore-case":"äB"}]}`,
			[]string{`{"a":"äb"}`, `{"a":"ÄB"}`},
			[]string{`{"a":"äbc"}`, `{"a":"ab"}`},
		},
		{
			`{"a":[{"anything-but":"x"}]}`,
			[]string{`{"a":"y"}`, `{"a":1}`, `{"a":null}`, `{"a":["x","y"]}`},
			[]string{`{"a":"x"}`, `{"a":["x","x"]}`, `{}`},
		},
		{
			`{"a":[{"wildcard":"a*b*c"}]}`,
			[]string{`{"a":"abc"}`, `{"a":"abbcc"}`, `{"a":"a*b*c"}`, `{"a":["x","axbxc"]}`},
			[]string{`{"a":"ac"}`, `{"a":"xabc"}`, `{"a":"abcx"}`, `{"a":"ABC"}`, `{"a":"acb"}`, `{"a":1}`},
		},
		{`{"a":[{"wildcard":"*"}]}`, []string{`{"a":""}`, `{"a":"x"}`}, []string{`{"a":1}`, `{"a":null}`, `{}`}},
		{`{"a":[{"wildcard":"ab"}]}`, []string{`{"a":"ab"}`}, []string{`{"a":"abc"}`, `{"a":"a"}`}},
		{`{"a":[{"wildcard":"aba*ba"}]}`, []string{`{"a":"ababa"}`}, []string{`{"a":"aba"}`}},
		{
			`{"a":[{"wildcard":"*\\*\\\\*"}]}`,
			[]string{`{"a":"*\\"}`, `{"a":"x*\\y"}`},
			[]string{`{"a":"x\\y"}`, `{"a":"*x\\"}`},
		},
		{
			`{"a":[{"anything-but":{"wildcard":"a*c"}}]}`,
			[]string{`{"a":"ab"}`, `{"a":1}`, `{"a":["abc","x"]}`},
			[]string{`{"a":"abc"}`, `{"a":"ac"}`, `{}`},
		},
		{
			`{"a":[{"anything-but":{"wildcard":["a*","*b"]}}]}`,
			[]string{`{"a":"ba"}`, `{"a":null}`},
			[]string{`{"a":"a"}`, `{"a":"cb"}`},
		},
		{`{"a":[{"anything-but":[1,2]}]}`, []string{`{"a":3}`, `{"a":"1"}`}, []string{`{"a":1.0}`, `{"a":[1,2]}`}},
		{`{"a":[{"anything-but":{"prefix":"x"}}]}`, []string{`{"a":"ax"}`, `{"a":5}`}, []string{`{"a":"xa"}`}},
		{`{"a":[{"numeric":["=",3.018e2]}]}`, []string{`{"a":301.8}`}, []string{`{"a":301.9}`, `{"a":"301.8"}`}},
		{
			`{"a":[{"numeric":[">",0,"<=",5]}]}`,
			[]string{`{"a":0.00001}`, `{"a":5}`},
			[]string{`{"a":0}`, `{"a":5.00001}`},
		},
		{
			`{"a":[{"numeric":["<",-1]}]}`,
			[]string{`{"a":-1.00001}`, `{"a":-1000000000}`},
			[]string{`{"a":-1}`, `{"a":-1000000001}`},
		},
		{`{"a":[{"numeric":[">=",1]}]}`, []string{`{"a":1}`, `{"a":1e9}`}, []string{`{"a":0.9}`, `{"a":2e9}`}},
		{
			`{"a":[{"exists":true}]}`,
			[]string{`{"a":1}`, `{"a":null}`, `{"a":[0]}`},
			[]string{`{"b":1}`, `{"a":{"b":1}}`, `{"a":[]}`},
		},
		{`{"a":[{"exists":false}]}`, []string{`{"b":1}`, `{}`, `{"a":{"b":1}}`}, []string{`{"a":1}`, `{"a":null}`}},
		{
			`{"a":[{"exists":false},"x"],"b":["y"]}`,
			[]string{`{"b":"y"}`, `{"a":"x","b":"y"}`},
			[]string{`{"a":"z","b":"y"}`, `{"a":"x"}`},
		},
		{
			`{"a":[{"cidr":"10.0.0.0/24"}]}`,
			[]string{`{"a":"10.0.0.0"}`, `{"a":"10.0.0.255"}`, `{"a":"010.0.0.1"}`},
			[]string{`{"a":"10.0.1.0"}`, `{"a":"::a"}`, `{"a":10}`},
		},
		{
			`{"a":[{"cidr":"2001:db8::/32"}]}`,
			[]string{`{"a":"2001:DB8::1"}`},
			[]string{`{"a":"2001:db9::1"}`, `{"a":"10.0.0.1"}`},
		},
		{
			`{"a":["::1","10.0.0.1"]}`,
			[]string{`{"a":"0:0:0:0:0:0:0:1"}`, `{"a":"10.0.0.1"}`},
			[]string{`{"a":"::2"}`, `{"a":"10.0.0.10"}`},
		},
		{`{"a.b":["x"]}`, []string{`{"a.b":"x"}`, `{"a":{"b":"x"}}`}, []string{`{"a":"x"}`}},
		{
			`{"a":{"b":["x"],"c":["y"]}}`,
			[]string{`{"a":{"b":"x","c":"y"}}`, `{"a":[{"b":"x","c":"y"}]}`, `{"a":[{"b":"x"},{"b":"x","c":"y"}]}`},
			[]string{`{"a":[{"b":"x"},{"c":"y"}]}`, `{"a":{"b":"x"}}`},
		},
		{
			`{"R":{"s3":{"object":{"key":[{"prefix":"auto-"}]}},"e":[{"prefix":"Created"}]}}`,
			[]string{`{"R":[{"e":"Created:Put","s3":{"object":[[{"key":"auto-1"}]]}},{"e":"Removed","s3":{"object":{"key":"home"}}}]}`},
			[]string{`{"R":[{"e":"Removed","s3":{"object":{"key":"auto-1"}}},{"e":"Created:Put","s3":{"object":{"key":"home"}}}]}`},
		},
		{
			`{"$or":[{"m":["c"]},{"n":["e"]}],"d":{"s":["S"],"$or":[{"o":["w"]},{"t":["C"]}]}}`,
			[]string{`{"m":"c","d":{"s":"S","o":"w"}}`, `{"n":"e","d":{"s":"S","t":"C"}}`},
			[]string{`{"m":"c","d":{"s":"S"}}`, `{"d":{"s":"S","t":"C"}}`, `{"m":"c","n":"e","d":{"o":"w","t":"C"}}`},
		},
		{`{"a":["x"],"a":["y"]}`, []string{`{"a":"y"}`}, []string{`{"a":"x"}`}},
		{`{"a":["\u00e9\n"]}`, []string{`{"a":"é\n"}`, `{"a":"\u00E9\u000a"}`}, []string{`{"a":"e"}`}},
	} {
		p := compile(t, c.policy, filter.MessageBody)
		for _, body := range c.yes {
			if !p.MatchBody(context.Background(), body) {
				t.Errorf("%s does not match %s", c.policy, body)
			}
		}
		for _, body := range c.not {
			if p.MatchBody(context.Background(), body) {
				t.Errorf("%s matches %s", c.policy, body)
			}
		}
	}
}

func TestMatchAttributes(t *testing.T) {
	text := func(v string) []filter.Attribute { return []filter.Attribute{{Name: "a", Type: "String", Value: v}} }
	typed := func(typ, v string) []filter.Attribute { return []filter.Attribute{{Name: "a", Type: typ, Value: v}} }
	for _, c := range []struct {
		policy string
		given  []filter.Attribute
		want   bool
	}{
		{`{"a":["x"]}`, text("x"), true},
		{`{"a":["x"]}`, text("X"), false},
		{`{"a":["x"]}`, nil, false},
		{`{"a":["1"]}`, typed("Number", "1"), false},
		{`{"a":[1]}`, typed("Number", "1.0"), true},
		{`{"a":[1]}`, text("1"), false},
		{`{"a":["x"]}`, typed("String.Array", `["y","x"]`), true},
		{`{"a":["x"]}`, typed("String.Array", `["y"]`), false},
		{`{"a":["x"]}`, typed("String.Array", `["x"`), false},
		{`{"a":["x"]}`, typed("String.Array", `"x"`), false},
		{`{"a":[true,null]}`, typed("String.Array", `[null]`), true},
		{`{"a":[2]}`, typed("String.Array", `["2",2.0]`), true},
		{`{"a":["x"]}`, typed("Binary", "x"), false},
		{`{"a":["x"]}`, typed("String.custom", "x"), false},
		{`{"a":[{"exists":true}]}`, typed("Binary", "x"), false},
		{`{"a":[{"exists":true}]}`, text("x"), true},
		{`{"b":[{"exists":false}]}`, text("x"), true},
		{`{"b":[{"exists":false}]}`, nil, false}, // as documented, a message without any attribute passes no policy
		{`{"a":[{"exists":false}]}`, text("x"), false},
		{`{"a":[{"anything-but":["x"]}]}`, typed("String.Array", `["x","y"]`), true},
		{`{"a":[{"anything-but":["x"]}]}`, typed("String.Array", `["x"]`), false},
		{`{"a":["x"],"b":["y"]}`, text("x"), false},
		{`{"$or":[{"a":["x"]},{"b":["y"]}]}`, text("x"), true},
		{`{"a":[null,{"anything-but":"whatever"}]}`, nil, false},
		{`{"a":[{"numeric":[">",0,"<=",100]}]}`, typed("Number", "99.12"), true},
		{`{"a":[{"numeric":[">",0,"<=",100]}]}`, typed("Number", "111"), false},
	} {
		p := compile(t, c.policy, filter.MessageAttributes)
		if got := p.MatchAttributes(c.given); got != c.want {
			t.Errorf("%s on %v: %v, want %v", c.policy, c.given, got, c.want)
		}
	}
}

func BenchmarkMatchAttributes(b *testing.B) {
	p := compile(b, `{"routing_key":[{"prefix":"MOBILE."},"X"]}`, filter.MessageAttributes)
	given := []filter.Attribute{{Name: "routing_key", Type: "String", Value: "MOBILE.APPLE"}}
	b.ReportAllocs()
	for b.Loop() {
		p.MatchAttributes(given)
	}
}

func BenchmarkMatchBody(b *testing.B) {
	p := compile(b, `{"detail":{"state":["on"],"type":[{"prefix":"a"}]}}`, filter.MessageBody)
	const body = `{"id":"7","tags":["a","b","c"],"detail":{"state":"on","type":"abc","more":{"x":[1,2,3]}},"n":1.5}`
	b.ReportAllocs()
	for b.Loop() {
		p.MatchBody(context.Background(), body)
	}
}

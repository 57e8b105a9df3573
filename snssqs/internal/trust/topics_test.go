package trust

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const newsARN = "arn:aws:sns:eu-west-1:123456789012:news"

func TestTheTopicsThatAPolicyLetsIn(t *testing.T) {
	allow := func(rest string) string { return `{"Statement":[{"Effect":"Allow",` + rest + `}]}` }
	send := `"Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Condition":`
	source := func(operator, arns string) string {
		return allow(send + `{"` + operator + `":{"aws:SourceArn":` + arns + `}}`)
	}
	const a = `"Condition":{"StringLike":{"aws:SourceArn":"a"}}`
	for policy, want := range map[string][]string{
		"":                nil,
		"not JSON":        nil,
		`{"Statement":7}`: nil,
		allow(`"Principal":"*","Action":"sqs:SendMessage"`): nil,

		source("ArnEquals", `"`+newsARN+`"`):          {newsARN},
		source("ArnNotEquals", `"`+newsARN+`"`):       nil,
		source("ArnLike", `["x*","y"]`):               {"x*", "y"},
		source("ForAnyValue:ArnLikeIfExists", `"x*"`): {"x*"},

		allow(send + `{"ArnEquals":{"AWS:sourcearn":"a"}}`):                                        {"a"},
		allow(send + `{"StringEquals":{"aws:SourceAccount":"1"}}`):                                 {"arn:*:sns:*:1:*"},
		allow(send + `{"StringEquals":{"aws:SourceAccount":"1"},"ArnLike":{"aws:SourceArn":"a"}}`): {"a"},

		allow(`"Action":["sqs:Get*","SQS:Send*"],` + a):           {"a"},
		allow(`"Action":"sqs:ReceiveMessage",` + a):               nil,
		`{"Statement":{"Effect":"Allow","Action":"*",` + a + `}}`: {"a"},
		`{"Statement":{"Effect":"Deny","Action":"*",` + a + `}}`:  nil,
	} {
		if diff := cmp.Diff(want, LetIn(policy)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", policy, diff)
		}
	}
}

func TestPatternsOfPolicies(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "abc", true},
		{"a*c", "abbbc", true},
		{"a*c", "abbb", false},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"*b*b*", "abab", true},
		{"*b*b*b", "abab", false},
		{"abc", "abcd", false},
		{"abcd", "abc", false},
		{"a**", "a", true},
		{"arn:aws:sns:*:1:*", newsARN, false},
		{"arn:aws:sns:*:123456789012:n*s", newsARN, true},
	} {
		if like(c.pattern, c.text) != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.text, !c.want)
		}
	}
}

package shape

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestOf(t *testing.T) {
	for text, want := range map[string]string{
		"refund 1: nil pointer": "refund <n>: nil pointer",
		"refund -4.50: no":      "refund -<n>: no",
		"order 7f3a9c2e-1111-4222-8333-0123456789ab is unknown": "order <id> is unknown",
		"dial tcp 10.0.0.7:5432: connect: connection refused":   "dial tcp <address>: connect: connection refused",
		"lookup db.internal.example:5432: no such host":         "lookup <address>: no such host",
		"Get \"https://api.example.com/v1/orders/17\": EOF":     "Get <text>: EOF",
		"GET https://api.example.com/v1/orders/17: 503":         "GET <address>: <n>",
		"user ada@example.com has no account":                   "user <address> has no account",
		"until 2026-11-26T04:20:00Z, then 04:20:01.5":           "until <time>, then <time>",
		"timeout after 1m30.5s of 200ms":                        "timeout after <n> of <n>",
		"not 'x', but don't ask 'why'":                          "not <text>, but don't ask <text>",
		"panic at 0xc000123abc in deadbeef: a91f02bc44":         "panic at <id> in deadbeef: <id>",
		"sha256 of utf8 in us-east-1 is  not\n\tthere":          "sha256 of utf8 in us-east-<n> is not there",
		"90% of 1,024 KiB, 3GiB":                                "<n> of <n> KiB, <n>",
		"":                                                      "",
	} {
		if got := Of(text); got != want {
			t.Errorf("%q has the shape %q, want %q", text, got, want)
		}
		if again := Of(want); strings.Contains(want, "<") && again != want {
			t.Errorf("the shape %q has the shape %q", want, again)
		}
	}
}

func FuzzOf(f *testing.F) {
	f.Add("refund 1: 'x' at 10.0.0.7:80 on 2026-11-26 of \"a\\\"b\" in 0x1f")
	f.Add(strings.Repeat("é", longest))
	f.Fuzz(func(t *testing.T, text string) {
		if got := Of(text); utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q has the invalid shape %q", text, got)
		}
	})
}

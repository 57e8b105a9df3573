package mcpserver

import (
	"strings"
	"testing"
	"time"
)

// A hidden body has the form of its JSON, and nothing of any other body.
func TestMasked(t *testing.T) {
	for body, want := range map[string]string{
		`{"card":{"number":"4111"},"paid":true,"none":null,"n":[1,2],"e":[]}`: `{"card":{"number":"string"},` +
			`"e":[],"n":["number"],"none":null,"paid":"boolean"}`,
		`"secret"`: `"string"`, `{"a":1} secret`: hidden, `secret`: hidden, ``: hidden,
		`{"` + strings.Repeat("k", bodyMost) + `":1}`: hidden,
	} {
		if got := masked([]byte(body)); got != want {
			t.Errorf("%.50s: %.100s, want %s", body, got, want)
		}
	}
}

// A body is text without control characters, or hexadecimal, and is cut between characters.
func TestBodyText(t *testing.T) {
	long := strings.Repeat("é", bodyMost)
	for _, c := range []struct {
		body, want string
		cut        bool
	}{
		{"a\x1b[2J\u202eb\n", "a\ufffd[2J\ufffdb\n", false},
		{"\xff\x00", "ff00", false},
		{long, long[:bodyMost], true},
		{"x" + long, "x" + long[:bodyMost-2], true},
		{strings.Repeat("\xff", bodyMost), strings.Repeat("ff", bodyMost/4), true},
	} {
		if got, cut := bodyText([]byte(c.body)); got != c.want || cut != c.cut {
			t.Errorf("%.20q: %d bytes, %.20q, cut %v", c.body, len(got), got, cut)
		}
	}
}

// A token works once and for a while, and only so many wait.
func TestTokens(t *testing.T) {
	var p plans
	first := p.add(plan{channel: "first", made: time.Now().Add(-time.Minute)})
	old := p.add(plan{channel: "old", made: time.Now().Add(-planLasts - time.Second)})
	if _, err := p.take(old); err == nil || !strings.Contains(err.Error(), "older than") {
		t.Errorf("an old plan: %v", err)
	}
	var last string
	for range plansMost {
		last = p.add(plan{channel: "last", made: time.Now()})
	}
	if _, err := p.take(first); err == nil {
		t.Error("the oldest plan of too many works")
	}
	if one, err := p.take(last); err != nil || one.channel != "last" {
		t.Errorf("%+v, %v", one, err)
	}
	if _, err := p.take(last); err == nil {
		t.Error("a token works twice")
	}
}

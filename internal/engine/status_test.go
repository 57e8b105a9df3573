package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/calls"
)

// A poll that waits for places is a complaint only if it waits for long, handlers are idle, and nothing can start.
func TestAPollThatLacksPlaces(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name     string
		since    time.Duration // 0: no poll waits
		running  int
		runnable bool
		iterates bool
		want     bool
	}{
		{name: "no poll waits"},
		{name: "not for long", since: calls.FailureLasts - 1},
		{name: "for long", since: calls.FailureLasts, running: 1, want: true},
		{name: "all handlers run", since: time.Hour, running: 2},
		{name: "an item can start", since: time.Hour, runnable: true},
		{name: "an iterator's caller", since: time.Hour, iterates: true},
	} {
		s, _ := bareSession(t, driver.ReceiveLimits{}, &Config{})
		f := s.flow
		if !c.iterates {
			s.cfg.HandleBatch = func(context.Context, []*Item, []*Verdict) map[int]error { return nil }
		}
		if c.since > 0 {
			f.places.lacking = now.Add(-c.since)
		}
		if f.running = c.running; c.runnable {
			kind{}.ready(s)
		}
		f.places.taken, f.places.settling = 5, 3
		f.retries = retries{{use: use{held: hasPlace}}}
		text := lacking(f, now, 2)
		if (text != "") != c.want {
			t.Errorf("%s: %q", c.name, text)
		}
		if c.want && !strings.Contains(text, "only 1 of 2 handlers run: 3 deliveries wait behind another of their key, "+
			"1 are held for a retry, 3 are being settled") {
			t.Errorf("%s: %q", c.name, text)
		}
	}
}

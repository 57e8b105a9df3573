package godwittest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// AssertHandled fails the test unless exactly these bodies of a channel were handled, in any order. A message that was
// delivered and handled twice counts once, because delivery is at least once.
func (w *waiter) AssertHandled(channel string, bodies ...string) {
	w.t.Helper()
	w.assert(func() string {
		var got []string
		for _, m := range w.Messages(channel) {
			if m.Handled {
				got = append(got, string(m.Body))
			}
		}
		diff := difference(bodies, got)
		if diff == "" {
			return ""
		}
		return fmt.Sprintf("handled messages of %s are not the expected ones:\n%s%s", channel, diff, w.picture(channel))
	})
}

// AssertAttempts fails the test unless a channel has a message with this body, and each such message had this number of
// attempts, including redeliveries.
func (w *waiter) AssertAttempts(channel, body string, attempts int) {
	w.t.Helper()
	w.assert(func() string {
		there := false
		for _, m := range w.Messages(channel) {
			if string(m.Body) != body {
				continue
			}
			there = true
			if n := len(m.Attempts); n != attempts {
				return fmt.Sprintf("%s of %s had %s, want %d\n%s", short(m.Body), channel, count(n, "attempt"),
					attempts, w.picture(channel))
			}
		}
		if !there {
			return fmt.Sprintf("nothing with the body %s was received from %s\n%s", short([]byte(body)), channel,
				w.picture(channel))
		}
		return ""
	})
}

// AssertDeadLettered fails the test unless a channel has exactly these dead letters, in any order. Of a wanted one,
// Body must be equal, Cause must be a part of the error's text, and every other field that is not zero must be equal.
func (w *waiter) AssertDeadLettered(channel string, want ...DeadLetter) {
	w.t.Helper()
	w.assert(func() string {
		var missing []string
		rest := w.DeadLetters(channel)
		for _, w := range want {
			i := slices.IndexFunc(rest, w.matches)
			if i < 0 {
				missing = append(missing, w.line())
				continue
			}
			rest = slices.Delete(rest, i, i+1)
		}
		if len(missing) == 0 && len(rest) == 0 {
			return ""
		}
		var b strings.Builder
		for _, line := range missing {
			fmt.Fprintf(&b, "  missing: %s\n", line)
		}
		for _, d := range rest {
			fmt.Fprintf(&b, "  not wanted: %s\n", d.line())
		}
		return fmt.Sprintf("dead letters of %s are not the expected ones:\n%s%s", channel, &b, w.picture(channel))
	})
}

// AssertNone fails the test if a channel has or had any message: received, waiting or dead.
func (w *waiter) AssertNone(channel string) {
	w.t.Helper()
	w.assert(func() string {
		n := len(w.Messages(channel)) + len(w.Left(channel)) + len(w.DeadLetters(channel))
		if n == 0 {
			return ""
		}
		return fmt.Sprintf("something came to %s, and nothing should\n%s", channel, w.picture(channel))
	})
}

// AssertNothingLeft fails the test if a channel has messages, waiting or in flight. Without arguments it checks all
// channels but dead letters; the dead letters of a channel can be named, as orders@dlq.
func (w *waiter) AssertNothingLeft(channels ...string) {
	w.t.Helper()
	w.assert(func() string {
		left := w.left(channels)
		if len(left) == 0 {
			return ""
		}
		return fmt.Sprintf("%s left, and nothing should be\n%s", count(len(left), "message"),
			w.picture(w.named(channels)...))
	})
}

// AssertOrder fails the test unless exactly these bodies of an order key were handled, in this order. If a message was
// handled twice, the first time counts.
func (w *waiter) AssertOrder(channel, orderKey string, bodies ...string) {
	w.t.Helper()
	if made, ordered := w.service.made(channel); made && !ordered {
		w.t.Fatalf("%s is not ordered: set Ordered in the options of its producer and its consumer", channel)
	}
	w.assert(func() string {
		var ms []Message
		for _, m := range w.Messages(channel) {
			if m.OrderKey == orderKey && m.Handled {
				ms = append(ms, m)
			}
		}
		slices.SortStableFunc(ms, func(a, b Message) int { return a.handledAs() - b.handledAs() })
		got := make([]string, len(ms))
		for i := range ms {
			got[i] = string(ms[i].Body)
		}
		if slices.Equal(got, bodies) {
			return ""
		}
		return fmt.Sprintf("%s were handled in another order than wanted:\n  got  %s\n  want %s\n%s",
			keyed(channel, orderKey), list(got), list(bodies), w.picture(channel))
	})
}

// assert repeats check until it has no complaint, for at most the time of grace.
func (w *waiter) assert(check func() (complaint string)) {
	w.t.Helper()
	if !w.await(w.grace(), func() bool { return check() == "" }) {
		w.t.Errorf("%s", check())
	}
}

// named returns the channels or, without any, all channels but dead letters.
func (v *view) named(channels []string) []string {
	if len(channels) > 0 {
		return channels
	}
	return slices.DeleteFunc(v.channels(), func(name string) bool { return strings.HasSuffix(name, deadSuffix) })
}

func (v *view) left(channels []string) []Left {
	var all []Left
	for _, name := range v.named(channels) {
		all = append(all, v.Left(name)...)
	}
	return all
}

func (d DeadLetter) matches(is DeadLetter) bool {
	return is.Body == d.Body && strings.Contains(is.Cause, d.Cause) &&
		(d.Kind == "" || d.Kind == is.Kind) && (d.Attempts == 0 || d.Attempts == is.Attempts) &&
		(d.Consumer == "" || d.Consumer == is.Consumer) && (d.ID == "" || d.ID == is.ID)
}

// difference returns what is missing and what is not wanted, comparing multisets.
func difference(want, got []string) string {
	n := map[string]int{}
	for _, w := range want {
		n[w]++
	}
	for _, g := range got {
		n[g]--
	}
	var b strings.Builder
	for _, body := range slices.Sorted(maps.Keys(n)) {
		switch k := n[body]; {
		case k > 0:
			fmt.Fprintf(&b, "  missing: %s%s\n", short([]byte(body)), times(k))
		case k < 0:
			fmt.Fprintf(&b, "  not wanted: %s%s\n", short([]byte(body)), times(-k))
		}
	}
	return b.String()
}

package engine

import (
	"fmt"
	"testing"

	"github.com/godwitmq/godwit/driver"
)

// The service counts receives; the start log knows the real starts.
func TestStartsAreRemembered(t *testing.T) {
	l := newStartLog()
	for _, c := range []struct {
		name               string
		in                 driver.Delivery
		attempt, failures  int
		noteStarts, failed int // when it is released; -1: it is not
	}{
		{"the first time", driver.Delivery{ID: "a", Received: 1}, 1, 0, 0, 0},
		{"it went back untouched", driver.Delivery{ID: "a", Received: 2}, 1, 0, 1, 1},
		{"it was started and failed", driver.Delivery{ID: "a", Received: 3}, 2, 1, -1, 0},
		{"nothing is known: receives bound the starts", driver.Delivery{ID: "b", Received: 5}, 5, 0, -1, 0},
		{"the backend knows it", driver.Delivery{ID: "a", Received: 9, Attempt: 1}, 2, 1, -1, 0},
		{"a service that counts nothing", driver.Delivery{ID: "c"}, 1, 0, -1, 0},
	} {
		attempt, failures := l.attempt(&c.in)
		if attempt != c.attempt || failures != c.failures {
			t.Errorf("%s: attempt %d with %d failures, want %d and %d", c.name, attempt, failures, c.attempt,
				c.failures)
		}
		if c.noteStarts >= 0 {
			l.note(&Item{ID: c.in.ID, received: c.in.Received, Failures: c.failed}, c.noteStarts)
		}
	}
}

// The start log is bounded, and the oldest records are removed first.
func TestTheStartLogIsBounded(t *testing.T) {
	l := newStartLog()
	for i := range startLogSize + 10 {
		l.note(&Item{ID: fmt.Sprint(i), received: 1}, 0)
	}
	if _, known := l.by["9"]; known || len(l.by) != startLogSize {
		t.Errorf("%d records, and the oldest is there: %v", len(l.by), known)
	}
	if _, known := l.by["10"]; !known {
		t.Error("a record too many was removed")
	}
}

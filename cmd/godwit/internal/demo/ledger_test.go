package demo

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What happens to orders, in any order of events, and what the sums must say.
func TestLedger(t *testing.T) {
	cases := []struct {
		name string
		play func(*ledger)
		want counts
	}{
		{"nothing", func(*ledger) {}, counts{}},
		{"sent", func(l *ledger) { l.sent(1) }, counts{Sent: 1, Open: 1}},
		{"handled", func(l *ledger) { l.sent(1); l.handled(1) }, counts{Sent: 1, Handled: 1}},
		{"handled before its send was answered", func(l *ledger) { l.handled(1); l.sent(1) }, counts{Sent: 1, Handled: 1}},
		{"handled twice", func(l *ledger) { l.sent(1); l.handled(1); l.handled(1) }, counts{Sent: 1, Handled: 1, Twice: 1}},
		{"handled, never known to be sent", func(l *ledger) { l.handled(1) }, counts{Handled: 1}},
		{"retried", func(l *ledger) { l.sent(1); l.failed(1); l.retried(1); l.handled(1) }, counts{Sent: 1, Handled: 1, Retried: 1}},
		{"dead, found twice", func(l *ledger) { l.sent(1); l.failed(1); l.dead(1); l.dead(1) }, counts{Sent: 1, Dead: 1}},
		{"one of two lost", func(l *ledger) { l.sent(1); l.sent(2); l.handled(2) }, counts{Sent: 2, Handled: 1, Open: 1}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l := newLedger()
			c.play(l)
			if diff := cmp.Diff(c.want, l.counts()); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	l := newLedger()
	if got := l.failures(1); got != 0 {
		t.Errorf("an order nobody knows: %d failures", got)
	}
	l.failed(1)
	l.failed(1)
	if got := l.failures(1); got != 2 {
		t.Errorf("failed twice: %d failures", got)
	}
}

// Of what still lies in the queue, only what has come to no end is left over; a copy of it counts once.
func TestOpenAmong(t *testing.T) {
	l := newLedger()
	for n := range 5 {
		l.sent(n)
	}
	l.handled(1)
	l.dead(2)
	if got := l.openAmong([]int{0, 0, 1, 2, 3, 9}); got != 2 {
		t.Errorf("open among them: %d, want 2 (orders 0 and 3)", got)
	}
}

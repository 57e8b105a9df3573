package demo

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ada(number int) wish { return wish{Number: number, User: "ada"} }

// The sums for events of wishes in any order.
func TestLedger(t *testing.T) {
	cases := []struct {
		name string
		play func(*ledger)
		want counts
	}{
		{"nothing", func(*ledger) {}, counts{}},
		{"sent", func(l *ledger) { l.sent(1) }, counts{Sent: 1, Open: 1}},
		{"handled", func(l *ledger) { l.sent(1); l.handled(ada(1)) }, counts{Sent: 1, Handled: 1}},
		{
			"handled before its send was answered", func(l *ledger) { l.handled(ada(1)); l.sent(1) },
			counts{Sent: 1, Handled: 1},
		},
		{
			"handled twice", func(l *ledger) { l.sent(1); l.handled(ada(1)); l.handled(ada(1)) },
			counts{Sent: 1, Handled: 1, Twice: 1},
		},
		{"handled, never known to be sent", func(l *ledger) { l.handled(ada(1)) }, counts{Handled: 1}},
		{
			"retried", func(l *ledger) { l.sent(1); l.failed(1); l.retried(1); l.handled(ada(1)) },
			counts{Sent: 1, Handled: 1, Retried: 1},
		},
		{
			"dead, found twice", func(l *ledger) { l.sent(1); l.failed(1); l.dead(1); l.dead(1) },
			counts{Sent: 1, Dead: 1},
		},
		{
			"one of two lost", func(l *ledger) { l.sent(1); l.sent(2); l.handled(ada(2)) },
			counts{Sent: 2, Handled: 1, Open: 1},
		},
		{
			"out of order",
			func(l *ledger) { l.handled(ada(1)); l.handled(ada(3)); l.handled(ada(2)); l.handled(ada(4)) },
			counts{Handled: 4, OutOfOrder: 1},
		},
		{
			"two users", func(l *ledger) { l.handled(ada(2)); l.handled(wish{Number: 1, User: "bob"}) },
			counts{Handled: 2},
		},
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
		t.Errorf("an unknown wish: %d failures", got)
	}
	l.failed(1)
	l.failed(1)
	if got := l.failures(1); got != 2 {
		t.Errorf("failed twice: %d failures", got)
	}
}

// The end of every wish that was sent; of the open ones, those that do not wait are lost.
func TestEnds(t *testing.T) {
	l := newLedger()
	for n := range 5 {
		l.sent(n)
	}
	l.handled(ada(0))
	l.dead(0) // delivery is at least once: a copy of it was rejected
	l.handled(ada(1))
	l.dead(2)
	l.handled(ada(9)) // its send was not answered
	want := map[int]end{0: endHandled, 1: endHandled, 2: endDead, 3: endLeft, 4: endLost}
	if diff := cmp.Diff(want, l.ends(map[int]bool{1: true, 2: true, 3: true, 9: true})); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
}

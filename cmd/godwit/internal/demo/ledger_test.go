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

func TestLedgerOfOneOrder(t *testing.T) {
	l := newLedger()
	if l.isOpen(1) || l.failures(1) != 0 {
		t.Error("an order nobody sent is open or has failed")
	}
	l.sent(1)
	l.failed(1)
	if !l.isOpen(1) || l.failures(1) != 1 {
		t.Errorf("sent and failed once: open %v, failures %d", l.isOpen(1), l.failures(1))
	}
	l.dead(1)
	if l.isOpen(1) {
		t.Error("a dead order is open")
	}
}

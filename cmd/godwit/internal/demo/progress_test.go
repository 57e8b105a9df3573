package demo

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func shown(t *testing.T, live bool, d time.Duration) string {
	var b strings.Builder
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		p := &progress{ledger: newLedger(), out: &b, live: live, began: time.Now()}
		p.ledger.sent(1)
		time.AfterFunc(d/2+time.Millisecond, func() { p.ledger.retried(1); p.ledger.handled(1) })
		p.show(ctx)
	})
	return b.String()
}

// In a log: a line a second, and the last state at the end.
func TestProgressInALog(t *testing.T) {
	want := "" +
		"   1.0s  sent 1, handled 0, retried 0, open 1\n" +
		"   2.0s  sent 1, handled 1, retried 1, open 0\n" +
		"   2.5s  sent 1, handled 1, retried 1, open 0\n"
	if diff := cmp.Diff(want, shown(t, false, 2500*time.Millisecond)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// On a terminal: one line, rewritten ten times a second, and ended.
func TestProgressOnATerminal(t *testing.T) {
	want := "" +
		"\r\x1b[K   0.1s  sent 1, handled 0, retried 0, open 1" +
		"\r\x1b[K   0.2s  sent 1, handled 1, retried 1, open 0" +
		"\r\x1b[K   0.2s  sent 1, handled 1, retried 1, open 0\n"
	if diff := cmp.Diff(want, shown(t, true, 240*time.Millisecond)); diff != "" {
		t.Errorf("terminal (-want +got):\n%s", diff)
	}
}

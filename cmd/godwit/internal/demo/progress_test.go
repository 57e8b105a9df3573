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
		all := newBranches()
		p := &progress{branches: all, sent: func() int64 { return 1 }, out: &b, live: live, began: time.Now()}
		all[0].ledger.sent(1)
		all[1].ledger.sent(1)
		time.AfterFunc(d/2+time.Millisecond, func() { all[1].ledger.retried(1); all[1].ledger.handled(ada(1)) })
		p.show(ctx)
	})
	return b.String()
}

// In a log: one line per second, and the final state at the end.
func TestProgressInALog(t *testing.T) {
	want := "" +
		"  1.0s  sent 1, handled audit_log 0 mobile 0 apple 0, retried 0, open 2\n" +
		"  2.0s  sent 1, handled audit_log 0 mobile 1 apple 0, retried 1, open 1\n" +
		"  2.5s  sent 1, handled audit_log 0 mobile 1 apple 0, retried 1, open 1\n"
	if diff := cmp.Diff(want, shown(t, false, 2500*time.Millisecond)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// On a terminal: one line, overwritten ten times a second, and ended by a line break.
func TestProgressOnATerminal(t *testing.T) {
	want := "" +
		"\r\x1b[K\x1b[?7l  0.1s  sent 1, handled audit_log 0 mobile 0 apple 0, retried 0, open 2\x1b[?7h" +
		"\r\x1b[K\x1b[?7l  0.2s  sent 1, handled audit_log 0 mobile 1 apple 0, retried 1, open 1\x1b[?7h" +
		"\r\x1b[K\x1b[?7l  0.2s  sent 1, handled audit_log 0 mobile 1 apple 0, retried 1, open 1\x1b[?7h\n"
	if diff := cmp.Diff(want, shown(t, true, 240*time.Millisecond)); diff != "" {
		t.Errorf("terminal (-want +got):\n%s", diff)
	}
}

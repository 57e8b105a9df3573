package worker_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/cmd/godwit/internal/worker"
)

func command(t *testing.T, line string) worker.Command {
	t.Helper()
	c, err := worker.NewCommand(line)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The status of a process decides, and the end of its errors is the reason.
func TestExec(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, body, want string }{
		{"true", "", "done"},
		{"cat", strings.Repeat("x", 1<<20), "done"},
		{"true", strings.Repeat("x", 1<<20), "done"}, // it need not read its input
		{"(exit 65)", "", "reject: exit status 65"},
		{"echo wrong >&2; exit 65", "", "reject: exit status 65: wrong"},
		{"(exit 75)", "", "retry after 7s"},
		{"(exit 1)", "", "retry: exit status 1"},
		{"kill -9 $$", "", "retry: signal: killed"},
		{`test "$(cat)" = body -a "$GODWIT_ID" = m1 -a "$GODWIT_CHANNEL" = orders -a "$GODWIT_ATTEMPT" = 1`, "body", "done"},
		{`test "$GODWIT_HEADERS" = '[{"name":"a","value":"1"}]'`, "", "done"},
	} {
		e := &worker.Exec{Command: command(t, c.line), Backoff: constant, Output: &worker.Lines{To: newOutput()}}
		d := message(c.body)
		d.Headers = d.Headers.With("a", "1")
		if got := verdict(t.Context(), e.Handle, d); got != c.want {
			t.Errorf("%s: %s, want %s", c.line, got, c.want)
		}
	}
}

// A process and all that it has started end with the context of its message.
func TestExecIsEnded(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"echo begun; sleep 600",
		"trap '' TERM; echo begun; sleep 600; sleep 600",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			out := newOutput()
			e := &worker.Exec{Command: command(t, line), Backoff: constant, Output: &worker.Lines{To: out}}
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan error)
			go func() { ended <- e.Handle(ctx, message("")) }()
			out.await(t, "begun")
			cancel(godwit.ErrShutdown)
			if err := <-ended; !errors.Is(err, godwit.ErrShutdown) {
				t.Error(err)
			}
		})
	}
}

// What environment variables cannot hold is an error of the message that says what to do.
func TestExecRefuses(t *testing.T) {
	t.Parallel()
	e := &worker.Exec{Command: command(t, "true"), Backoff: constant, Output: &worker.Lines{To: newOutput()}}
	d := message("")
	d.OrderKey = "a\x00b"
	if got := verdict(t.Context(), e.Handle, d); !strings.HasPrefix(got, "reject: GODWIT_ORDER_KEY") {
		t.Errorf("%s", got)
	}
	d = message("")
	d.Headers = d.Headers.With("a", strings.Repeat("x", 3<<20))
	if got := verdict(t.Context(), e.Handle, d); !strings.HasPrefix(got, "reject: its headers are too long") {
		t.Errorf("%s", got)
	}
}

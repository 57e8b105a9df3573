package godwit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
)

// stderrOf returns what f prints to standard error.
func stderrOf(t *testing.T, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	was := os.Stderr
	os.Stderr = w
	defer func() { os.Stderr = was }()
	f()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Without a signal, the exit code depends on the program's error.
func TestMainEndsWithTheProgram(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name    string
		err     error
		code    int
		printed string
	}{
		{"done", nil, 0, ""},
		{"failed", boom, 1, "boom\n"},
		{"cancelled by nobody we know", context.Canceled, 1, "context canceled\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code := -1
			printed := stderrOf(t, func() {
				code = runUntil(func(context.Context) error { return c.err }, make(chan os.Signal))
			})
			if code != c.code || printed != c.printed {
				t.Errorf("code %d, printed %q; want %d and %q", code, printed, c.code, c.printed)
			}
		})
	}
}

// The first signal cancels the context, with the signal in its cause. The exit code depends on the program's error,
// except for the cancellation itself.
func TestMainFirstSignalCancels(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name string
		end  func(ctx context.Context) error
		code int
	}{
		{"drains", func(context.Context) error { return nil }, 0},
		{"returns the cancellation", func(ctx context.Context) error { return fmt.Errorf("run: %w", ctx.Err()) }, 0},
		{"fails while it drains", func(context.Context) error { return boom }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			signals := make(chan os.Signal, 1)
			code := -1
			_ = stderrOf(t, func() {
				code = runUntil(func(ctx context.Context) error {
					if ctx.Err() != nil {
						t.Errorf("canceled before the signal: %v", context.Cause(ctx))
					}
					signals <- os.Interrupt
					<-ctx.Done()
					if cause := context.Cause(ctx); !strings.Contains(cause.Error(), "interrupt") {
						t.Errorf("cause %v, want one that names the signal", cause)
					}
					return c.end(ctx)
				}, signals)
			})
			if code != c.code {
				t.Errorf("code %d, want %d", code, c.code)
			}
		})
	}
}

// The second signal does not wait for the program.
func TestMainSecondSignalReturnsAtOnce(t *testing.T) {
	signals := make(chan os.Signal, 1)
	release, ended := make(chan struct{}), make(chan struct{})
	code := runUntil(func(ctx context.Context) error {
		defer close(ended)
		signals <- syscall.SIGTERM
		<-ctx.Done()
		signals <- os.Interrupt
		<-release
		return nil
	}, signals)
	if code != 130 {
		t.Errorf("code %d, want 130", code)
	}
	close(release)
	<-ended
}

// Main gets the signals of its process.
func TestMainGetsSignals(t *testing.T) {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	sent := true
	code := Main(func(ctx context.Context) error {
		if err := self.Signal(syscall.SIGTERM); err != nil {
			sent = false
			return nil //nolint:nilerr // Windows cannot send one
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if !sent {
		t.Skip("this system cannot send SIGTERM")
	}
	if code != 0 {
		t.Errorf("code %d, want 0", code)
	}
}

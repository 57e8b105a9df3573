package client

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// ended returns when the client has ended, or when its time or the caller's is over.
func TestTheWaitForTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		done := make(chan struct{})
		begun := time.Now()
		if ended(short, done, time.Minute) || time.Since(begun) != time.Second {
			t.Errorf("with a context of 1 s the wait took %v", time.Since(begun))
		}
		if ended(t.Context(), done, time.Minute) || time.Since(begun) != 61*time.Second {
			t.Errorf("with a patience of 1 min the wait took %v", time.Since(begun)-time.Second)
		}
		close(done)
		if !ended(t.Context(), done, time.Minute) {
			t.Error("a client that has ended counts as running")
		}
	})
}

// A client without a group closes at once, even if no broker can be reached, and if the caller's context has ended.
func TestCloseWithoutAGroup(t *testing.T) {
	c, err := New([]kgo.Opt{kgo.SeedBrokers("127.0.0.1:1")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := c.Ping(t.Context()); err == nil {
		t.Error("a request of a closed client succeeds")
	}
}

// Invalid options are an error that names franz-go's reason.
func TestInvalidOptions(t *testing.T) {
	if _, err := New([]kgo.Opt{kgo.MaxBufferedRecords(-1)}); err == nil || !strings.Contains(err.Error(), "buffered") {
		t.Errorf("the error is %v", err)
	}
}

// The log has warnings and errors, with their keys and values. The levels below have a line for each request.
func TestTheLogBeginsAtWarnings(t *testing.T) {
	var text strings.Builder
	l := Logger{To: slog.New(slog.NewTextHandler(&text, nil))}
	if l.Level() != kgo.LogLevelWarn {
		t.Errorf("the level is %v", l.Level())
	}
	l.Log(kgo.LogLevelWarn, "slow", "broker", 1)
	l.Log(kgo.LogLevelError, "broken", "broker", 2)
	for _, want := range []string{"level=WARN msg=\"kafka client: slow\" broker=1", "level=ERROR"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the log is %q, without %q", text.String(), want)
		}
	}
}

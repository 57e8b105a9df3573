package godwit_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
)

// logged collects the lines of a logger.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// count is how many lines have all of some texts.
func (l *logged) count(parts ...string) int { return len(l.lines(parts...)) }

// lines are those that have all of some texts.
func (l *logged) lines(parts ...string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
lines:
	for line := range strings.Lines(l.buf.String()) {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue lines
			}
		}
		found = append(found, line)
	}
	return found
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// The consumer's log has what a person on call needs, and nothing of a body. Events that may happen for every message
// are sampled.
func TestTheConsumersLog(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var log logged
		c := w.consumer("orders", &godwit.ConsumerOptions{
			Logger: slog.New(slog.NewTextHandler(&log, nil)), MaxAttempts: 2, Backoff: godwit.Constant(time.Second),
			ProcessingTimeout: time.Minute,
		})
		w.send(w.producer("orders", nil), body("secret fails"), body("secret fails"), body("secret fails"),
			body("secret panics"), body("secret hangs"), body("secret is stuck"))
		gone := w.consumer("gone", &godwit.ConsumerOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		w.send(w.producer("gone", nil), body("secret"))
		ctx, stop := context.WithCancel(w.Context())
		defer stop()
		run := w.run(c, func(handling context.Context, d *godwit.Delivery) error {
			switch strings.TrimPrefix(string(d.Body), "secret ") {
			case "fails":
				return errors.New("no")
			case "panics":
				panic("oh")
			case "hangs":
				<-handling.Done()
				return handling.Err()
			case "is stuck":
				<-ctx.Done()
			}
			return nil
		})
		other := w.run(gone, func(handling context.Context, _ *godwit.Delivery) error {
			w.purge("gone")
			<-handling.Done()
			return handling.Err()
		})
		time.Sleep(5 * time.Minute)
		stop()
		run.stop()
		other.stop()
		for _, want := range []struct {
			n     int
			parts []string
		}{
			{1, []string{"level=WARN", "will be retried", "attempt=1", "error=no", "after=1s"}},
			{2, []string{"level=ERROR", "a handler panicked", "logger_test.go"}},
			{3, []string{"level=WARN", "a message is rejected", "kind=exhausted"}},
			{1, []string{"level=WARN", "a message is rejected", "kind=panic"}},
			{2, []string{"level=WARN", "exceeded the processing timeout", "timeout=1m0s"}},
			{1, []string{"level=ERROR", "ignores the end of its context", "logger_test.go"}},
			{1, []string{"level=INFO", "changed its state", "to=Exiting", "channel=orders"}},
			{1, []string{"level=WARN", "a lease was lost", "channel=gone"}},
			{1, []string{"will be retried"}}, // the other failures of the same moment are counted
			{0, []string{"to=Processing"}},   // a quiet channel would log it for each message
			{0, []string{"secret"}},
		} {
			if n := log.count(want.parts...); n != want.n {
				t.Errorf("%d lines with %q, want %d", n, want.parts, want.n)
			}
		}
		if t.Failed() {
			t.Log(log.String())
		}
	})
}

// Without a logger, the default one gets warnings. A logger that panics ends nothing.
func TestTheDefaultLogger(t *testing.T) {
	var log logged
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(was)
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{MaxAttempts: 1})
		loud := w.consumer("panics", &godwit.ConsumerOptions{
			MaxAttempts: 1,
			Logger:      slog.New(panicHandler{slog.DiscardHandler}),
		})
		w.send(w.producer("orders", nil), body("x"))
		w.send(w.producer("panics", nil), body("x"))
		no := func(context.Context, *godwit.Delivery) error { return errors.New("no") }
		run, other := w.run(c, no), w.run(loud, no)
		time.Sleep(time.Minute)
		if r := c.Report(); r.Rejected != 1 || r.Took != time.Minute {
			t.Errorf("the report of a consumer that runs: %+v", r)
		}
		if r := other.stop(); r.Rejected != 1 {
			t.Errorf("with a logger that panics: %+v", r)
		}
		run.stop()
	})
	if log.count("level=WARN", "a message is rejected", "channel=orders") != 1 || log.count("level=INFO") != 0 {
		t.Errorf("logged:\n%s", log.String())
	}
}

// panicHandler is a handler that panics.
type panicHandler struct{ slog.Handler }

func (panicHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (panicHandler) Handle(context.Context, slog.Record) error { panic("cannot write") }
func (h panicHandler) WithAttrs([]slog.Attr) slog.Handler      { return h }

// A producer's report can be read while it runs.
func TestTheProducersReport(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		p := w.producer("orders", nil)
		w.send(p, many(3, "x")...)
		if err := p.Send(w.Context(), godwit.Message{Headers: large()}); err == nil {
			t.Error("headers of 2 MiB were accepted")
		}
		if r := p.Report(); r.Accepted != 3 || r.Failed != 0 || r.Retried != 0 {
			t.Errorf("%+v; want 3 accepted, and no failures", r)
		}
	})
}

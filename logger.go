package godwit

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/godwitmq/godwit/internal/engine"
)

const (
	// retryLogEvery and panicLogEvery space the lines of what may happen to every message at once; each line tells how many
	// were left out.
	retryLogEvery = 10 * time.Second
	panicLogEvery = time.Second
)

// consumerLog writes what a person on call needs to know of a consumer. It names messages by their id: nothing of a body,
// of a header's value or of a receipt handle is written.
type consumerLog struct {
	*slog.Logger
	retries, panics sampler
}

func newConsumerLog(to *slog.Logger, channel string) *consumerLog {
	return &consumerLog{Logger: guardedLogger(to).With("channel", channel)}
}

// guardedLogger is the logger to write to: nil means the default one, from warnings up.
func guardedLogger(to *slog.Logger) *slog.Logger {
	if to == nil {
		return slog.New(logHandler{slog.Default().Handler(), slog.LevelWarn})
	}
	return slog.New(logHandler{to.Handler(), minLevel})
}

func (l *consumerLog) state(from, to State) {
	level := slog.LevelInfo
	if from >= StateListening && to < StateExiting { // between two messages of a quiet channel
		level = slog.LevelDebug
	}
	l.Log(context.Background(), level, "the consumer changed its state", "from", from.String(), "to", to.String())
}

// waitCut tells once that polls wait for a shorter time than they would, and what that costs while nothing comes.
func (l *consumerLog) waitCut(o *ConsumerOptions, asked time.Duration) {
	setDefault(&asked, defaultWait)
	if o.WaitTime >= asked || asked < 0 {
		return
	}
	every := max(o.WaitTime, engine.EmptyPollEvery)
	l.Info("polls wait for a shorter time, so that a stop can wait for them and a lease be renewed", "WaitTime",
		max(o.WaitTime, 0), "asked", asked, "ShutdownTimeout", o.ShutdownTimeout, "polls_a_minute", int(time.Minute/every))
}

func (l *consumerLog) retried(d *Delivery, after time.Duration, err error) {
	if leftOut, ok := l.retries.take(time.Now(), retryLogEvery); ok {
		l.Warn("a handler failed; its message is tried again", "id", d.ID, "attempt", d.Attempt, "after", after, "error", err, "left_out", leftOut)
	}
}

func (l *consumerLog) rejected(d *Delivery, kind string, reason error) {
	l.Warn("a message goes to the dead letters", "id", d.ID, "attempt", d.Attempt, "kind", kind, "error", reason)
}

// panicked writes nothing of an error that was no panic.
func (l *consumerLog) panicked(d *Delivery, err error) {
	var p *PanicError
	if !errors.As(err, &p) {
		return
	}
	if leftOut, ok := l.panics.take(time.Now(), panicLogEvery); ok {
		l.Error("a handler panicked", "id", d.ID, "attempt", d.Attempt, "error", p, "stack", string(p.Stack), "left_out", leftOut)
	}
}

func (l *consumerLog) timedOut(d *Delivery, limit time.Duration) {
	l.Warn("a handler exceeded the processing timeout; its context is cancelled", "id", d.ID, "timeout", limit)
}

func (l *consumerLog) abandoned(d *Delivery, stack []byte) {
	l.Error("a handler ignores its cancelled context; its worker is replaced", "id", d.ID, "stack", string(stack))
}

// leaseLost leaves the attempt out: the keeper tells of it while a worker may be counting the next one.
func (l *consumerLog) leaseLost(d *Delivery) {
	l.Warn("a lease was lost; the message may be handled elsewhere", "id", d.ID)
}

func (l *consumerLog) settleFailed(d *Delivery, err error) {
	l.Warn("the service did not take a verdict; the message comes again", "id", d.ID, "attempt", d.Attempt, "error", err)
}

// sampler lets one event through in a while, and counts the others.
type sampler struct {
	mu      sync.Mutex
	next    time.Time
	leftOut int
}

// take says whether an event is let through, and how many before it were not.
func (s *sampler) take(now time.Time, every time.Duration) (leftOut int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.next) {
		s.leftOut++
		return 0, false
	}
	leftOut, s.leftOut, s.next = s.leftOut, 0, now.Add(every)
	return leftOut, true
}

// minLevel lets everything through that a caller's own handler wants.
const minLevel = slog.Level(-1 << 31)

// logHandler is a caller's handler, from a level up; a panic in it does not end the process.
type logHandler struct {
	slog.Handler
	least slog.Level
}

func (h logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.least && h.Handler.Enabled(ctx, level)
}

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	defer func() { _ = recover() }() // there is nowhere to write about a logger that cannot write
	return h.Handler.Handle(ctx, r)
}

func (h logHandler) WithAttrs(as []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(as), h.least}
}

func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.Handler.WithGroup(name), h.least}
}

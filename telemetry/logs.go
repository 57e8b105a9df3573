package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/godwitmq/godwit"
)

// The keys that LogHandler adds to lines.
const (
	traceIDKey  = "trace_id"
	spanIDKey   = "span_id"
	repeatedKey = "repeated"
)

const (
	// repeatEvery is how often a line with the same message and error is written.
	repeatEvery = time.Minute
	// mostRepeats bounds how many different lines are remembered. Beyond that all lines are written.
	mostRepeats = 1000
)

// LogHandler returns a handler that adds the ids of trace and span to each line: the ids of the line's context or, for
// a line of a consumer about a delivery, those of the span that has sent the message. A warning or an error that
// repeats, with the same message, channel and error, is written once a minute, with the number of times that it was
// left out. The options that Consumer returns have such a handler already; use it for the logger of handlers, too.
func (t *Telemetry) LogHandler(next slog.Handler) slog.Handler {
	return &logHandler{next: next, t: t, repeats: newRepeats()}
}

type logHandler struct {
	next    slog.Handler
	t       *Telemetry
	scope   string // the attributes of the logger, which tell its lines from those of others
	repeats *repeats
}

// Enabled implements slog.Handler.
func (h *logHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	var more []slog.Attr
	if r.Level >= slog.LevelWarn {
		leftOut, write := h.repeats.take(h.scope+"\x00"+r.Message+"\x00"+errorOf(&r), r.Time)
		if !write {
			return nil
		}
		if leftOut > 0 {
			more = append(more, slog.Int(repeatedKey, leftOut))
		}
	}
	if at := h.at(ctx); at.IsValid() {
		more = append(more,
			slog.String(traceIDKey, at.TraceID().String()), slog.String(spanIDKey, at.SpanID().String()))
	}
	if len(more) > 0 {
		r = r.Clone()
		r.AddAttrs(more...)
	}
	return h.next.Handle(ctx, r)
}

// at is the span that a line belongs to.
func (h *logHandler) at(ctx context.Context) trace.SpanContext {
	if d := godwit.DeliveryOf(ctx); d != nil {
		return h.t.carrier.trace(d.Headers)
	}
	return trace.SpanContextFromContext(ctx)
}

// WithAttrs implements slog.Handler.
func (h *logHandler) WithAttrs(as []slog.Attr) slog.Handler {
	own := *h
	own.next, own.scope = h.next.WithAttrs(as), h.scope+fmt.Sprint(as)
	return &own
}

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler {
	own := *h
	own.next, own.scope = h.next.WithGroup(name), h.scope+"/"+name
	return &own
}

// errorOf is the text of a line's error.
func errorOf(r *slog.Record) (text string) {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" {
			text = a.Value.String()
		}
		return text == ""
	})
	return text
}

// repeats counts lines that repeat.
type repeats struct {
	mu sync.Mutex
	by map[string]*repeat
}

type repeat struct {
	until   time.Time // the line is left out before
	leftOut int
}

func newRepeats() *repeats { return &repeats{by: map[string]*repeat{}} }

// take reports whether a line is written now, and how many like it were left out before.
func (rs *repeats) take(line string, now time.Time) (leftOut int, write bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.by[line]
	switch {
	case r != nil && now.Before(r.until):
		r.leftOut++
		return 0, false
	case r != nil:
		leftOut, r.leftOut, r.until = r.leftOut, 0, now.Add(repeatEvery)
		return leftOut, true
	case len(rs.by) >= mostRepeats:
		rs.forget(now)
	}
	if len(rs.by) < mostRepeats {
		rs.by[line] = &repeat{until: now.Add(repeatEvery)}
	}
	return 0, true
}

// forget removes the lines that are over.
func (rs *repeats) forget(now time.Time) {
	for line, r := range rs.by {
		if !now.Before(r.until) {
			delete(rs.by, line)
		}
	}
}

// atLeast is a handler with a minimum level.
type atLeast struct {
	slog.Handler
	level slog.Level
}

// Enabled implements slog.Handler.
func (h atLeast) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.level && h.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h atLeast) WithAttrs(as []slog.Attr) slog.Handler {
	return atLeast{h.Handler.WithAttrs(as), h.level}
}

// WithGroup implements slog.Handler.
func (h atLeast) WithGroup(name string) slog.Handler {
	return atLeast{h.Handler.WithGroup(name), h.level}
}

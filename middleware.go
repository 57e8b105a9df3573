package godwit

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/engine"
)

// Handler handles one delivery. If it returns nil, the delivery is done; for an error, the consumer's [Policy] decides.
// Its context is canceled, with a cause, when the processing timeout passes, when the lease is lost, or when a shutdown
// runs out of time. The handler should then return soon. Handlers run concurrently, except for deliveries of one lane.
type Handler func(ctx context.Context, d *Delivery) error

// Middleware wraps a handler. The first of several is the outermost.
type Middleware func(Handler) Handler

func wrap(h Handler, ms []Middleware) Handler {
	for i := len(ms) - 1; i >= 0; i-- {
		h = ms[i](h)
	}
	return h
}

// Recover turns a handler's panic into a *PanicError. Consumers do this themselves; use Recover for middleware outside
// of it that needs the error.
func Recover() Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, d *Delivery) error { return recovered(ctx, next, d) }
	}
}

// recovered calls a handler. It turns a panic, and an error whose methods panic, into an error.
func recovered(ctx context.Context, h Handler, d *Delivery) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = newPanicError(p)
		}
	}()
	return readable(h(ctx, d))
}

// Log logs the end of each handler: successes at level debug, retries, rejects and releases by a method of the delivery
// at info, errors at warn, a panic at error with its stack. It returns a panic as a *PanicError. Bodies are never
// logged. nil: slog.Default().
func Log(log *slog.Logger) Middleware {
	if log == nil {
		log = slog.Default()
	}
	return func(next Handler) Handler {
		return func(ctx context.Context, d *Delivery) (err error) {
			begun := time.Now()
			err = engine.ErrGoexit // unless the handler returns
			defer func() { logEnd(ctx, log, d, err, time.Since(begun)) }()
			err = recovered(ctx, next, d)
			return err
		}
	}
}

func logEnd(ctx context.Context, log *slog.Logger, d *Delivery, err error, took time.Duration) {
	attrs := []slog.Attr{
		slog.String("channel", d.Channel), slog.String("id", d.ID), slog.Int("attempt", d.Attempt),
		slog.Duration("took", took),
	}
	level := slog.LevelDebug
	if err != nil {
		level = slog.LevelWarn
		attrs = append(attrs, slog.Any("error", err))
	}
	if how, ok := d.Settled(); ok && err == nil && !d.IsDone(nil) {
		level = slog.LevelInfo
		attrs = append(attrs, slog.Bool("released", how.Released), slog.String("verdict", how.Action.String()))
		if how.Reason != nil {
			attrs = append(attrs, slog.Any("reason", how.Reason))
		}
	}
	var p *PanicError
	if errors.As(err, &p) {
		level = slog.LevelError
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}
	log.LogAttrs(ctx, level, "handled", attrs...)
}

// Timeout cancels the context of handlers after a shorter time than the consumer's ProcessingTimeout. Exceeding it is
// an ordinary error, so the policy decides and may retry.
func Timeout(d time.Duration) Middleware {
	if d <= 0 {
		return nil // NewConsumer returns an error
	}
	return func(next Handler) Handler {
		return func(ctx context.Context, del *Delivery) error {
			ctx, cancel := context.WithTimeout(ctx, d)
			defer cancel()
			return next(ctx, del)
		}
	}
}

// Meta is a value that messages carry from the context of the sender to the context of the handler: a locale, a tenant,
// a trace.
type Meta struct {
	// Header is the name of the header that the value travels in.
	Header string
	// From returns the value of the sender's context; "": the message gets no header.
	From func(ctx context.Context) string
	// Into puts the value into the handler's context. It is not called for a message without the header.
	Into func(ctx context.Context, value string) context.Context
}

// Carry adds the metas of the sender's context to each message. It does not replace a header that the message has
// already.
func Carry(metas ...Meta) SendMiddleware {
	return func(next SendFunc) SendFunc {
		return func(ctx context.Context, m *Message) error {
			for _, meta := range metas {
				if value := meta.From(ctx); value != "" && !m.Headers.has(meta.Header) {
					m.Headers = m.Headers.With(meta.Header, value)
				}
			}
			return next(ctx, m)
		}
	}
}

// Restore reverses Carry: it adds the values of the headers to the handler's context.
func Restore(metas ...Meta) Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, d *Delivery) error {
			for _, meta := range metas {
				if d.Headers.has(meta.Header) {
					//nolint:fatcontext // one step for each meta, and there are few
					ctx = meta.Into(ctx, d.Headers.Value(meta.Header))
				}
			}
			return next(ctx, d)
		}
	}
}

func (h Headers) has(name string) bool {
	return slices.ContainsFunc(h, func(one driver.Header) bool { return one.Name == name })
}

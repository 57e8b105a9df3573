package godwit

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/godwitmq/godwit/internal/engine"
)

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

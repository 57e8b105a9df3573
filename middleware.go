package godwit

import (
	"context"
	"log/slog"
	"time"
)

// Recover turns a handler's panic into a *PanicError. Consumers do so by themselves; it is for middleware outside of it
// that wants to see the error.
func Recover() Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, d *Delivery) (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = newPanicError(p)
				}
			}()
			return next(ctx, d)
		}
	}
}

// Log logs each handler's end: successes at debug level, errors at warn. Nothing of a body is logged.
func Log(log *slog.Logger) Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, d *Delivery) error {
			begun := time.Now()
			err := next(ctx, d)
			attrs := []slog.Attr{slog.String("channel", d.Channel), slog.String("id", d.ID), slog.Int("attempt", d.Attempt), slog.Duration("took", time.Since(begun))}
			level := slog.LevelDebug
			if err != nil {
				level = slog.LevelWarn
				attrs = append(attrs, slog.Any("error", err))
			}
			log.LogAttrs(ctx, level, "handled", attrs...)
			return err
		}
	}
}

// Timeout gives handlers a shorter time than the consumer's ProcessingTimeout. What exceeds it is an ordinary error,
// which the policy may have tried again.
func Timeout(d time.Duration) Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, del *Delivery) error {
			ctx, cancel := context.WithTimeout(ctx, d)
			defer cancel()
			return next(ctx, del)
		}
	}
}

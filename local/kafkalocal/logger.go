package kafkalocal

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kfake"
)

// logger passes kfake's log lines to slog.
type logger struct{ to *slog.Logger }

// Logf is called by kfake.
func (l logger) Logf(level kfake.LogLevel, format string, args ...any) {
	to := slogLevel(level)
	if l.to.Enabled(context.Background(), to) {
		l.to.Log(context.Background(), to, fmt.Sprintf(format, args...))
	}
}

func slogLevel(level kfake.LogLevel) slog.Level {
	switch level {
	case kfake.LogLevelError:
		return slog.LevelError
	case kfake.LogLevelWarn:
		return slog.LevelWarn
	case kfake.LogLevelInfo:
		return slog.LevelInfo
	default:
		return slog.LevelDebug
	}
}

package telemetry

import (
	"context"
	"log/slog"
	"time"
)

// ExportFailed counts an error of OpenTelemetry's SDK, such as that of an exporter whose receiver hangs or refuses, in
// godwit.telemetry.errors, and logs it once a minute with the number of those that were left out. The SDK tells such
// errors to one handler of the whole program:
//
//	otel.SetErrorHandler(otel.ErrorHandlerFunc(t.ExportFailed))
func (t *Telemetry) ExportFailed(err error) {
	if err == nil {
		return
	}
	ctx := context.Background()
	t.meters.exports.Add(ctx, 1)
	leftOut, write := t.exports.take("", time.Now()) // all of them are one line: their texts have addresses and times
	if !write {
		return
	}
	attrs := []slog.Attr{slog.Any("error", err)}
	if leftOut > 0 {
		attrs = append(attrs, slog.Int(repeatedKey, leftOut))
	}
	t.logger.LogAttrs(ctx, slog.LevelWarn, "telemetry could not be exported; messages are not affected", attrs...)
}

package telemetry_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/telemetry"
)

// Errors of the SDK are all counted, and logged once a minute with the number of those that were left out.
func TestErrorsOfExporters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		tel, err := telemetry.New(&telemetry.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		tel.ExportFailed(nil)
		for i := range 130 {
			tel.ExportFailed(fmt.Errorf("dial from port %d: %w", i, errors.New("connection refused")))
			time.Sleep(time.Second)
		}
		if all, second := log.with("could not be exported"), log.with("port 60:", "repeated=59"); len(all) != 3 ||
			len(second) != 1 {
			t.Errorf("the log has:\n%s", strings.Join(all, ""))
		}
		page := httptest.NewRecorder()
		tel.Handler().ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
		if !strings.Contains(page.Body.String(), "godwit_telemetry_errors_total 130") {
			t.Errorf("no count in:\n%s", page.Body)
		}
	})
}

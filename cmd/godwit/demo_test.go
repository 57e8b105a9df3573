package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/cmd/godwit/internal/demo"
)

// As in the README: progress is a plain log, then comes the table, and the last line is JSON with all numbers.
func TestDemo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, errOut bytes.Buffer
		if status := run(t.Context(), []string{
			"demo", "--messages", "200", "--seed", "7", "--json", "--console",
			"off",
		}, &out,
			&errOut); status != exitDone {
			t.Fatalf("status %d, want %d; errors:\n%s", status, exitDone, &errOut)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if want := "channel"; !strings.Contains(lines[0], want) {
			t.Errorf("the output begins with %q, want the table's head", lines[0])
		}
		var got demo.Report
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil {
			t.Fatalf("last line %q: %v", lines[len(lines)-1], err)
		}
		type sums struct{ Sent, Ended, Lost, Left int }
		if diff := cmp.Diff(sums{Sent: 200, Ended: 200},
			sums{got.Sent, got.Handled + got.Dead, got.Lost, got.Left}); diff != "" {
			t.Errorf("seed %d (-want +got):\n%s", got.Seed, diff)
		}
		if strings.Contains(errOut.String(), "\x1b") {
			t.Errorf("control characters, although the output is not a terminal:\n%q", &errOut)
		}
	})
}

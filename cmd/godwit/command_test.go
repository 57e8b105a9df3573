package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Each command line that needs no server: its status and its output, as in testdata/NAME.golden.
func TestCalls(t *testing.T) {
	for name, args := range map[string][]string{
		"bare":            {},
		"help":            {"--help"},
		"help-top":        {"top", "--help"},
		"help-version":    {"version", "--help"},
		"help-demo":       {"demo", "--help"},
		"demo-for":        {"demo", "--for", "-1s"},
		"demo-messages":   {"demo", "--messages", "-1"},
		"help-local":      {"local", "--help"},
		"local-addr":      {"local", "--addr", "4566"},
		"local-account":   {"local", "--account", "12"},
		"help-local-stop": {"local", "stop", "--help"},
		"local-stop-none": {"local", "stop", "now"},
		"help-ls":         {"ls", "--help"},
		"ls-output":       {"ls", "--output", "xml"},
		"ls-backend":      {"ls", "--backend", "rabbit"},
		"ls-patterns":     {"ls", "orders", "bills"},
		"help-orphans":    {"orphans", "--help"},
		"orphans-bucket":  {"orphans"},
		"orphans-stray":   {"orphans", "payloads"},
		"help-pause":      {"pause", "--help"},
		"help-purge":      {"purge", "--help"},
		"purge-none":      {"purge"},
		"help-resume":     {"resume", "--help"},
		"pause-none":      {"pause", "--yes"},
		"help-rewind":     {"rewind", "--help"},
		"rewind-none":     {"rewind", "--to", "start"},
		"rewind-to":       {"rewind", "orders", "--to", "yesterday"},
		"rewind-nowhere":  {"rewind", "orders"},
		"help-demand":     {"demand", "--help"},
		"help-sweep":      {"sweep", "--help"},
		"sweep-owner":     {"sweep", "--yes"},
		"sweep-state":     {"sweep", "--owner", "shop", "--scheduled"},
		"sweep-both":      {"sweep", "--owner", "shop", "--scheduled", "--yes"},
		"sweep-undo":      {"sweep", "--undo", "a.journal", "--yes"},
		"help-plan":       {"plan", "--help"},
		"plan-none":       {"plan", "none.yaml"},
		"help-apply":      {"apply", "--help"},
		"help-topology":   {"topology", "--help"},
		"help-destroy":    {"topology", "destroy", "--help"},
		"help-adopt":      {"topology", "adopt", "--help"},
		"help-owned":      {"topology", "ls", "--help"},
		"help-declare":    {"topology", "import", "--help"},
		"help-picture":    {"topology", "export", "--help"},
		"topology-what":   {"topology", "list"},
		"help-health":     {"health", "--help"},
		"health-nothing":  {"health"},
		"health-both":     {"health", "--url", "http://127.0.0.1/livez", "--live"},
		"help-alerts":     {"alerts", "--help"},
		"alerts-json":     {"alerts", "-o", "json"},
		"alerts-every":    {"alerts", "--every", "0s"},
		"alerts-slack":    {"alerts", "--slack"},
		"alerts-webhook":  {"alerts", "--webhook"},
		"alerts-stray":    {"alerts", "orders"},
		"help-peek":       {"peek", "--help"},
		"help-requeue":    {"requeue", "--help"},
		"help-tail":       {"tail", "--help"},
		"help-run":        {"run", "--help"},
		"help-send":       {"send", "--help"},
		"help-describe":   {"describe", "--help"},
		"help-rm":         {"rm", "--help"},
		"help-doctor":     {"doctor", "--help"},
		"help-export":     {"export", "--help"},
		"help-import":     {"import", "--help"},
		"peek-since":      {"peek", "orders", "--since", "yesterday"},
		"peek-none":       {"peek", "orders", "-n", "0"},
		"requeue-none":    {"requeue"},
		"requeue-body":    {"requeue", "orders@dlq", "--body", ".amount > "},
		"requeue-edit":    {"requeue", "orders@dlq", "--edit", "amount("},
		"requeue-header":  {"requeue", "orders@dlq", "--header", "locale"},
		"requeue-deaths":  {"requeue", "orders@dlq", "--max-deaths", "0"},
		"import-none":     {"import", "orders"},
		"unknown-command": {"lokal"},
		"unknown-flag":    {"version", "--verbose"},
		"stray-argument":  {"version", "now"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			status := run(t.Context(), args, &out, &errOut)
			golden(t, name, fmt.Sprintf("exit status %d\n--- output\n%s--- errors\n%s", status, &out, &errOut))
		})
	}
}

// golden compares got with testdata/name.golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (write it with: go test ./cmd/godwit -update)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), or rewrite it with -update:\n%s", file, diff)
	}
}

// A failed run ends with status 1 and the reason, without the usage.
func TestExitStatusOfAFailure(t *testing.T) {
	var errOut bytes.Buffer
	if got := exitStatus(context.DeadlineExceeded, &errOut); got != exitFailed {
		t.Errorf("status %d, want %d", got, exitFailed)
	}
	if diff := cmp.Diff("godwit: context deadline exceeded\n", errOut.String()); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

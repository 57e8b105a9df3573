package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/godwitmq/godwit/cmd/godwit/internal/manual"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Each command line that needs no server: its status and its output, as in testdata/NAME.golden.
func TestCalls(t *testing.T) {
	for name, args := range map[string][]string{
		"bare":            {},
		"help":            {"--help"},
		"help-all":        {"help", "run", "--all"},
		"help-nothing":    {"help", "rum"},
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
		"help-later":      {"later", "cancel", "--help"},
		"later-none":      {"later", "cancel", "orders"},
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

// The help of each command fits a screen, has its flags in groups, and an example whose flags there are. The reference
// has everything.
func TestHelp(t *testing.T) {
	root := newRoot()
	root.InitDefaultCompletionCmd()
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		text := manual.Help(c, false)
		if n := strings.Count(text, "\n"); n > manual.Lines {
			t.Errorf("%s --help has %d lines, and a screen has %d: shorten it, or name flags in manual.Rare",
				c.CommandPath(), n, manual.Lines)
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > manual.Columns {
				t.Errorf("%s --help: %d columns, and a screen has %d: %s", c.CommandPath(), n, manual.Columns, line)
			}
		}
		if strings.Contains(c.CommandPath(), " completion") {
			return // cobra's
		}
		if c.HasParent() && !c.HasSubCommands() && !strings.Contains(c.Example, c.CommandPath()) {
			t.Errorf("%s --help has no example of it", c.CommandPath())
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			told := f.Name == "help" || !c.HasParent() || strings.Contains(manual.Help(c, true), "--"+f.Name)
			if f.Usage == "" || !told {
				t.Errorf("%s: --%s is not explained", c.CommandPath(), f.Name)
			}
		})
		for _, below := range c.Commands() {
			each(below)
		}
	}
	each(root)
	const head = "# Commands\n\n`godwit COMMAND --help` has what fits a screen, and `godwit help COMMAND --all` what this " +
		"page has.\n[Operations](operations.md) explains what the commands are for. A test writes this page.\n"
	compared(t, filepath.Join("..", "..", "docs", "commands.md"), head+manual.Reference(newRoot()))
}

var calls = regexp.MustCompile(`(?:^|[^/\w-])godwit( [^;&|>)]*)`)

// Each example of a command is one that it accepts: its flags exist, and their values can be read.
func TestExamples(t *testing.T) {
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		for _, found := range calls.FindAllStringSubmatch(strings.ReplaceAll(c.Example, "\n    ", " "), -1) {
			args := strings.Fields(strings.NewReplacer(`'`, "", `"`, "").Replace(strings.Split(found[1], "\n")[0]))
			of, rest, err := newRoot().Find(args)
			if err == nil {
				err = of.ParseFlags(rest)
			}
			if err != nil || !of.HasParent() {
				t.Errorf("%s: the example %q: %v", c.CommandPath(), args, err)
			}
		}
		for _, below := range c.Commands() {
			each(below)
		}
	}
	each(newRoot())
}

// golden compares got with testdata/name.golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	compared(t, filepath.Join("testdata", name+".golden"), got)
}

// compared compares got with a file.
func compared(t *testing.T, file, got string) {
	t.Helper()
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

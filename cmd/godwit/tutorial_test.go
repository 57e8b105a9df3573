package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The commands of the tutorial work as they stand there, and print what the page shows. The server has a free port.
func TestTutorial(t *testing.T) {
	if apart(t) {
		return
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("the tutorial is for bash, which this system does not have")
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "tutorial.md"))
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	command := "#!/bin/sh\nif [ \"$*\" = 'local --detach' ]; then set -- \"$@\" --addr 127.0.0.1:0; fi\nexec \"$SELF\" \"$@\"\n"
	if err := os.WriteFile(filepath.Join(folder, "godwit"), []byte(command), 0o700); err != nil {
		t.Fatal(err)
	}
	script := &strings.Builder{}
	// The trap is for a command that fails.
	script.WriteString("set -euo pipefail\n" +
		"trap 'kill $(jobs -p) 2>/dev/null || true; godwit local stop >/dev/null 2>&1 || true' EXIT\n")
	var wanted []string
	for _, block := range regexp.MustCompile("(?ms)^```(sh|text)\n(.*?)^```$").FindAllSubmatch(page, -1) {
		if string(block[1]) == "sh" {
			script.Write(block[2])
			continue
		}
		for line := range strings.Lines(string(block[2])) {
			wanted = append(wanted, strings.TrimSuffix(line, "\n"))
		}
	}
	if len(wanted) == 0 {
		t.Fatal("the page shows no output")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, bash)
	cmd.WaitDelay = time.Second
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = folder, strings.NewReader(script.String()), &out, &out
	cmd.Env = []string{
		"PATH=" + folder + ":" + os.Getenv("PATH"), "HOME=" + folder, "TMPDIR=" + folder, "SELF=" + self,
		actAsCommand + "=1",
	}
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v:\n%s", err, &out)
	}
	rest := out.String()
	for _, line := range wanted {
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Fatalf("the page shows %q, which is not printed, or in another order:\n%s", line, &out)
		}
		rest = after
	}
}

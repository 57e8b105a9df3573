package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A result that nobody reads to its end is no error, also of a command that has no end, and of one in a pipe.
func TestNobodyReads(t *testing.T) {
	onServer(t)
	provisioned(t, "orders", nil)
	for _, args := range []string{"ls", "ls --watch", "describe orders", "send orders x -n 1000", "peek orders"} {
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_ = reader.Close()
		cmd := exec.Command(os.Args[0], strings.Fields(args)...)
		var errOut bytes.Buffer
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), actAsCommand+"=1"), writer, &errOut
		if err := cmd.Run(); err != nil || strings.Contains(errOut.String(), "pipe") {
			t.Errorf("godwit %s: %v: %s", args, err, &errOut)
		}
		_ = writer.Close()
	}
}

// With --quiet, only results and errors are printed.
func TestQuiet(t *testing.T) {
	onServer(t)
	provisioned(t, "orders", nil)
	for args, want := range map[string]string{
		"send orders x --quiet": "", "pause orders -q": "", "doctor -q": "",
		"ls nosuch -q": "godwit: ops: channel nosuch does not exist",
	} {
		_, errOut, _ := call(t, strings.Fields(args)...)
		if !strings.HasPrefix(errOut, want) || want == "" && errOut != "" {
			t.Errorf("godwit %s: %q, want %q", args, errOut, want)
		}
	}
}

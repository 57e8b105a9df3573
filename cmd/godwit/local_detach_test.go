package main

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// --detach prints the exports of a server that is ready and outlives the command; stop ends it, and waits for that.
func TestLocalDetachAndStop(t *testing.T) {
	t.Setenv(actAsCommand, "1") // of the process that is started
	t.Setenv("TMPDIR", t.TempDir())
	var out, errOut bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	status := run(ctx, []string{
		"local", "--detach", "--addr", "127.0.0.1:0", "--region", "eu-west-1", "--latency", "*=1ms",
		"--latency", "s3.*=2ms",
	}, &out, &errOut)
	if status != exitDone {
		t.Fatalf("status %d: %s", status, &errOut)
	}
	found := regexp.MustCompile(`export AWS_ENDPOINT_URL=(http://\S+)\nexport AWS_REGION=eu-west-1\nexport AWS_DEFAULT_REGION=eu-west-1\n`).
		FindStringSubmatch(out.String())
	if found == nil {
		t.Fatalf("exports %q, errors %q", &out, &errOut)
	}
	endpoint := found[1]
	stopped := false
	defer func() {
		if !stopped {
			_ = stopLocal(context.WithoutCancel(ctx), endpoint) // so that the process does not outlive the test
		}
	}()
	answer, err := http.Get(endpoint + "/_localaws/health")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	log := regexp.MustCompile(`its log is (\S+);`).FindStringSubmatch(errOut.String())
	if log == nil {
		t.Fatalf("errors %q", &errOut)
	}
	if text, err := os.ReadFile(log[1]); err != nil || !strings.Contains(string(text), "Ready.") {
		t.Errorf("the log: %q, %v", text, err)
	}

	t.Setenv("AWS_ENDPOINT_URL", endpoint)
	out.Reset()
	errOut.Reset()
	if status := run(ctx, []string{"local", "ping"}, &out, &errOut); status != exitDone || out.Len()+errOut.Len() > 0 {
		t.Errorf("ping: status %d: %s%s", status, &out, &errOut)
	}
	if status := run(ctx, []string{"local", "stop"}, &out, &errOut); status != exitDone {
		t.Fatalf("stop: status %d: %s", status, &errOut)
	}
	stopped = true
	if answer, err := http.Get(endpoint + "/_localaws/health"); err == nil {
		answer.Body.Close()
		t.Error("it answers after stop")
	}
	if status := run(ctx, []string{"local", "ping"}, &out, &errOut); status != exitFailed {
		t.Errorf("ping without a server: status %d: %s", status, &errOut)
	}
	if status := run(ctx, []string{"local", "stop"}, &out, &errOut); status != exitFailed ||
		!strings.Contains(errOut.String(), "no `godwit local` answers") {
		t.Errorf("stop twice: status %d: %s", status, &errOut)
	}
}

// A server that cannot start is an error with its reason, and without exports.
func TestLocalDetachFails(t *testing.T) {
	t.Setenv(actAsCommand, "1")
	t.Setenv("TMPDIR", t.TempDir())
	seed := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(seed, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	status := run(t.Context(), []string{"local", "--detach", "--addr", "127.0.0.1:0", "--seed", seed}, &out, &errOut)
	if status != exitFailed || out.Len() > 0 || !strings.Contains(errOut.String(), "broken.json") {
		t.Errorf("status %d, printed %q, errors %q", status, &out, &errOut)
	}
}

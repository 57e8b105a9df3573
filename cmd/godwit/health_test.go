package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver/memdriver"
	"github.com/godwitmq/godwit/ops"
)

// actAsHanging makes the test binary a process whose handler hangs. Its value is the health file.
const actAsHanging = "GODWIT_TEST_HANGING"

// hang is a process with a consumer whose only handler ignores its context.
func hang(file string) error {
	ctx := context.Background()
	b, err := memdriver.Open(nil)
	if err != nil {
		return err
	}
	health, err := ops.NewHealth(&ops.HealthOptions{File: file, Handling: time.Second})
	if err != nil {
		return err
	}
	c, err := godwit.NewConsumer(ctx, b, "orders", &godwit.ConsumerOptions{
		Ordered: true, ProcessingTimeout: time.Second, Hooks: health.Hooks("orders"),
	})
	if err != nil {
		return err
	}
	p, err := godwit.NewProducer(ctx, b, "orders", &godwit.ProducerOptions{Ordered: true})
	if err == nil {
		err = p.Send(ctx, godwit.Message{Body: []byte("x")})
	}
	if err != nil {
		return err
	}
	_, err = c.Run(ctx, func(context.Context, *godwit.Delivery) error { select {} })
	return err
}

// A handler that hangs makes the health of its process fail in time. So does the end of the process.
func TestHealthOfAProcess(t *testing.T) {
	if apart(t) {
		return
	}
	file := filepath.Join(t.TempDir(), "health.json")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), actAsHanging+"="+file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	healthy := false
	for end := time.Now().Add(time.Minute); ; {
		var out, errOut bytes.Buffer
		status := run(t.Context(), []string{"health", "--file", file, "--start-period", "100000h"}, &out, &errOut)
		healthy = healthy || status == exitDone
		if status == exitFailed && strings.Contains(errOut.String(), "a handler has been running for") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("status %d: %s", status, &errOut)
		}
		time.Sleep(50 * time.Millisecond) // the process is a real one
	}
	if !healthy {
		t.Error("it was never healthy")
	}
	var errOut bytes.Buffer
	out, _, status := call(t, "health", "--file", file, "--live", "-o", "jsonl")
	if status != exitFailed || !strings.HasPrefix(out, `{"healthy":false,"reason":"`) {
		t.Errorf("status %d: %s", status, out)
	}
	status = run(t.Context(), []string{"health", "--file", file, "--live"}, &errOut, &errOut)
	if status != exitFailed {
		t.Errorf("alive: status %d: %s", status, &errOut)
	}
}

// hanging runs as the process of TestHealthOfAProcess, if it is one.
func hanging() {
	if file := os.Getenv(actAsHanging); file != "" {
		fmt.Fprintln(os.Stderr, hang(file))
		os.Exit(exitFailed)
	}
}

package main

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// A command that an interrupt has ended before it was done says so, with the status of shells.
func TestStatusOfAnInterrupt(t *testing.T) {
	onServer(t)
	provisioned(t, "orders", nil)
	if _, errOut, status := call(t, "send", "orders", "x"); status != exitDone {
		t.Fatalf("status %d: %s", status, errOut)
	}
	for _, args := range []string{
		"ls", "describe orders", "doctor", "peek orders", "requeue orders --to bills --yes", "export orders --receive",
		"purge orders --key k --yes", "send orders y",
	} {
		ctx, interrupt := context.WithCancelCause(t.Context())
		interrupt(errors.New("received interrupt"))
		var out, errOut strings.Builder
		if status := run(ctx, strings.Fields(args), &out, &errOut); status != exitInterrupted {
			t.Errorf("godwit %s: status %d, %s%s", args, status, &out, &errOut)
		}
	}
}

// Every command ends with the status that the table of docs/operations.md has for it, on both backends.
func TestStatuses(t *testing.T) {
	if apart(t) {
		return
	}
	for backend, begin := range map[string]func(t *testing.T){
		onAWS: func(t *testing.T) { onServer(t) }, onKafka: onBrokers,
	} {
		t.Run(backend, func(t *testing.T) {
			begin(t)
			t.Chdir(t.TempDir())
			for _, c := range []struct {
				args   string
				status int
			}{
				// Nothing exists.
				{"ls", exitNothing},
				{"ls -o json", exitNothing},
				{"ls x*", exitNothing},
				{"ls --problems", exitNothing},
				{"demand", exitNothing},
				{"demand -o json", exitNothing},
				{"demand x*", exitNothing},
				{"doctor", exitNothing},
				{"doctor x*", exitNothing},
				{"topology ls", exitNothing},
				{"topology ls -o json", exitNothing},
				{"context ls", exitNothing},
				{"describe orders", exitNothing},
				{"peek orders", exitNothing},
				{"requeue orders@dlq", exitNothing},
				{"export orders", exitNothing},
				{"purge orders", exitNothing},
				{"rm orders", exitNothing},
				{"send orders x", exitNothing},

				// A channel exists, and is empty.
				{"send orders {} --create", exitDone},
				{"purge orders --yes", exitDone},
				{"ls", exitDone},
				{"ls orders", exitDone},
				{"ls --problems", exitNothing},
				{"ls --problems -o json", exitNothing},
				{"ls bills", exitNothing},
				{"demand", exitDone},
				{"demand bills", exitNothing},
				{"topology ls", exitDone},
				{"describe orders", exitDone},
				{"describe order", exitNothing},
				{"peek orders", exitNothing},
				{"peek orders -o json", exitNothing},
				{"peek orders --groups", exitNothing},
				{"export orders --receive", exitNothing},
				{"export orders --receive --file none.jsonl", exitNothing},
				{"purge orders", exitDone},
				{"send bills x", exitNothing},
				{"peek bills", exitNothing},
				{"export bills", exitNothing},
				{"later ls orders", exitNothing},
				{"later ls bills", exitNothing},
				{"later cancel orders x", exitFailed},
				{"requeue orders@dlq", exitNothing},
				{"requeue orders --to bills", exitNothing},

				// A message waits.
				{"send orders {}", exitDone},
				{"send orders x --dedup-id 1", exitUsage},
				{"peek orders", exitDone},
				{"peek orders --groups", exitDone},
				{"export orders --receive", exitDone},
				{"export orders --receive --kind panic", exitNothing},
				{"export orders --receive --file one.jsonl", exitDone},
				{"export orders --receive --file one.jsonl", exitFailed},
				{"import orders --file one.jsonl --yes", exitDone},
				{"send bills {} --create", exitDone},
				{"purge bills --yes", exitDone},
				{"requeue orders --to bills --kind panic", exitNothing},
				{"requeue bills --to orders", exitNothing},
				{"requeue bills --to orders --yes", exitNothing},
				{"requeue orders --to bills --yes", exitDone},
				{"rm bills", exitDone},
				{"rm bills --yes", exitFailed},
				{"rm orders --yes", exitDone},

				// Wrong usage.
				{"ls a b", exitUsage},
				{"peek", exitUsage},
				{"describe", exitUsage},
				{"plan nosuch.yaml", exitUsage},
				{"context use nosuch", exitUsage},
			} {
				out, errOut, status := call(t, strings.Fields(c.args)...)
				if status != c.status {
					t.Errorf("godwit %s: status %d, want %d: %s%s", c.args, status, c.status, out, errOut)
				}
				if status == exitNothing && !strings.Contains(errOut, "nothing was found: ") &&
					!strings.Contains(errOut, " does not exist: ") {
					t.Errorf("godwit %s does not say that there is nothing: %s", c.args, errOut)
				}
			}
		})
	}
}

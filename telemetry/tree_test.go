package telemetry_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/telemetry"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a text with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// dies sends a message whose handler fails until it is a dead letter, which is then handled.
func (w *world) dies(p *godwit.Producer, c, dead *godwit.Consumer) {
	w.Helper()
	if err := p.Send(w.Context(), godwit.Message{Body: []byte("x"), OrderKey: "k"}); err != nil {
		w.Fatal(err)
	}
	w.handle(c, 5*time.Minute, func(context.Context, *godwit.Delivery) error {
		time.Sleep(time.Second)
		return errors.New("no such user")
	})
	w.handle(dead, time.Minute, func(context.Context, *godwit.Delivery) error { return nil })
	if err := p.Close(w.Context()); err != nil {
		w.Error(err)
	}
}

// A message that fails twice and dies: its attempts and its dead letter are linked to its send, or are one trace.
func TestTheTreeOfAMessageThatDies(t *testing.T) {
	for name, parent := range map[string]bool{"links": false, "parent": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, telemetry.Options{Parent: parent}, func(w *world) {
				o := &godwit.ConsumerOptions{
					MaxAttempts: 2, Backoff: func(int) time.Duration { return 30 * time.Second }, SettleLinger: -1,
				}
				p, c := w.producer("orders", nil), w.consumer("orders", o)
				w.dies(p, c, w.consumer("orders@dlq", &godwit.ConsumerOptions{SettleLinger: -1}))
				golden(t, "sqs-"+name+".txt", w.tree())
			})
		})
	}
}

package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/snssqs"
)

// A channel is paused and resumed with --yes only, and listed as paused. A wrong name is answered with the right one.
func TestPause(t *testing.T) {
	onServer(t)
	b, err := snssqs.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	_, err = godwit.NewConsumer(t.Context(), b, "orders", &godwit.ConsumerOptions{NoDeadLetters: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		args               string
		status             int
		out, errOut, notes string
	}{
		{"pause order", exitNothing, "", "perhaps orders", ""},
		{"pause orders", exitDone, "orders   running  running", "would be paused; add --yes", ""},
		{"pause orders --yes", exitDone, "orders   running  paused", "done: orders is paused", "paused"},
		{"pause orders --yes", exitDone, "orders   paused  paused", "orders is paused already", "paused"},
		{"resume orders -o jsonl", exitDone, `"now":"paused","done":false`, "would be running", "paused"},
		{"resume orders --yes -o jsonl", exitDone, `"was":"paused","now":"running","done":true`, "is running", ""},
	} {
		var out, errOut, list bytes.Buffer
		if got := run(t.Context(), strings.Fields(step.args), &out, &errOut); got != step.status ||
			!strings.Contains(out.String(), step.out) || !strings.Contains(errOut.String(), step.errOut) {
			t.Errorf("%s: status %d\n%s%s", step.args, got, &out, &errOut)
		}
		if got := run(t.Context(), []string{"ls"}, &list, &errOut); got != exitDone {
			t.Fatal(&errOut)
		}
		line := strings.Split(list.String(), "\n")[1]
		if diff := cmp.Diff(step.notes == "paused", strings.HasSuffix(line, "  paused")); diff != "" {
			t.Errorf("after %s: %s", step.args, line)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/snssqs"
)

// Topics of Kafka have no tags, so a sweep needs a permission of its own, and a state that knows their age. That can be
// a topic.
func TestSweepKafka(t *testing.T) {
	onBrokers(t)
	t.Setenv("GODWIT_OWNER", "shop") // does not count
	b, err := kafka.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	spec := driver.ChannelSpec{Channel: driver.Channel{Queue: "orders"}, Owner: true}
	if err := b.Ensure(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		args        string
		status      int
		out, errOut string
	}{
		{"sweep --kafka --yes", exitUsage, "", "--kafka needs --state, such as kafka://sweep"},
		{"sweep --kafka --owner shop", exitUsage, "", "--kafka does not go with --owner"},
		{"sweep --kafka --state kafka://a/b", exitFailed, "", `"a/b" is no name of a state`},
		{"sweep --undo kafka://none", exitFailed, "", "--undo kafka://none: it does not exist"},
	} {
		var out, errOut bytes.Buffer
		if got := run(t.Context(), strings.Fields(step.args), &out, &errOut); got != step.status ||
			!strings.Contains(out.String(), step.out) || !strings.Contains(errOut.String(), step.errOut) {
			t.Errorf("%s: status %d\n%s%s", step.args, got, &out, &errOut)
		}
	}
}

// A sweep reports what it finds; the owner comes from the flag or from GODWIT_OWNER. A journal is undone. The class of
// the queue depends on whether a minute of CloudWatch has ended since the queue exists.
func TestSweep(t *testing.T) {
	onServer(t)
	t.Setenv("GODWIT_OWNER", "")
	b, err := snssqs.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	ch := driver.Channel{Queue: "orders"}
	if err := b.Ensure(t.Context(), driver.ChannelSpec{
		Channel: ch, Owner: true, Tags: map[string]string{"owner": "shop"},
	}); err != nil {
		t.Fatal(err)
	}
	s, err := b.Snapshot(t.Context(), ch)
	if err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(t.TempDir(), "journal")
	line := `{"version":1,"channel":"orders","address":"` + s.Address + `","deleting":` + string(s.Data) + "}\n"
	if err := os.WriteFile(journal, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		args, owner string
		status      int
		out, errOut string
	}{
		{"sweep", "", exitDone, "orders   queue  shop ", "add --owner NAME --yes"},
		{"sweep --owner shop -o jsonl", "", exitDone, `"role":"queue"`, "nothing was changed: add --yes"},
		{"sweep --yes", "shop", exitDone, "orders   queue  shop ", "2 channels were looked at, 1 "},
		{"sweep", "bank", exitNothing, "", "no channel has the tag owner=bank; there are channels of shop"},
		{"sweep --undo " + journal, "", exitDone, s.Address, "0 resources were made again"},
		{"sweep --undo " + journal + ".none", "", exitUsage, "", "no such file"},
	} {
		t.Setenv("GODWIT_OWNER", step.owner)
		var out, errOut bytes.Buffer
		if got := run(t.Context(), strings.Fields(step.args), &out, &errOut); got != step.status ||
			!strings.Contains(out.String(), step.out) || !strings.Contains(errOut.String(), step.errOut) {
			t.Errorf("%s: status %d\n%s%s", step.args, got, &out, &errOut)
		}
	}
	if _, err := ops.Remove(t.Context(), b, "orders", nil); err != nil {
		t.Fatal(err)
	}
	var out, errOut bytes.Buffer
	if got := run(t.Context(), []string{"sweep", "--undo", journal}, &out, &errOut); got != exitDone ||
		!strings.Contains(errOut.String(), "1 resources were made again") {
		t.Errorf("status %d\n%s%s", got, &out, &errOut)
	}
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/ops"
)

// On Kafka, dead letters go back to their topic with their keys, in order; those that are not selected stay, and a
// second run finds only them.
func TestRequeueOnKafka(t *testing.T) {
	if apart(t) {
		return
	}
	onBrokers(t)
	b, err := kafka.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	s := driver.ChannelSpec{Channel: driver.Channel{Queue: "orders"}, Owner: true}
	if err := b.Ensure(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	p, err := godwit.NewProducer(t.Context(), b, "orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	const n = 300
	var ms []godwit.Message
	for i := range n {
		ms = append(ms, godwit.Message{OrderKey: fmt.Sprint("key ", i%7), Body: fmt.Appendf(nil, `{"n": %d}`, 1000+i)})
	}
	if err := p.SendBatch(t.Context(), ms); err != nil {
		t.Fatal(err)
	}
	die(t, b, "orders", n)
	command := func(args ...string) (string, string) {
		t.Helper()
		var out, errOut bytes.Buffer
		if status := run(t.Context(), args, &out, &errOut); status != exitDone {
			t.Fatalf("%q: %s", args, &errOut)
		}
		return out.String(), errOut.String()
	}
	out, _ := command("peek", "orders@dlq", "-n", "5")
	if strings.Count(out, "no such customer") != 5 {
		t.Errorf("%s", out)
	}
	// A consumer's rejects of a key may overtake each other on their way, so the order of the dead letters counts.
	want := map[string][]string{}
	letters, _ := command("peek", "orders@dlq", "-n", strconv.Itoa(2*n), "-o", "jsonl")
	for line := range strings.Lines(letters) {
		r, err := ops.ParseRecord([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		m := r.Message()
		want[string(m.Key)] = append(want[string(m.Key)], string(m.Body))
	}
	const chosen = `{"n": 1100}`
	behind := len(want["key 2"]) - slices.Index(want["key 2"], chosen) // of its key, it and those behind it
	journal := filepath.Join(t.TempDir(), "journal")
	_, errOut := command("requeue", "orders@dlq", "--body", ".n != 1100", "--journal", journal)
	if !strings.Contains(errOut, fmt.Sprintf("%d messages would go to", n-behind)) {
		t.Errorf("%s", errOut)
	}
	out, errOut = command("requeue", "orders@dlq", "--body", ".n != 1100", "--journal", journal, "--yes", "-o", "jsonl")
	if !strings.Contains(out, fmt.Sprintf(`"moved":%d`, n-behind)) {
		t.Errorf("%s%s", out, errOut)
	}
	file := filepath.Join(t.TempDir(), "left.jsonl")
	_, errOut = command("export", "orders@dlq", "--file", file)
	if !strings.Contains(errOut, fmt.Sprint(behind, " messages")) {
		t.Errorf("%s", errOut)
	}
	out, errOut = command("requeue", "orders@dlq", "--journal", journal, "--yes", "-o", "jsonl")
	if !strings.Contains(out, fmt.Sprintf(`"moved":%d`, behind)) {
		t.Errorf("%s%s", out, errOut)
	}
	c, err := godwit.NewConsumer(t.Context(), b, "orders", &godwit.ConsumerOptions{Ordered: true, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	got := map[string][]string{}
	count := 0
	if _, err := c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		got[d.OrderKey] = append(got[d.OrderKey], string(d.Body))
		if count++; count == n {
			stop()
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-dead letters +back):\n%s", diff)
	}
}

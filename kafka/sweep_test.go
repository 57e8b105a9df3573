//go:build synctests

package kafka_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/ops"
)

// sweepLines are the findings of a sweep, sorted.
func sweepLines(r *ops.SweepReport) (lines []string) {
	for _, f := range r.Findings {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s: %s %s", f.Channel, f.Class, f.Action)))
	}
	slices.Sort(lines)
	return lines
}

// A sweep finds topics to which nothing is sent and that no group reads. It deletes them if that is permitted, those
// that it has known for three days and that are empty, and an undo creates them again.
func TestSweep(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{
			ChannelOptions: kafka.ChannelOptions{
				Partitions: 3, TopicConfig: map[string]string{"max.message.bytes": "2097152"},
			},
		},
			driver.Events{})
		for _, name := range []string{"idle", "busy", "full"} {
			s := driver.ChannelSpec{Channel: driver.Channel{Queue: name}, Owner: true}
			if err := l.b.Ensure(w.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		put := func(topic string) {
			r := &kgo.Record{Topic: topic, Partition: 1, Value: []byte("a kite")}
			if err := w.client.ProduceSync(w.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		put("full")
		w.send(0, "a")
		l.settle(driver.Done, l.get(1)...)
		if err := l.recv.Close(w.Context()); err != nil { // its group keeps its commits
			t.Fatal(err)
		}
		state := l.state("sweep")
		sweep := func(o ops.SweepOptions) []string {
			t.Helper()
			r, err := ops.Sweep(w.Context(), l.b, &o)
			if err != nil {
				t.Fatal(err)
			}
			return sweepLines(r)
		}
		journal := ops.StateJournal{State: l.state("journal"), Name: "kafka://journal"}
		yes := ops.SweepOptions{Untagged: true, Yes: true, State: state, Journal: journal}
		want := []string{"busy: kept", "full: without consumers", "idle: kept"}
		if diff := cmp.Diff(want, sweep(yes)); diff != "" {
			t.Errorf("of new topics (-want +got):\n%s", diff)
		}
		time.Sleep(95 * time.Hour)
		put("busy")
		time.Sleep(time.Hour)
		want = []string{"busy: without consumers", "full: stale", "idle: kept", "orders: without producers"}
		if diff := cmp.Diff(want, sweep(ops.SweepOptions{State: state})); diff != "" {
			t.Errorf("without permission (-want +got):\n%s", diff)
		}
		want = slices.Replace(want, 2, 3, "idle: unused deleted", "idle@dlq: unused deleted")
		before, err := l.b.Snapshot(w.Context(), driver.Channel{Queue: "idle"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, sweep(yes)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if topics, err := w.admin.ListTopics(w.Context()); err != nil || topics.Has("idle") || !topics.Has("full") {
			t.Errorf("%v, %v", topics.Names(), err)
		}
		text, _, err := journal.State.Load(w.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			all, err := ops.Undo(w.Context(), l.b, text)
			if err != nil || len(all) != 2 || len(all[0].Made) != 1-i || len(all[0].Found) != i {
				t.Fatalf("%+v, %v", all, err)
			}
		}
		after, err := l.b.Snapshot(w.Context(), driver.Channel{Queue: "idle"})
		if err != nil || string(after.Data) != string(before.Data) ||
			!strings.Contains(string(after.Data), `"partitions":3`) {
			t.Errorf("%s, %v, want %s", after.Data, err, before.Data)
		}
		for _, o := range []ops.SweepOptions{
			{Untagged: true, Yes: true}, {Untagged: true, Owner: "shop", State: state},
		} {
			_, err := ops.Sweep(w.Context(), l.b, &o)
			if err == nil || !strings.Contains(err.Error(), "Untagged and") {
				t.Errorf("%v", err)
			}
		}
		l.end()
	})
}

//go:build synctests

package kafka_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// commits makes a group of another program one that reads a topic.
func (w *world) commits(group, topic string) {
	w.Helper()
	var os kadm.Offsets
	os.AddOffset(topic, 0, 0, -1)
	if err := w.admin.CommitAllOffsets(w.Context(), group, os); err != nil {
		w.Fatal(err)
	}
}

// A purge deletes the records of the topic and of the tiers, and names the groups that lose them, too. A consumer goes
// on with what is sent later.
func TestPurge(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Ordering: kafka.OrderNone, Tiers: []time.Duration{time.Hour}},
		}, driver.Events{})
		w.commits("reports", "orders")
		w.commits("orders.audit", "orders")
		w.commits("unrelated", "orders.orders.dlq")
		w.send(0, "a", "b", "c")
		ds := l.get(3)
		l.settle(driver.Done, ds[0])
		ss := []driver.Settlement{{Handle: ds[1].Handle, Action: driver.Retry, After: time.Hour, Attempt: 1}}
		if err := l.recv.Settle(w.Context(), ss); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // a commit
		for _, dry := range []bool{true, false} {
			p, err := l.b.Purge(w.Context(), orders, dry)
			want := driver.Purged{Messages: 2, Others: []string{"orders.audit", "reports"}}
			if diff := cmp.Diff(want, p); err != nil || diff != "" {
				t.Errorf("dry %v: %v (-want +got):\n%s", dry, err, diff)
			}
		}
		w.send(0, "d")
		if d := l.get(1)[0]; string(d.Body) != "d" {
			t.Errorf("received %s", d.Body)
		}
		starts, err := w.admin.ListStartOffsets(w.Context(), "orders.orders.retry.1h")
		if at, ok := starts.Lookup("orders.orders.retry.1h", 0); err != nil || !ok || at.Offset != 1 {
			t.Errorf("the tier starts at %+v, %v, want 1", at, err)
		}
	})
}

// A removal deletes the group, the tiers and the topic, and nothing of other channels. It is refused while there are
// consumers, or other groups.
func TestRemove(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Ordering: kafka.OrderNone, Tiers: []time.Duration{time.Hour}},
		}, driver.Events{})
		w.send(0, "a")
		l.settle(driver.Done, l.get(1)...)
		refused := func(want string) {
			t.Helper()
			_, err := l.b.Remove(w.Context(), orders, false)
			if driver.ClassOf(err) != driver.Permanent || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		time.Sleep(10 * time.Second) // a commit
		refused("has 1 members")
		if err := l.recv.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		w.commits("reports", "orders")
		refused("remove reports first")
		if _, err := w.admin.DeleteGroup(w.Context(), "reports"); err != nil {
			t.Fatal(err)
		}
		want := []string{"group orders", "topic orders.orders.retry.1h", "topic orders"}
		for _, dry := range []bool{true, false} {
			r, err := l.b.Remove(w.Context(), orders, dry)
			if diff := cmp.Diff(want, r.Resources); err != nil || diff != "" {
				t.Errorf("dry %v: %v (-want +got):\n%s", dry, err, diff)
			}
		}
		time.Sleep(10 * time.Second) // the client's metadata
		topics, err := w.admin.ListTopics(w.Context())
		if diff := cmp.Diff([]string{"orders.orders.dlq"}, topics.Names()); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		all, err := l.b.Catalog(w.Context())
		if err != nil || len(all) != 1 || all[0].Channel.String() != "orders@dlq" {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

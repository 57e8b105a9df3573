//go:build synctests

package kafka_test

import (
	"errors"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// What was sent is counted in all partitions. What brokers do not count is unknown, and so is all of a topic that does
// not exist, alone.
func TestActivity(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 3}}, driver.Events{})
		w.send(0, "a", "b")
		time.Sleep(time.Hour)
		middle := time.Now()
		w.send(0, "c")
		w.send(2, "d")
		time.Sleep(time.Hour)
		none, whole := driver.Channel{Queue: "none"}, driver.Channel{Exchange: "orders"}
		all, err := l.b.Activity(w.Context(), []driver.Channel{none, orders, whole}, middle)
		if err != nil || len(all) != 3 {
			t.Fatalf("%v, %v", all, err)
		}
		if a := all[0]; driver.ClassOf(a.Sent.Err) != driver.NotFound || a.Sent.Known() || a.Oldest.Known() {
			t.Errorf("none: %+v", a)
		}
		if a := all[1]; a.Sent.Value != 2 || !a.Sent.Known() || !errors.Is(a.Deleted.Err, driver.ErrNotCounted) ||
			!a.Consumers.Known() || a.Consumers.Value != 1 ||
			!a.Oldest.Known() || a.Oldest.Value.Round(time.Second) != 2*time.Hour {
			t.Errorf("orders: %+v", a)
		}
		if a := all[2]; a.Sent.Value != 2 || a.Oldest.Known() {
			t.Errorf("orders.*: %+v", a)
		}
	})
}

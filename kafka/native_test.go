//go:build synctests

package kafka_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// A handler reaches the record of a delivery, and its position. When the delivery is settled, there is none.
func TestTheRecordOfADelivery(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 2}}, driver.Events{})
		w.send(1, "a", "b")
		ds := l.get(2)
		native := l.recv
		var at driver.Provenance
		if !native.As(ds[1].Handle, &at) || at != (driver.Provenance{Partition: "1", Offset: 1}) {
			t.Errorf("the position is %+v", at)
		}
		var r *kgo.Record
		if !native.As(ds[1].Handle, &r) || r.Topic != "orders" || r.Partition != 1 || r.Offset != 1 ||
			string(r.Value) != "b" || r.Context != nil {
			t.Errorf("the record is %+v", r)
		}
		r.Offset = 7
		if native.As(ds[1].Handle, &r); r.Offset != 1 {
			t.Error("the record was not a copy")
		}
		var other string
		if native.As(ds[0].Handle, &other) || native.As(driver.Handle{}, &at) {
			t.Error("an unknown type or a foreign handle was accepted")
		}
		l.settle(driver.Done, ds...)
		committed := l.recv.(driver.Log)
		if n := committed.Uncommitted(); n != 2 {
			t.Errorf("%d records are finished and not committed, want 2", n)
		}
		l.nothing(3 * time.Second)
		if n := committed.Uncommitted(); n != 0 {
			t.Errorf("%d records are not committed after a commit", n)
		}
		if native.As(ds[1].Handle, &at) {
			t.Error("a settled delivery has a position")
		}
		if a := l.b.Address(driver.Channel{Queue: "orders"}); a != (driver.Address{
			System: "kafka", Destination: "orders", Group: "orders",
		}) {
			t.Errorf("the address is %+v", a)
		}
		l.end()
	})
}

//go:build synctests

package kafka_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/ops"
)

// ordersLater is where messages of the channel wait for their time.
var ordersLater = driver.Channel{Queue: "orders", Later: true}

// waits checks the messages that wait, by their bodies, in the order in which they are due.
func (l *life) waits(want ...string) []driver.Peeked {
	l.w.Helper()
	seen, err := l.b.Peek(l.w.Context(), ordersLater, driver.PeekFrom{}, 1000)
	if err != nil {
		l.w.Fatal(err)
	}
	var bodies []string
	for i := range seen {
		bodies = append(bodies, string(seen[i].Delivery.Body))
	}
	if fmt.Sprint(bodies) != fmt.Sprint(want) {
		l.w.Errorf("the messages that wait are %v, want %v", bodies, want)
	}
	d, err := l.b.Inspect(l.w.Context(), ordersLater)
	if err != nil || d.All() != int64(len(want)) {
		l.w.Errorf("%+v waits, %v; want %d messages", d, err, len(want))
	}
	return seen
}

// An operator sees what waits for its time, in the order in which it is due, and from any message on. What was sent on
// or cancelled is not there any more.
func TestLaterSeen(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 3}}, driver.Events{})
		begun := time.Now()
		l.put(orders,
			driver.Message{Body: []byte("third"), OrderKey: "a", Type: "invoice", Delay: 3 * time.Hour},
			driver.Message{Body: []byte("first"), OrderKey: "b", Delay: time.Hour},
			driver.Message{Body: []byte("second"), At: begun.Add(2 * time.Hour)},
		)
		gone := l.cancellable("gone", 90*time.Minute)
		seen := l.waits("first", "gone", "second", "third")
		third := seen[3].Delivery
		late := third.Due.Sub(begun.Add(3 * time.Hour))
		if third.OrderKey != "a" || third.Type != "invoice" || late.Abs() > time.Second {
			t.Errorf("the third message is %+v", third)
		}
		if seen[1].Delivery.ID != gone || !seen[1].Cancellable || seen[0].Cancellable {
			t.Errorf("the id of the message that can be cancelled is %s, want %s", seen[1].Delivery.ID, gone)
		}
		for _, c := range []struct {
			from driver.PeekFrom
			most int
			want string
		}{
			{driver.PeekFrom{}, 2, "[first gone]"},
			{driver.PeekFrom{Last: true}, 1, "[third]"},
			{driver.PeekFrom{ID: gone}, 2, "[gone second]"},
			{driver.PeekFrom{ID: seen[2].Delivery.ID}, 9, "[second third]"},
			{driver.PeekFrom{Time: time.Now().Add(time.Hour)}, 9, "[]"},
		} {
			ps, err := l.b.Peek(w.Context(), ordersLater, c.from, c.most)
			var bodies []string
			for i := range ps {
				bodies = append(bodies, string(ps[i].Delivery.Body))
			}
			if err != nil || fmt.Sprint(bodies) != c.want {
				t.Errorf("from %+v at most %d: %v, %v; want %s", c.from, c.most, bodies, err, c.want)
			}
		}
		if _, err := l.b.Peek(w.Context(), ordersLater, driver.PeekFrom{ID: "orders/0/0"}, 1); driver.ClassOf(err) !=
			driver.NotFound {
			t.Errorf("from no message: %v", err)
		}
		if cancelled, err := driver.OperationsOf(l.b).Cancel(w.Context(), orders, gone); err != nil || !cancelled {
			t.Fatal(cancelled, err)
		}
		l.waits("first", "second", "third")
		first := l.within(1, 2*time.Hour)
		w.same(first, "first")
		l.settle(driver.Done, first...)
		time.Sleep(time.Second)
		l.waits("second", "third")
		if err := l.recv.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Hour)
		w.cluster.Compact()
		l.waits("second", "third")
		d, err := l.b.Inspect(w.Context(), ordersLater)
		if err != nil || d.Waiting != 2 || d.Oldest < 2*time.Hour || d.Oldest > 4*time.Hour {
			t.Errorf("%+v is overdue, %v", d, err)
		}
		l.open(driver.Events{})
		if ds := l.get(2); !strings.Contains(fmt.Sprint(texts(ds)), "third") {
			t.Errorf("received %v", texts(ds))
		}
		time.Sleep(time.Second)
		l.waits()
	})
}

// Commands of operators work on what waits for its time, or say what to do.
func TestLaterOperated(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 3}}, driver.Events{})
		put := func(body string) {
			l.put(orders, driver.Message{Body: []byte(body), OrderKey: body, Delay: time.Hour})
		}
		refused := func(err error, class driver.Class, want string) {
			t.Helper()
			if err == nil || driver.ClassOf(err) != class || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want an error of class %v with %q", err, class, want)
			}
		}
		put("a")
		put("b")
		found, err := ops.Find(w.Context(), l.b, "orders@later")
		if err != nil || found.Channel != ordersLater || found.Address != "orders.later" {
			t.Fatalf("found %+v, %v", found, err)
		}
		_, err = l.b.Sender(w.Context(), ordersLater)
		refused(err, driver.Permanent, "send to their channel with a delay")
		_, err = l.b.Receiver(w.Context(), ordersLater, driver.ReceiverOptions{Concurrency: 1})
		refused(err, driver.Permanent, "only consumers of their channel")
		refused(l.b.Ensure(w.Context(), driver.ChannelSpec{Channel: ordersLater}), driver.Permanent, "name the channel")
		_, err = l.b.Rewind(w.Context(), ordersLater, driver.Position{}, true)
		refused(err, driver.Permanent, "it has no position")
		_, err = l.b.Return(w.Context(), driver.Channel{Queue: "orders", Later: true, DeadLetter: true}, false)
		refused(err, driver.Permanent, "no dead letters of its own")

		purged, err := ops.Purge(w.Context(), l.b, "orders@later", &ops.PurgeOptions{Dry: true})
		if err != nil || purged.Messages != 2 {
			t.Errorf("a dry purge: %+v, %v", purged, err)
		}
		l.waits("a", "b")
		if purged, err = ops.Purge(w.Context(), l.b, "orders@later", nil); err != nil || purged.Messages != 2 {
			t.Errorf("a purge: %+v, %v", purged, err)
		}
		l.waits()
		put("c")
		l.waits("c")
		l.nothing(10 * time.Minute)

		_, err = ops.Remove(w.Context(), l.b, "orders", &ops.RemoveOptions{Dry: true})
		refused(err, driver.Permanent, "which would create it again")
		if err := l.recv.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		_, err = ops.Remove(w.Context(), l.b, "orders", nil)
		refused(err, driver.Permanent, "there are 1 messages")
		saved, err := l.b.Snapshot(w.Context(), orders)
		if err != nil {
			t.Fatal(err)
		}
		removed, err := ops.Remove(w.Context(), l.b, "orders", &ops.RemoveOptions{Messages: true})
		text := fmt.Sprint(removed.Resources)
		if err != nil || removed.Messages != 1 || !strings.Contains(text, "topic orders.later") ||
			!strings.Contains(text, "group orders.later") {
			t.Fatalf("removed %+v, %v", removed, err)
		}
		time.Sleep(time.Minute) // the client's list of topics may be a little old
		if _, err := ops.Find(w.Context(), l.b, "orders@later"); err == nil {
			t.Error("the messages that wait are still there")
		}
		restored, err := l.b.Restore(w.Context(), saved.Data)
		if err != nil || !strings.Contains(fmt.Sprint(restored.Made), "orders.later") {
			t.Errorf("restored %+v, %v", restored, err)
		}
		if _, err := l.b.Remove(w.Context(), orders, false); err != nil {
			t.Fatal(err)
		}
		// What waits beside a channel that is gone is found and removed by its own name.
		if _, err := w.admin.CreateTopic(w.Context(), 1, 1, nil, "gone.later"); err != nil {
			t.Fatal(err)
		}
		r := &kgo.Record{Topic: "gone.later", Key: []byte(strings.Repeat("0a", 16)), Value: []byte("x")}
		if err := w.client.ProduceSync(w.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if removed, err = ops.Remove(w.Context(), l.b, "gone@later", &ops.RemoveOptions{Messages: true}); err != nil ||
			removed.Messages != 1 || fmt.Sprint(removed.Resources) != "[topic gone.later]" {
			t.Errorf("removed %+v, %v", removed, err)
		}
	})
}

// A sweep takes what waits for its time for used while its channel is there, and for unused when it is gone.
func TestLaterSwept(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		l.put(orders, driver.Message{Body: []byte("a"), Delay: 30 * 24 * time.Hour})
		if _, err := w.admin.CreateTopic(w.Context(), 1, 1, nil, "gone.later"); err != nil {
			t.Fatal(err)
		}
		if err := l.recv.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		state := l.state("sweep")
		sweep := func() string {
			t.Helper()
			r, err := ops.Sweep(w.Context(), l.b, &ops.SweepOptions{Untagged: true, State: state})
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(sweepLines(r))
		}
		_ = sweep() // it knows them from now on
		time.Sleep(96 * time.Hour)
		l.put(orders, driver.Message{Body: []byte("b")})
		lines := sweep()
		if !strings.Contains(lines, "gone@later: unused") || strings.Contains(lines, "orders@later") {
			t.Errorf("the sweep has found %s", lines)
		}
	})
}

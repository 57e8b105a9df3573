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
)

var ordersLetters = driver.Channel{Queue: "orders", DeadLetter: true}

// home opens the way back of the dead letters of orders.
func (l *life) home(alone bool) driver.Home {
	l.w.Helper()
	h, err := l.b.Return(l.w.Context(), ordersLetters, alone)
	if err != nil {
		l.w.Fatal(err)
	}
	return h
}

// back sends n dead letters of orders back, and finishes them.
func (l *life) back(h driver.Home, n int) {
	l.w.Helper()
	recv, err := l.b.Receiver(l.w.Context(), ordersLetters, driver.ReceiverOptions{Concurrency: 10, Wait: time.Second})
	if err != nil {
		l.w.Fatal(err)
	}
	for begun := time.Now(); n > 0 && time.Since(begun) < time.Minute; {
		ds, err := recv.Receive(l.w.Context(), driver.Ask{Max: n}, nil)
		if err != nil {
			l.w.Fatal(err)
		}
		for _, d := range ds {
			f := driver.Forward{Raw: rawOf(recv, d.Handle), ID: d.ID, Revive: true}
			p, err := h.Forwarder.Forward(l.w.Context(), &f)
			if err == nil {
				err = h.Forwarder.Send(l.w.Context(), []driver.Prepared{p})
			}
			if err == nil {
				err = recv.Settle(l.w.Context(), []driver.Settlement{{Handle: d.Handle, KeepBody: true}})
			}
			if err != nil {
				l.w.Fatal(err)
			}
		}
		n -= len(ds)
	}
	if err := recv.Close(l.w.Context()); err != nil || n > 0 {
		l.w.Fatalf("%d dead letters are missing, %v", n, err)
	}
}

// A dead letter goes to a tier of its own consumers. They handle it once for each time that it comes back, as the
// record that it was, although it has a dead letter; also after they were restarted.
func TestReturnedAlone(t *testing.T) {
	for name, o := range map[string]kafka.Options{
		"park": {
			ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark},
		}, "alone": {ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryAlone}},
		"share": {
			ChannelOptions: kafka.ChannelOptions{
				Ordering: kafka.OrderNone, GroupProtocol: kafka.GroupShare, Retries: kafka.RetryAlone,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				l := w.begin(o, driver.Events{})
				w.send(0, "k=first", "k=second")
				for _, want := range []string{"first", "second"} {
					ds := l.get(1)
					w.same(ds, want)
					l.settle(driver.Reject, ds...)
				}
				time.Sleep(5 * time.Second)
				h := l.home(true)
				if h.Shared || h.Address != shortTier {
					t.Errorf("the way back is %+v", h)
				}
				for round := 1; round <= 3; round++ {
					l.back(l.home(true), 2)
					if round == 2 {
						l.end()
						l = w.begin(o, driver.Events{})
					}
					for i, want := range []string{"first", "second"} {
						ds := l.get(1)
						w.same(ds, want)
						if d := ds[0]; d.ID != fmt.Sprint("orders/0/", i) || d.Attempt != 0 || len(d.Header) > 0 {
							t.Errorf("round %d: delivered as %+v", round, d)
						}
						l.settle(driver.Reject, ds...)
					}
				}
				l.back(l.home(true), 2)
				for range 2 {
					l.settle(driver.Done, l.get(1)...)
				}
				l.end()
				l = w.begin(o, driver.Events{})
				l.nothing(20 * time.Second)
				if n := w.count("orders"); n != 2 {
					t.Errorf("topic orders has %d records", n)
				}
			})
		})
	}
}

// Without options about tiers, those count that a running consumer reads.
func TestTheTierOfARunningConsumer(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark}}, driver.Events{})
		l.reject("k=a")
		plain := w.backend(kafka.Options{})
		h, err := plain.Return(w.Context(), ordersLetters, true)
		if err != nil || h.Address != shortTier {
			t.Fatalf("the way back is %+v, %v", h, err)
		}
		l.back(h, 1)
		w.same(l.get(1), "a")
		l.end()
		_, err = plain.Return(w.Context(), ordersLetters, true)
		if driver.ClassOf(err) != driver.Permanent || !strings.Contains(fmt.Sprint(err), "start a consumer") {
			t.Errorf("the tiers of a consumer that does not run: %v", err)
		}
	})
}

// What a tier would take for another record does not go there.
func TestReturnedAloneRefuses(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark}}, driver.Events{})
		l.reject("k=a")
		letter := w.all(ordersDead, 1)[0]
		headers := func(change func(name string, value []byte) []byte) []driver.RawHeader {
			var all []driver.RawHeader
			for _, h := range letter.Headers {
				if value := change(h.Key, h.Value); value != nil {
					all = append(all, driver.RawHeader{Name: h.Key, Value: value})
				}
			}
			return all
		}
		set := func(header, to string) []driver.RawHeader {
			return headers(func(name string, value []byte) []byte {
				if name == header {
					return []byte(to)
				}
				return value
			})
		}
		for says, c := range map[string]struct {
			id     string
			header []driver.RawHeader
		}{
			"from topic orders":   {ordersDead + "/0/0", set("__dlq.errors.topic", "other")},
			"say that it is from": {ordersDead + "/0/0", headers(func(string, []byte) []byte { return nil })},
			"created again":       {ordersDead + "/0/0", set("godwit-log", "another")},
			"not a position":      {"orders/0/0", set("", "")},
			"add partitions":      {ordersDead + "/0/0", set("__dlq.errors.partition", "7")},
		} {
			raw := driver.Raw{Format: "kafka", Key: letter.Key, Body: letter.Value, Header: c.header}
			_, err := l.home(true).Forwarder.Forward(w.Context(), &driver.Forward{Raw: raw, ID: c.id, Revive: true})
			if err == nil || driver.ClassOf(err) != driver.Permanent || !strings.Contains(err.Error(), says) {
				t.Errorf("%v, want %q", err, says)
			}
		}
	})
}

// The way back to a topic says whether others read it.
func TestReturnTellsWhoElseReads(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		if h := l.home(false); h.Shared || h.Address != "orders" {
			t.Errorf("the way back of a queue is %+v", h)
		}
		other := driver.Channel{Exchange: "orders", Queue: "audit"}
		if err := l.b.Ensure(w.Context(), driver.ChannelSpec{Channel: other, Owner: true}); err != nil {
			t.Fatal(err)
		}
		recv, err := l.b.Receiver(w.Context(), other, driver.ReceiverOptions{Concurrency: 1, Wait: time.Second})
		if err == nil {
			_, err = recv.Receive(w.Context(), driver.Ask{Max: 1}, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		if h := l.home(false); !h.Shared {
			t.Errorf("the way back of a queue beside a consumer of an exchange is %+v", h)
		}
		other.DeadLetter = true
		if h, err := l.b.Return(w.Context(), other, false); err != nil || !h.Shared {
			t.Errorf("the way back of an exchange's consumer is %+v, %v", h, err)
		}
		if err := recv.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		for ch, class := range map[driver.Channel]driver.Class{
			{Exchange: "orders", DeadLetter: true}:    driver.Permanent,
			{Queue: "a.b", DeadLetter: true}:          driver.Permanent,
			{Queue: "missing", DeadLetter: true}:      driver.NotFound,
			{Exchange: "orders", Queue: "nobody"}:     driver.NotFound,
			{Queue: "orders.audit", Exchange: "gone"}: driver.Permanent,
		} {
			if _, err := l.b.Return(w.Context(), ch, false); err == nil || driver.ClassOf(err) != class {
				t.Errorf("the way back of %s: %v (%v)", ch, err, driver.ClassOf(err))
			}
		}
		_, err = l.b.Return(w.Context(), ordersLetters, true)
		if driver.ClassOf(err) != driver.Permanent || !strings.Contains(fmt.Sprint(err), "tiers") {
			t.Errorf("alone, without tiers: %v", err)
		}
	})
}

// Records of Kafka are forwarded as they are: a key that is nil, headers that repeat or have no value, in their order.
// Dead letters keep their partition.
func TestForwardedRecords(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 3}}, driver.Events{})
		other := driver.Channel{Queue: "other"}
		if err := l.b.Ensure(w.Context(), driver.ChannelSpec{Channel: other, Owner: true}); err != nil {
			t.Fatal(err)
		}
		headers := []kgo.RecordHeader{
			{Key: "b", Value: []byte("1")},
			{Key: "a"},
			{Key: "b", Value: []byte{}},
			{Key: "routing_key", Value: []byte{0xff}},
		}
		for _, r := range []*kgo.Record{
			{Value: []byte("no key")},
			{Key: []byte{}, Value: []byte{}, Headers: headers},
			{Key: []byte("\xff"), Headers: headers[1:2]},
		} {
			r.Topic, r.Partition = "orders", 2
			if err := w.client.ProduceSync(w.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
			d := l.get(1)[0]
			f := driver.Forward{Raw: rawOf(l.recv, d.Handle), ID: d.ID}
			for _, to := range []driver.Channel{other, {Queue: "other", DeadLetter: true}} {
				s, err := l.b.Sender(w.Context(), to)
				if err != nil {
					t.Fatal(err)
				}
				p, err := s.(driver.Forwarder).Forward(w.Context(), &f)
				var receipt driver.Receipt
				p.Receipt = &receipt
				if err == nil {
					err = s.Send(w.Context(), []driver.Prepared{p})
				}
				if err != nil {
					t.Fatal(err)
				}
				got := w.at(receipt.ID)
				if fmt.Sprintf("%#v %#v %#v", got.Key, got.Value, got.Headers) !=
					fmt.Sprintf("%#v %#v %#v", r.Key, r.Value, r.Headers) {
					t.Errorf("%#v %#v %#v\nbecame\n%#v %#v %#v", r.Key, r.Value, r.Headers, got.Key, got.Value,
						got.Headers)
				}
			}
			l.settle(driver.Done, d)
			if rawOf(l.recv, d.Handle).Format != "" {
				t.Error("a settled delivery has a raw form")
			}
		}
		w.send(1, "k=x")
		l.settle(driver.Reject, l.get(1)...)
		letters, err := l.b.Receiver(w.Context(), ordersLetters,
			driver.ReceiverOptions{Concurrency: 1, Wait: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		var ds []driver.Delivery
		for begun := time.Now(); len(ds) == 0 && time.Since(begun) < time.Minute; {
			if ds, err = letters.Receive(w.Context(), driver.Ask{Max: 1}, nil); err != nil {
				t.Fatal(err)
			}
		}
		s, err := l.b.Sender(w.Context(), ordersLetters)
		if err != nil {
			t.Fatal(err)
		}
		f := driver.Forward{Raw: rawOf(letters, ds[0].Handle), ID: ds[0].ID}
		p, err := s.(driver.Forwarder).Forward(w.Context(), &f)
		if err == nil {
			err = s.Send(w.Context(), []driver.Prepared{p})
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := w.where(ordersDead); len(got) != 2 || got[0] != 1 || got[1] != 1 {
			t.Errorf("the dead letters are in partitions %v", got)
		}
		if err := letters.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		one, err := l.b.Sender(w.Context(), driver.Channel{Exchange: "other", Queue: "audit"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = one.(driver.Forwarder).Forward(w.Context(), &f); driver.ClassOf(err) != driver.Permanent ||
			!strings.Contains(fmt.Sprint(err), "all consumers") {
			t.Errorf("a record to one consumer of an exchange: %v", err)
		}
	})
}

// at reads the record at a position.
func (w *world) at(id string) *kgo.Record {
	w.Helper()
	var topic string
	var n int32
	var offset int64
	if _, err := fmt.Sscanf(strings.ReplaceAll(id, "/", " "), "%s %d %d", &topic, &n, &offset); err != nil {
		w.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.Dialer(w.network.DialContext),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {n: kgo.NewOffset().At(offset)}}))
	if err != nil {
		w.Fatal(err)
	}
	defer client.Close()
	fetches := client.PollFetches(w.Context())
	if err := fetches.Err(); err != nil {
		w.Fatal(err)
	}
	return fetches.Records()[0]
}

// rawOf is a delivery as it is in its topic; zero: it is settled.
func rawOf(r driver.Receiver, h driver.Handle) (raw driver.Raw) {
	r.As(h, &raw)
	return raw
}

//go:build synctests

package kafka_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/ops"
)

const (
	shopOrders  = "Shop.Orders_v1"
	shopLetters = "Shop.Orders.DLT"
	shopGroup   = "billing service"
)

// inShop is a cluster of a team that has topics and groups of its own.
func inShop(t *testing.T, f func(w *world, o kafka.Options)) {
	t.Helper()
	inWorld(t, func(w *world) {
		for _, topic := range []string{shopOrders, shopLetters} {
			w.create(topic, 3)
		}
		f(w, kafka.Options{
			Namespace: "prod",
			ChannelOptions: kafka.ChannelOptions{
				Retention: time.Hour, Retries: kafka.RetryPark, Tiers: []time.Duration{5 * time.Second},
			},
			Names: map[string]kafka.Resource{
				"orders": {Topic: shopOrders, Group: shopGroup, DeadLetters: shopLetters},
			},
		})
	})
}

// create creates a topic, as other programs do.
func (w *world) create(topic string, partitions int32) {
	w.Helper()
	if _, err := w.admin.CreateTopic(w.Context(), partitions, 1, nil, topic); err != nil {
		w.Fatal(err)
	}
}

// topics are the names of all topics.
func (w *world) topics() []string {
	w.Helper()
	all, err := w.admin.ListTopics(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return all.Names()
}

// sendTo sends a record as another program does, and returns its position.
func (w *world) sendTo(topic string, n int32, key, value string) {
	w.Helper()
	r := &kgo.Record{Topic: topic, Partition: n, Key: []byte(key), Value: []byte(value)}
	if err := w.client.ProduceSync(w.Context(), r).FirstErr(); err != nil {
		w.Fatal(err)
	}
}

// A mapped channel is received, retried, rejected and sent back by the names of its owner. Only tiers are created, and
// the mapped topics stay as they were.
func TestMappedChannel(t *testing.T) {
	for _, protocol := range []kafka.GroupProtocol{kafka.GroupClassic, kafka.GroupConsumer} {
		inShop(t, func(w *world, o kafka.Options) {
			o.GroupProtocol = protocol
			l := w.begin(o, driver.Events{})
			tier := "prod.orders.prod.orders--billing_service--1881f398cd92.retry.5s"
			if diff := cmp.Diff([]string{shopLetters, shopOrders, tier}, w.topics()); diff != "" {
				t.Errorf("topics (-want +got):\n%s", diff)
			}
			for topic, want := range map[string]string{
				shopOrders: "604800000", shopLetters: "604800000", tier: "1209600000",
			} {
				if got := w.config(topic, "retention.ms"); got != want {
					t.Errorf("retention.ms of %s is %s, want %s", topic, got, want)
				}
			}
			w.sendTo(shopOrders, 2, "k", "a")
			l.settle(driver.Retry, l.get(1)...)
			if got := w.where(tier); !slices.Equal(got, []int32{2}) {
				t.Errorf("the retry waits in the partitions %v of its tier", got)
			}
			again := l.get(1)
			if again[0].ID != shopOrders+"/2/0" || again[0].Attempt != 1 {
				t.Errorf("the retry is delivered as %+v", again[0])
			}
			l.settle(driver.Reject, again...)
			if n := w.count(shopLetters); n != 1 {
				t.Fatalf("%d dead letters in the topic that is named for them", n)
			}
			r, err := ops.Requeue(w.Context(), l.b, "orders@dlq", &ops.RequeueOptions{})
			if err != nil || r.Moved != 1 || r.Address != shopOrders || r.Shared {
				t.Errorf("the way back: %+v, %v", r, err)
			}
			back := l.get(1)
			w.same(back, "a")
			l.settle(driver.Done, back...)
			l.end()
			committed, err := w.admin.FetchOffsets(w.Context(), shopGroup)
			if at, ok := committed.Lookup(shopOrders, 2); err != nil || !ok || at.At != 2 {
				t.Errorf("the group has committed %+v, %v", at, err)
			}
		})
	}
}

// A share group may be mapped as well. Its configuration is set for a new group only.
func TestMappedShareGroup(t *testing.T) {
	inShop(t, func(w *world, o kafka.Options) {
		o.GroupProtocol, o.Ordering, o.Retries = kafka.GroupShare, kafka.OrderNone, 0
		w.sendTo(shopOrders, 0, "k", "early")
		l := w.begin(o, driver.Events{})
		w.same(l.get(1), "early") // of a new group
		l.end()
		altered := 0
		w.cluster.ControlKey(int16(kmsg.IncrementalAlterConfigs), func(kmsg.Request) (kmsg.Response, error, bool) {
			w.cluster.KeepControl()
			altered++
			return nil, nil, false
		})
		l = w.begin(o, driver.Events{})
		ds := l.get(1)
		w.same(ds, "early") // it was not settled
		l.settle(driver.Retry, ds...)
		again := l.get(1)
		w.same(again, "early")
		l.settle(driver.Reject, again...)
		if n := w.count(shopLetters); n != 1 || altered != 0 {
			t.Errorf("%d dead letters, and %d changes of the group's configuration", n, altered)
		}
	})
}

// Transactions commit for the mapped group, and send to mapped topics. Retries and dead letters are in them, too.
func TestMappedTransform(t *testing.T) {
	inShop(t, func(w *world, o kafka.Options) {
		w.setFeature("transaction.version", 2)
		w.create("Shop.Results", 1)
		o.Names["results"] = kafka.Resource{Topic: "Shop.Results"}
		b := w.backend(o)
		c, err := godwit.NewConsumer(w.Context(), b, "orders", &godwit.ConsumerOptions{Concurrency: 10})
		if err != nil {
			t.Fatal(err)
		}
		results, err := godwit.NewProducer(w.Context(), b, "results", nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range []string{"done", "retried", "rejected"} {
			w.sendTo(shopOrders, int32(i), text, text)
		}
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		do := func(_ context.Context, d *godwit.Delivery) ([]godwit.Message, error) {
			switch {
			case string(d.Body) == "retried" && d.Attempt == 1:
				return nil, godwit.RetryAfter(5*time.Second, errOnce)
			case string(d.Body) == "rejected":
				return nil, godwit.Permanent(errOnce)
			}
			return []godwit.Message{{Body: d.Body}}, nil
		}
		if _, err := godwit.Transform(ctx, c, results, do); err != nil {
			t.Fatal(err)
		}
		committed := w.fetched(shopGroup, shopOrders)
		if len(committed) != 3 || committed[0].At != 1 || committed[1].At != 1 || committed[2].At != 1 {
			t.Errorf("the group has committed %+v", committed)
		}
		if rs := w.all("Shop.Results", 2); string(rs[0].Value) != "done" || string(rs[1].Value) != "retried" {
			t.Errorf("the results are %s and %s", rs[0].Value, rs[1].Value)
		}
		ends, err := w.admin.ListEndOffsets(w.Context(), shopLetters)
		if at, ok := ends.Lookup(shopLetters, 2); err != nil || !ok || at.Offset != 2 { // with the end of a transaction
			t.Errorf("the dead letters of partition 2 end at %+v, %v", at, err)
		}
	})
}

// Operators find a mapped channel by its names, with all that they can do to a channel of Godwit but deletion.
func TestOperatingMappedChannels(t *testing.T) {
	inShop(t, func(w *world, o kafka.Options) {
		w.create("Shop.Events", 1)
		o.Names["events.*"] = kafka.Resource{Topic: "Shop.Events"}
		o.Names["gone"] = kafka.Resource{Topic: "Shop.Gone"}
		l := w.begin(o, driver.Events{})
		mobile := driver.Channel{Exchange: "events", Queue: "mobile"}
		if err := l.b.Ensure(w.Context(), driver.ChannelSpec{Channel: mobile, Owner: true}); err != nil {
			t.Fatal(err)
		}
		w.create("prod.orders", 1) // by its name it would be the channel's
		w.sendTo(shopOrders, 0, "k", "a")
		w.sendTo(shopOrders, 0, "l", "b")
		ds := l.get(2)
		l.settle(driver.Reject, ds[0])
		l.end()
		b := w.backend(o)

		all, err := b.Catalog(w.Context())
		var got []string
		for _, c := range all {
			if got = append(got, c.Channel.String()+" "+c.Address); c.Mapped {
				got[len(got)-1] += " mapped"
			}
		}
		if diff := cmp.Diff([]string{
			"events.* Shop.Events mapped", "events.mobile Shop.Events",
			"events.mobile@dlq prod.events.prod.events.mobile.dlq", "orders Shop.Orders_v1 mapped",
			"orders@dlq Shop.Orders.DLT mapped",
		}, got); err != nil || diff != "" {
			t.Errorf("catalog: %v (-want +got):\n%s", err, diff)
		}
		if d, err := b.Inspect(w.Context(), orders); err != nil || d.Waiting != 1 {
			t.Errorf("inspect: %+v, %v", d, err)
		}
		peeked, err := b.Peek(w.Context(), orders, driver.PeekFrom{}, 10)
		if err != nil || len(peeked) != 1 || string(peeked[0].Delivery.Body) != "b" {
			t.Errorf("peek: %+v, %v", peeked, err)
		}
		letters := driver.Channel{Queue: "orders", DeadLetter: true}
		peeked, err = b.Peek(w.Context(), letters, driver.PeekFrom{}, 10)
		if err != nil || len(peeked) != 1 || peeked[0].Delivery.Origin.Channel.String() != "orders" {
			t.Errorf("peek at the dead letters: %+v, %v", peeked, err)
		}
		if a := b.Address(orders); a.Destination != shopOrders || a.Group != shopGroup {
			t.Errorf("address: %+v", a)
		}
		for _, ch := range []driver.Channel{orders, letters, {Exchange: "events"}} {
			_, err := b.Remove(w.Context(), ch, false)
			if driver.ClassOf(err) != driver.Permanent || err == nil ||
				!strings.Contains(err.Error(), "Options.Names") {
				t.Errorf("removing %s: %v", ch, err)
			}
		}
		if s, err := b.Snapshot(w.Context(), orders); err != nil || strings.Contains(string(s.Data), shopOrders) {
			t.Errorf("snapshot: %s, %v", s.Data, err)
		}
		if p, err := b.Purge(w.Context(), orders, true); err != nil || p.Messages != 1 || len(p.Others) != 0 {
			t.Errorf("purge: %+v, %v", p, err)
		}
		w.commits("reports", shopOrders)
		if p, err := b.Purge(w.Context(), orders, true); err != nil || !slices.Equal(p.Others, []string{"reports"}) {
			t.Errorf("purge beside another group: %+v, %v", p, err)
		}
		home, err := b.Return(w.Context(), letters, false)
		if err != nil || !home.Shared || home.Address != shopOrders {
			t.Errorf("the way back beside another group: %+v, %v", home, err)
		}
		plan, err := b.Rewind(w.Context(), orders, driver.Position{From: driver.FromStart}, true)
		if err != nil || len(plan) != 3 || plan[0].Was != 0 && plan[0].Was != 1 {
			t.Errorf("rewind: %+v, %v", plan, err)
		}
		as, err := b.Activity(w.Context(), []driver.Channel{orders}, time.Now().Add(-time.Hour))
		if err != nil || as[0].Sent.Value != 2 || as[0].Consumers.Value != 2 {
			t.Errorf("activity: %+v, %v", as, err)
		}
		if _, err := b.Remove(w.Context(), mobile, false); err != nil {
			t.Errorf("removing a channel of a mapped exchange: %v", err)
		}
		for _, topic := range []string{shopOrders, shopLetters, "Shop.Events"} {
			if !slices.Contains(w.topics(), topic) {
				t.Errorf("topic %s is gone", topic)
			}
		}
	})
}

// A topic that is mapped for another channel is listed as that channel, and not as the one of its name. Neither is the
// topic that a mapped channel would have.
func TestTheCatalogOfMappedTopics(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, topic := range []string{"shop", "orders", "letters.letters.dlq", "mails"} {
			w.create(topic, 1)
		}
		b := w.backend(kafka.Options{Names: map[string]kafka.Resource{
			"orders": {Topic: "shop", DeadLetters: "letters.letters.dlq"},
		}})
		all, err := b.Catalog(w.Context())
		var got []string
		for _, c := range all {
			got = append(got, c.Channel.String()+" "+c.Address)
		}
		want := []string{"mails mails", "orders shop", "orders@dlq letters.letters.dlq"}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// A mapped topic that does not exist is an error with both names, for producers and consumers, and it is not created,
// not even when it is deleted while it is used.
func TestMappedTopicIsMissing(t *testing.T) {
	inShop(t, func(w *world, o kafka.Options) {
		o.RecreateTopics = true
		o.Names["gone"] = kafka.Resource{Topic: "Shop.Gone"}
		o.Names["invoices"] = kafka.Resource{DeadLetters: "Shop.Missing.DLT"}
		l := w.begin(o, driver.Events{})
		for _, s := range []struct {
			channel, topic string
			owner          bool
			mode           driver.Mode
		}{
			{"gone", "Shop.Gone", false, driver.Auto},
			{"gone", "Shop.Gone", true, driver.Auto},
			{"gone", "Shop.Gone", true, driver.Verify},
			{"invoices", "Shop.Missing.DLT", true, driver.Auto},
		} {
			err := l.b.Ensure(w.Context(), driver.ChannelSpec{
				Channel: driver.Channel{Queue: s.channel}, Owner: s.owner, Mode: s.mode,
			})
			if driver.ClassOf(err) != driver.NotFound || err == nil || !strings.Contains(err.Error(), s.topic) ||
				!strings.Contains(err.Error(), "channel "+s.channel) {
				t.Errorf("%+v: %v", s, err)
			}
		}
		w.drop(shopOrders)
		w.drop(shopLetters)
		l.nothing(time.Minute)
		if slices.Contains(w.topics(), shopOrders) || slices.Contains(w.topics(), shopLetters) {
			t.Error("a mapped topic was created")
		}
		w.create(shopOrders, 3)
		w.sendTo(shopOrders, 1, "k", "a")
		w.same(l.get(1), "a")
	})
}

// Two channels may be mapped to one group, as programs that read several topics do. The partitions of their tiers
// follow those of their topics, and static members of the two are different members.
func TestChannelsOfOneGroup(t *testing.T) {
	inShop(t, func(w *world, o kafka.Options) {
		w.create("Shop.Invoices", 3)
		o.Names["invoices"] = kafka.Resource{Topic: "Shop.Invoices", Group: shopGroup}
		o.InstanceID = "pod-1"
		first := w.begin(o, driver.Events{})
		invoices := driver.Channel{Queue: "invoices"}
		if err := first.b.Ensure(w.Context(), driver.ChannelSpec{Channel: invoices, Owner: true}); err != nil {
			t.Fatal(err)
		}
		recv, err := first.b.Receiver(w.Context(), invoices, driver.ReceiverOptions{Concurrency: 10, Wait: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		second := &life{w: w, b: first.b, recv: recv}
		defer func() { _ = recv.Close(w.Context()) }()
		w.sendTo(shopOrders, 1, "k", "order")
		w.sendTo("Shop.Invoices", 2, "k", "invoice")
		for _, c := range []struct {
			l    *life
			want string
		}{{first, "order"}, {second, "invoice"}} {
			d := c.l.get(1)
			w.same(d, c.want)
			c.l.settle(driver.Retry, d...)
		}
		for _, c := range []struct {
			l    *life
			want string
		}{{second, "invoice"}, {first, "order"}} {
			d := c.l.get(1)
			w.same(d, c.want)
			c.l.settle(driver.Done, d...)
		}
	})
}

// Bodies of large messages of a mapped topic, and of its dead letters, are not taken for orphans.
func TestOrphansOfMappedTopics(t *testing.T) {
	inShop(t, func(w *world, o kafka.Options) {
		o.Store = &bodies{}
		l := w.begin(o, driver.Events{})
		s := l.sender(orders)
		l.sendLarge(s, 2)
		ds := l.get(2)
		l.settle(driver.Done, ds[0])
		l.settle(driver.Reject, ds[1])
		if err := l.recv.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		w.wantOrphans(l.orphans(future()))
		l.large(s) // never sent
		w.wantOrphans(l.orphans(future()), shopOrders+"/2")
	})
}

// Two programs with groups of their own on one channel have tiers and dead letters of their own. Copies of an earlier
// version, which do not name their group, are for both.
func TestTwoGroupsOfOneChannel(t *testing.T) {
	for _, retries := range []kafka.Retries{kafka.RetryPark, kafka.RetryAlone} {
		inWorld(t, func(w *world) {
			o := kafka.Options{
				ChannelOptions: kafka.ChannelOptions{Retries: retries, Tiers: []time.Duration{5 * time.Second}},
			}
			billing := w.begin(o, driver.Events{})
			o.Names = map[string]kafka.Resource{"orders": {Topic: "orders", Group: "audit"}}
			audit := w.begin(o, driver.Events{})
			const starts = 4
			w.send(0, "k=poison")
			for _, l := range []*life{billing, audit} {
				ds := l.get(1)
				for i := range starts - 1 {
					if l.settle(driver.Retry, ds...); i == 0 && l == billing {
						audit.nothing(0)
					}
					ds = l.get(1)
					w.same(ds, "poison")
				}
				l.settle(driver.Reject, ds...)
			}
			for _, l := range []*life{billing, audit} {
				l.nothing(time.Minute)
			}
			for _, topic := range []string{ordersDead, auditDead} {
				if n := w.count(topic); n != 1 {
					t.Errorf("%d dead letters in %s", n, topic)
				}
			}
			audit.end()
			old := &kgo.Record{
				Topic: "orders.orders.retry.5s", Key: []byte("k"), Value: []byte("old"),
				Headers: []kgo.RecordHeader{{Key: "godwit-home", Value: []byte("orders/0/0")}},
			}
			if err := w.client.ProduceSync(w.Context(), old).FirstErr(); err != nil {
				t.Fatal(err)
			}
			audit = w.begin(o, driver.Events{})
			for _, l := range []*life{billing, audit} {
				ds := l.get(1)
				w.same(ds, "old")
				l.settle(driver.Done, ds...)
				l.end()
			}
		})
	}
}

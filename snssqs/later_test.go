package snssqs_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

// The queue for messages that wait is created when it is first needed, with the tags of the producer and the key of the
// channel. It keeps no order, moves no messages to dead letters, and lets no request without TLS in.
func TestLaterQueue(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		ch := driver.Channel{Queue: "orders", Ordered: true}
		w.ensure(driver.ChannelSpec{Channel: ch, Owner: true, MaxReceives: 30, Encryption: "alias/ours"})
		w.ensure(driver.ChannelSpec{Channel: ch, Tags: map[string]string{"owner": "shop"}})
		s := w.sender(ch)
		w.send(s, driver.Message{Body: []byte("now")})
		if w.server.SQS().Queue("orders--later") != nil {
			t.Error("a message without a delay has created the queue")
		}
		w.send(s, driver.Message{Body: []byte("later"), Delay: time.Minute})
		a := w.attributes("orders--later")
		for name, want := range map[string]string{
			"MessageRetentionPeriod": "1209600", "KmsMasterKeyId": "alias/ours", "RedrivePolicy": "", "FifoQueue": "",
			"DelaySeconds": "0",
		} {
			if a[name] != want {
				t.Errorf("%s is %q, want %q", name, a[name], want)
			}
		}
		if !strings.Contains(a["Policy"], "SecureTransport") {
			t.Errorf("the policy is %s", a["Policy"])
		}
		url := w.url("orders--later")
		out, err := w.sqs.ListQueueTags(w.Context(), &sqs.ListQueueTagsInput{QueueUrl: &url})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"managed-by": "godwit", "channel": "orders@later", "role": "later", "owner": "shop",
		}
		if diff := gocmp.Diff(want, out.Tags); diff != "" {
			t.Errorf("tags (-want +got):\n%s", diff)
		}
		all, err := w.b.Catalog(w.Context())
		if err != nil {
			t.Fatal(err)
		}
		later := driver.Channel{Queue: "orders", Later: true}
		var listed []string
		for _, c := range all {
			listed = append(listed, c.Channel.String()+" "+c.Channel.Role().String())
		}
		if diff := gocmp.Diff([]string{"orders queue", "orders@dlq dead-letters", "orders@later later"},
			listed); diff != "" {
			t.Errorf("listed (-want +got):\n%s", diff)
		}
		d, err := w.b.Inspect(w.Context(), later)
		if err != nil || d.Delayed != 1 {
			t.Errorf("%+v, %v", d, err)
		}
		if _, err := w.b.Purge(w.Context(), later, false); err != nil {
			t.Error(err)
		}
		removed, err := w.b.Remove(w.Context(), later, false)
		if err != nil || len(removed.Resources) != 1 || w.server.SQS().Queue("orders--later") != nil {
			t.Errorf("removed %v: %v", removed.Resources, err)
		}
		w.send(s, driver.Message{Body: []byte("later"), Delay: time.Minute})
		if w.server.SQS().Queue("orders--later") == nil {
			t.Error("the queue was not created again after its deletion")
		}
	})
}

// The queue for messages of schedules removes duplicates. It is created when it is first needed, has the tags of the
// producer, and can be looked at and removed. Beside a mapped queue nothing is created.
func TestTicksQueue(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		w.ensure(driver.ChannelSpec{Channel: orders, Tags: map[string]string{"owner": "shop"}})
		s := w.sender(orders)
		tick := driver.Message{Body: []byte("x"), Tick: true, OrderKey: "schedule/a", DedupID: "schedule/a/1"}
		w.send(s, driver.Message{Body: []byte("no tick")})
		if w.server.SQS().Queue("orders--ticks.fifo") != nil {
			t.Error("another message has created the queue")
		}
		w.send(s, tick, tick)
		url := w.url("orders--ticks.fifo")
		out, err := w.sqs.ListQueueTags(w.Context(), &sqs.ListQueueTagsInput{QueueUrl: &url})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"managed-by": "godwit", "channel": "orders@ticks", "role": "ticks", "owner": "shop",
		}
		if diff := gocmp.Diff(want, out.Tags); diff != "" {
			t.Errorf("tags (-want +got):\n%s", diff)
		}
		ticks := driver.Channel{Queue: "orders", Ticks: true, Ordered: true}
		all, err := w.b.Catalog(w.Context())
		if err != nil {
			t.Fatal(err)
		}
		if last := all[len(all)-1].Channel; last != ticks || last.Role().String() != "ticks" {
			t.Errorf("the last channel is %+v", last)
		}
		if d, err := w.b.Inspect(w.Context(), ticks); err != nil || d.All() != 1 {
			t.Errorf("%+v, %v", d, err)
		}
		removed, err := w.b.Remove(w.Context(), ticks, false)
		if err != nil || len(removed.Resources) != 1 || w.server.SQS().Queue("orders--ticks.fifo") != nil {
			t.Errorf("removed %v: %v", removed.Resources, err)
		}
		w.send(s, tick)
		if w.server.SQS().Queue("orders--ticks.fifo") == nil {
			t.Error("the queue was not created again after its deletion")
		}
		b := w.open(snssqs.Options{Names: map[string]snssqs.Resource{"mine": {Queue: "orders"}}})
		mapped, err := b.Sender(w.Context(), driver.Channel{Queue: "mine"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = mapped.Prepare(w.Context(), &tick); driver.ClassOf(err) != driver.Permanent ||
			!strings.Contains(err.Error(), "Options.Names") {
			t.Errorf("a mapped queue: %v", err)
		}
	})
}

// A producer wakes messages if its backend is to do so, also if no consumer runs, until it is closed.
func TestWakeFromProducers(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		for _, ch := range []driver.Channel{orders, {Exchange: "events"}} {
			queue := orders
			if ch.Exchange != "" {
				queue = driver.Channel{Exchange: "events", Queue: "audit"}
			}
			w.ensure(owner(queue))
			b := w.open(snssqs.Options{WakeFromProducers: true})
			if err := b.Ensure(w.Context(), driver.ChannelSpec{Channel: ch}); err != nil {
				t.Fatal(err)
			}
			s, err := b.Sender(w.Context(), ch)
			if err != nil {
				t.Fatal(err)
			}
			w.send(s, driver.Message{Body: []byte("x"), Delay: time.Hour},
				driver.Message{Body: []byte("y"), Delay: 2 * time.Hour})
			time.Sleep(time.Hour + time.Second)
			name := strings.ReplaceAll(queue.String(), ".", "--")
			if n := w.attributes(name)["ApproximateNumberOfMessages"]; n != "1" {
				t.Errorf("%s has %s messages after an hour", name, n)
			}
			if err := s.Close(w.Context()); err != nil {
				t.Error(err)
			}
			time.Sleep(2 * time.Hour)
			if n := w.attributes(name)["ApproximateNumberOfMessages"]; n != "1" {
				t.Errorf("%s has %s messages after the producer was closed", name, n)
			}
		}
	})
}

// A message arrives with all that it had, and without a trace of its wait.
func TestWokenMessagesAreWhole(t *testing.T) {
	for _, native := range []bool{false, true} {
		inWorld(t, localaws.Options{}, func(w *world) {
			o := snssqs.Options{}
			if native {
				o.Attributes.Headers = snssqs.HeadersNative
			}
			w.b = w.open(o)
			w.ensure(owner(orders))
			w.ensure(driver.ChannelSpec{Channel: orders})
			m := driver.Message{
				Body: []byte("\x00 any bytes"), OrderKey: "tenant 7", RoutingKey: "a.b", ContentType: "text/plain",
				Type: "order", Version: 2, Header: []driver.Header{{Name: "locale", Value: "de"}}, Delay: time.Hour,
			}
			if native {
				m = driver.Message{Body: []byte("text"), Header: m.Header, Delay: time.Hour}
			}
			w.send(w.sender(orders), m)
			r := w.receiver(orders, driver.Filter{})
			time.Sleep(time.Hour + time.Second)
			d := w.receive(r, 1)[0]
			if string(d.Body) != string(m.Body) || d.Tenant != m.OrderKey || d.RoutingKey != m.RoutingKey ||
				d.ContentType != m.ContentType || d.Type != m.Type || d.Version != m.Version ||
				gocmp.Diff(d.Header, m.Header) != "" {
				t.Errorf("native %v: %+v", native, d)
			}
			var as snssqs.Message
			if !r.As(d.Handle, &as) {
				t.Fatal("no message")
			}
			envelope := as.MessageAttributes["godwit"]
			if envelope.StringValue != nil && (native || strings.Contains(*envelope.StringValue, `"lt"`)) {
				t.Errorf("native %v: the envelope is %s", native, *envelope.StringValue)
			}
			if !native && time.Since(d.First) < time.Hour {
				t.Errorf("accepted for the first time at %v", d.First)
			}
		})
	}
}

// Nothing is created beside a mapped queue or topic, so there a delay is what the service itself keeps.
func TestMappedChannelsHaveNoLater(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		w.ensure(owner(driver.Channel{Queue: "bills", Ordered: true}))
		w.ensure(owner(driver.Channel{Exchange: "events", Queue: "audit"}))
		b := w.open(snssqs.Options{Names: map[string]snssqs.Resource{
			"mine": {Queue: "orders"}, "ours": {Queue: "bills.fifo"}, "news.*": {Topic: "events"},
		}})
		for ch, d := range maps.All(map[driver.Channel]time.Duration{
			{Queue: "mine"}: time.Hour, {Queue: "ours", Ordered: true}: time.Second, {Exchange: "news"}: time.Second,
		}) {
			s, err := b.Sender(w.Context(), ch)
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Prepare(context.Background(), &driver.Message{Delay: d})
			if driver.ClassOf(err) != driver.Permanent || err == nil ||
				!strings.Contains(err.Error(), "Options.Names") {
				t.Errorf("%s: %v", ch, err)
			}
		}
	})
}

// What is in the queue and does not say when it is due is a dead letter, as it is.
func TestOddLaterMessages(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		w.ensure(driver.ChannelSpec{Channel: orders})
		w.send(w.sender(orders), driver.Message{Body: []byte("good"), Delay: 20 * time.Minute})
		w.foreign("orders--later", "foreign", nil)
		r := w.receiver(orders, driver.Filter{})
		time.Sleep(21 * time.Minute)
		w.receive(r, 1)
		dead := orders
		dead.DeadLetter = true
		d := w.receive(w.receiver(dead, driver.Filter{}), 1)[0]
		if string(d.Body) != "foreign" || d.Origin.Death.Kind != "undeliverable" || d.Origin.Channel != orders {
			t.Errorf("%q with %+v", d.Body, d.Origin)
		}
		if n := w.attributes("orders--later")["ApproximateNumberOfMessagesNotVisible"]; n != "0" {
			t.Errorf("%s messages are left", n)
		}
	})
}

// The time of a delay is the service's, whatever the clocks of this machine say.
func TestLaterByTheClockOfTheService(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		w.ensure(driver.ChannelSpec{Channel: orders})
		r := w.receiver(orders, driver.Filter{})
		w.server.Advance(4 * time.Minute) // the service is ahead
		w.send(w.sender(orders), driver.Message{Body: []byte("x"), Delay: 2 * time.Hour})
		begin := time.Now()
		for w.attributes("orders")["ApproximateNumberOfMessages"] != "1" && time.Since(begin) < 3*time.Hour {
			time.Sleep(time.Second)
		}
		if late := time.Since(begin) - 2*time.Hour; late < 0 || late > 3*time.Second {
			t.Errorf("it came %v after its time", late)
		}
		w.receive(r, 1)
	})
}

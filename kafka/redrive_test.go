//go:build synctests

package kafka_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// reject sends texts to orders and rejects them all.
func (l *life) reject(texts ...string) {
	l.w.Helper()
	l.w.send(0, texts...)
	l.settle(driver.Reject, l.get(len(texts))...)
}

// all reads the first partition of a topic, which has n records.
func (w *world) all(topic string, n int) (rs []*kgo.Record) {
	w.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.Dialer(w.network.DialContext),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		w.Fatal(err)
	}
	defer client.Close()
	for len(rs) < n {
		fetches := client.PollFetches(w.Context())
		if err := fetches.Err(); err != nil {
			w.Fatal(err)
		}
		rs = append(rs, fetches.Records()...)
	}
	return rs
}

func (l *life) redrive(o *kafka.RedriveOptions, moved, left int) error {
	l.w.Helper()
	report, err := l.b.Redrive(l.w.Context(), "orders", o)
	if report.Moved != moved || report.Left != left {
		l.w.Fatalf("moved %d and left %d, want %d and %d (%v)", report.Moved, report.Left, moved, left, err)
	}
	return err
}

// A letter is moved back with its key and headers, is handled again, and has its origin. A second run finds no letter.
func TestRedrive(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		r := &kgo.Record{
			Topic: "orders", Key: []byte("ada"), Value: []byte("book"),
			Headers: []kgo.RecordHeader{
				{Key: "locale", Value: []byte("de")},
				{Key: "routing_key", Value: []byte("A.B")},
			},
		}
		if err := w.client.ProduceSync(w.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
		l.settle(driver.Reject, l.get(1)...)
		l.reject("bob=pen", "no key")
		if err := l.redrive(nil, 3, 0); err != nil {
			t.Fatal(err)
		}
		ds := l.get(3)
		w.same(ds, "book", "pen", "no key")
		d := ds[0]
		if d.OrderKey != "ada" || d.RoutingKey != "A.B" || len(d.Header) != 1 || d.Header[0].Value != "de" ||
			d.Origin != nil || d.ID != "orders/0/3" {
			t.Errorf("the moved letter is delivered as %+v", d)
		}
		back := w.all("orders", 6)[3]
		for _, h := range back.Headers {
			if strings.HasPrefix(h.Key, "__dlq.") || h.Key == "godwit-log" {
				t.Errorf("header %s was moved as well", h.Key)
			}
		}
		if n := len(back.Headers); n != 3 {
			t.Errorf("%d headers were moved: want the two of the record, and its history", n)
		}
		if err := l.redrive(nil, 0, 0); err != nil {
			t.Error(err)
		}
		l.settle(driver.Reject, ds...) // the record is rejected once more
		if err := l.redrive(nil, 3, 0); err != nil {
			t.Error(err)
		}
	})
}

// Letters that are not selected stay, and letters moved by an earlier run are not moved again.
func TestRedriveSome(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		l.reject(numbers(20)...)
		odd := func(o *driver.Origin) bool {
			return strings.HasSuffix(o.OrderKey, "1") || strings.HasSuffix(o.OrderKey, "3")
		}
		if err := l.redrive(&kafka.RedriveOptions{Only: odd}, 4, 16); err != nil {
			t.Fatal(err)
		}
		w.same(l.get(4), "1", "3", "11", "13")
		for _, n := range []int{5, 5, 5, 1, 0} {
			if err := l.redrive(&kafka.RedriveOptions{Most: 5}, n, 0); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{}
		for i := range 20 {
			if i%10 != 1 && i%10 != 3 {
				want = append(want, fmt.Sprint(i))
			}
		}
		w.same(l.get(16), want...)
	})
}

// A letter that cannot be moved stays, and the error names it; the others are moved.
func TestRedriveFromForeigners(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		if _, err := w.admin.CreateTopic(w.Context(), 1, 1, nil, "foreign"); err != nil {
			t.Fatal(err)
		}
		letter := func(text, header, topic string) *kgo.Record {
			return &kgo.Record{
				Topic: ordersDead, Key: []byte("k"), Value: []byte(text),
				Headers: []kgo.RecordHeader{{Key: header, Value: []byte(topic)}},
			}
		}
		if err := w.client.ProduceSync(w.Context(),
			letter("spring", "kafka_dlt-original-topic", "foreign"),
			letter("nowhere", "__connect.errors.topic", "gone"),
			letter("itself", "__dlq.errors.topic", ordersDead),
			letter("unknown", "own", "x"),
			letter("connect", "__connect.errors.topic", "foreign"),
			&kgo.Record{
				Topic: ordersDead, Value: []byte(strings.Repeat("x", 2000)),
				Headers: []kgo.RecordHeader{{Key: "__dlq.errors.topic", Value: []byte("foreign")}},
			},
		).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if _, err := w.admin.AlterTopicConfigs(w.Context(), []kadm.AlterConfig{{
			Op:   kadm.SetConfig,
			Name: "max.message.bytes", Value: new("1000"),
		}}, "foreign"); err != nil {
			t.Fatal(err)
		}
		err := l.redrive(nil, 3, 3)
		if !errors.Is(err, kerr.UnknownTopicOrPartition) || !strings.Contains(err.Error(), ordersDead+"/0/1 stays") {
			t.Errorf("the error is %v", err)
		}
		var got []string
		for _, r := range w.all("foreign", 2) {
			got = append(got, string(r.Value))
			if len(r.Headers) != 0 {
				t.Errorf("%s was moved with the headers %v", r.Value, r.Headers)
			}
		}
		w.same(l.get(1), "unknown")
		if !slices.Equal(got, []string{"spring", "connect"}) {
			t.Errorf("foreign has %v", got)
		}
		if err := l.redrive(nil, 0, 3); err == nil {
			t.Error("a letter that stays is no error in the second run")
		}
	})
}

// After a crash, the next run moves only those letters twice whose move was not committed.
func TestRedriveGoesOnAfterACrash(t *testing.T) {
	inWorld(t, func(w *world) {
		const letters = 1200 // three batches
		l := w.begin(kafka.Options{}, driver.Events{})
		l.reject(numbers(letters)...)
		before := w.count("orders")
		commits := 0
		w.cluster.ControlKey(int16(kmsg.OffsetCommit), func(req kmsg.Request) (kmsg.Response, error, bool) {
			w.cluster.KeepControl()
			if req.(*kmsg.OffsetCommitRequest).Group != "orders.dlq" {
				return nil, nil, false
			}
			if commits++; commits == 3 { // the first commit changes nothing
				l.crash()
			}
			return nil, nil, false
		})
		report, err := l.b.Redrive(w.Context(), "orders@dlq", nil)
		if err == nil || report.Moved == letters {
			t.Fatalf("moved %d, error %v: the crash came too late", report.Moved, err)
		}
		l = w.begin(kafka.Options{}, driver.Events{})
		for {
			report, err := l.b.Redrive(w.Context(), "orders", nil)
			if err != nil {
				t.Fatal(err)
			}
			if report.Moved == 0 {
				break
			}
		}
		if again := w.count("orders") - before - letters; again < 0 || again > 500 {
			t.Errorf("%d letters were moved twice, want one batch at most", again)
		}
		l.get(letters) // after the crashed member's session has ended
	})
}

// While a consumer reads the dead letters, no letter is moved.
func TestRedriveBesideAConsumer(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		l.reject("a", "b")
		dead := orders
		dead.DeadLetter = true
		recv, err := l.b.Receiver(w.Context(), dead, driver.ReceiverOptions{Concurrency: 1, Wait: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < 2; {
			ds, err := recv.Receive(w.Context(), 10, nil)
			if err != nil {
				t.Fatal(err)
			}
			n += len(ds)
		}
		before := w.count("orders")
		if err := l.redrive(nil, 0, 0); driver.ClassOf(err) != driver.Permanent ||
			!strings.Contains(err.Error(), "stop it first") {
			t.Errorf("the error is %v", err)
		}
		if n := w.count("orders") - before; n != 0 {
			t.Errorf("%d letters were moved all the same", n)
		}
		if err := recv.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		if err := l.redrive(nil, 2, 0); err != nil {
			t.Error(err)
		}
	})
}

func TestRedriveOfWhatIsNone(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		for _, name := range []string{"", "orders.*", "a.b.c", "-", "dlq"} {
			if _, err := l.b.Redrive(w.Context(), name, nil); driver.ClassOf(err) != driver.Permanent || err == nil {
				t.Errorf("%q: %v", name, err)
			}
		}
		if _, err := l.b.Redrive(w.Context(), "other", nil); driver.ClassOf(err) != driver.NotFound {
			t.Errorf("a channel that does not exist: %v", err)
		}
	})
}

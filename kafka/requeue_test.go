//go:build synctests

package kafka_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	"github.com/godwitmq/godwit/ops"
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

// requeue sends dead letters of orders back, and returns the reasons of those that were refused.
func (l *life) requeue(o ops.RequeueOptions, moved, stay int64) []error {
	l.w.Helper()
	r, err := ops.Requeue(l.w.Context(), l.b, "orders@dlq", &o)
	s := r.Stay
	all := s.NotSelected + s.TooOften + s.Refused + s.Behind + s.TooMany + s.Unlooked
	if r.Moved != moved || all != stay || err != nil {
		l.w.Fatalf("moved %d, and %d stay (%+v), want %d and %d (%v, %v)", r.Moved, all, s, moved, stay, err, r.Refused)
	}
	return r.Refused
}

// A letter is sent back with its key and headers, is handled again, and has its origin. A second run finds no letter.
func TestRequeue(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		r := &kgo.Record{
			Topic: "orders", Key: []byte("ada"), Value: []byte("book"),
			Headers: []kgo.RecordHeader{
				{Key: "locale", Value: []byte("de")},
				{Key: "routing_key", Value: []byte("A.B")},
				{Key: "locale"},
			},
		}
		if err := w.client.ProduceSync(w.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
		l.settle(driver.Reject, l.get(1)...)
		l.reject("bob=pen", "no key")
		l.requeue(ops.RequeueOptions{}, 3, 0)
		ds := l.get(3)
		w.same(ds, "book", "pen", "no key")
		d := ds[0]
		if d.OrderKey != "ada" || d.RoutingKey != "A.B" || len(d.Header) != 2 || d.Header[0].Value != "de" ||
			d.Origin != nil || d.ID != "orders/0/3" {
			t.Errorf("the letter is delivered as %+v", d)
		}
		back := w.all("orders", 6)[3]
		for _, h := range back.Headers {
			if strings.HasPrefix(h.Key, "__dlq.") || h.Key == "godwit-log" {
				t.Errorf("header %s was sent as well", h.Key)
			}
		}
		if n := len(back.Headers); n != 5 || back.Headers[2].Value != nil {
			t.Errorf("%d headers were sent: want the three of the record, its history, and its first acceptance", n)
		}
		l.requeue(ops.RequeueOptions{}, 0, 0)
		l.settle(driver.Reject, ds...) // the record is rejected once more
		l.requeue(ops.RequeueOptions{}, 3, 0)
		l.settle(driver.Reject, l.get(3)...)
		l.requeue(ops.RequeueOptions{}, 0, 3) // they have died three times
	})
}

// Letters that are not selected stay, and letters that an earlier run has sent are not sent again.
func TestRequeueSome(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		l.reject(numbers(20)...)
		odd := func(body []byte) (bool, error) {
			return strings.HasSuffix(string(body), "1") || strings.HasSuffix(string(body), "3"), nil
		}
		l.requeue(ops.RequeueOptions{Select: ops.Selection{Body: odd}}, 4, 16)
		w.same(l.get(4), "1", "3", "11", "13")
		for left := int64(16); left >= 0; left -= 5 {
			l.requeue(ops.RequeueOptions{Most: 5}, min(left, 5), max(0, left-5))
		}
		l.get(16)
	})
}

// A letter that cannot be sent stays, with the reason; the others are sent to the topics that they are from.
func TestRequeueFromForeigners(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		if _, err := w.admin.CreateTopic(w.Context(), 1, 1, nil, "foreign"); err != nil {
			t.Fatal(err)
		}
		letter := func(text, header, topic string) *kgo.Record {
			return &kgo.Record{
				Topic: ordersDead, Key: []byte(text), Value: []byte(text),
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
		refused := l.requeue(ops.RequeueOptions{}, 3, 3)
		all := fmt.Sprint(refused)
		for _, says := range []string{ordersDead + "/0/1", "gone", "dead letters' own topic", "max.message.bytes"} {
			if !strings.Contains(all, says) {
				t.Errorf("the reasons %v have no %q", refused, says)
			}
		}
		if !errors.Is(errors.Join(refused...), kerr.MessageTooLarge) {
			t.Errorf("the reasons are %v", refused)
		}
		var got []string
		for _, r := range w.all("foreign", 2) {
			got = append(got, string(r.Value))
			if len(r.Headers) != 1 || r.Headers[0].Key != "godwit-first" {
				t.Errorf("%s was sent with the headers %v", r.Value, r.Headers)
			}
		}
		w.same(l.get(1), "unknown")
		if !slices.Equal(got, []string{"spring", "connect"}) {
			t.Errorf("foreign has %v", got)
		}
		l.requeue(ops.RequeueOptions{}, 0, 3)
	})
}

// A run that is made at once after another one was killed waits for the partitions of the dead member, and sends only
// those letters twice that it names.
func TestRequeueGoesOnAfterACrash(t *testing.T) {
	inWorld(t, func(w *world) {
		const letters = 1200
		l := w.begin(kafka.Options{}, driver.Events{})
		l.reject(numbers(letters)...)
		before := w.count("orders")
		sent, crashed := 0, make(chan struct{})
		w.cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
			w.cluster.KeepControl()
			if sent++; sent == 20 {
				l.crash()
				close(crashed)
			}
			return nil, nil, false
		})
		o := ops.RequeueOptions{Journal: filepath.Join(t.TempDir(), "journal")}
		killed := make(chan *ops.RequeueResult, 1)
		go func(l *life, o ops.RequeueOptions) {
			r, err := ops.Requeue(w.Context(), l.b, "orders@dlq", &o)
			if err == nil || r.Moved == letters || r.Moved == 0 {
				t.Errorf("moved %d, error %v: the crash came at the wrong time", r.Moved, err)
			}
			killed <- r
		}(l, o)
		<-crashed
		journal, err := os.ReadFile(o.Journal) // a process that was killed writes no more
		if o.Journal += "-left"; err == nil {
			err = os.WriteFile(o.Journal, journal, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		l = w.begin(kafka.Options{}, driver.Events{})
		next, err := ops.Requeue(w.Context(), l.b, "orders@dlq", &o)
		if err != nil || next.Moved == 0 {
			t.Fatalf("%+v, %v", next, err)
		}
		if again := w.count("orders") - before - letters; again < 0 || again > int64(len(next.Doubled)) {
			t.Errorf("%d letters were sent twice, and %d may have been, as the run says", again, len(next.Doubled))
		}
		if last, err := ops.Requeue(w.Context(), l.b, "orders@dlq", &o); err != nil || last.Waiting+last.Moved > 0 {
			t.Errorf("%+v, %v", last, err)
		}
		<-killed
		l.get(letters) // after the crashed member's session has ended
	})
}

// More letters stay than the commit has room for: the run ends with the reason.
func TestRequeueOfTooManyThatStay(t *testing.T) {
	inWorld(t, func(w *world) {
		const letters = 60_000
		l := w.begin(kafka.Options{}, driver.Events{})
		var rs []*kgo.Record
		for i := range letters {
			rs = append(rs, &kgo.Record{Topic: ordersDead, Key: fmt.Append(nil, i), Value: fmt.Append(nil, i)})
		}
		if err := w.client.ProduceSync(w.Context(), rs...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		some := func(body []byte) (bool, error) { return len(body) > 1 && body[len(body)-1]%2 == 0, nil }
		r, err := ops.Requeue(w.Context(), l.b, "orders@dlq", &ops.RequeueOptions{Select: ops.Selection{Body: some}})
		if err == nil || !strings.Contains(err.Error(), "no room") || r.Moved == 0 || r.Stay.Unlooked == 0 {
			t.Errorf("moved %d, %d not seen, error %v", r.Moved, r.Stay.Unlooked, err)
		}
	})
}

// A run leaves what dies while it runs, also if the run has not sent it.
func TestRequeueLeavesWhatDiesMeanwhile(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		l.reject("a", "b", "c")
		began := 0
		r, err := ops.Requeue(w.Context(), l.b, "orders@dlq", &ops.RequeueOptions{
			Edit: func(body []byte) ([]byte, error) {
				if began++; began == 1 {
					w.send(0, "d", "e")
					var batch []driver.Settlement
					for _, d := range l.get(2) {
						time.Sleep(time.Second)
						death := &driver.Death{Error: "no", Last: time.Now()}
						batch = append(batch, driver.Settlement{Handle: d.Handle, Action: driver.Reject, Death: death})
					}
					return body, l.recv.Settle(w.Context(), batch)
				}
				return body, nil
			},
		})
		if err != nil || r.Moved != 3 || r.Stay.Later > 2 {
			w.Errorf("%+v, %v, want 3 moved", r, err)
		}
		l.get(3)
		l.requeue(ops.RequeueOptions{}, 2, 0)
	})
}

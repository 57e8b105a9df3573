//go:build synctests

package kafka_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// put sends messages to a channel.
func (l *life) put(to driver.Channel, ms ...driver.Message) {
	l.w.Helper()
	s, err := l.b.Sender(l.w.Context(), to)
	if err != nil {
		l.w.Fatal(err)
	}
	defer func() { _ = s.Close(l.w.Context()) }()
	for i := range ms {
		p, err := s.Prepare(l.w.Context(), &ms[i])
		if err != nil {
			l.w.Fatal(err)
		}
		if err := s.Send(l.w.Context(), []driver.Prepared{p}); err != nil {
			l.w.Fatal(err)
		}
	}
}

// committedBodies are the committed records of a topic, in the order of the log.
func (w *world) committedBodies(topic string) (all []string) {
	w.Helper()
	ends, err := w.admin.ListCommittedOffsets(w.Context(), topic)
	if err != nil {
		w.Fatal(err)
	}
	from := map[int32]kgo.Offset{}
	for n := range ends[topic] {
		from[n] = kgo.NewOffset().AtStart()
	}
	c, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.Dialer(w.network.DialContext),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		w.Fatal(err)
	}
	defer c.Close()
	for {
		ctx, cancel := context.WithTimeout(w.Context(), 2*time.Second)
		fetches := c.PollFetches(ctx)
		cancel()
		if fetches.NumRecords() == 0 {
			return all
		}
		fetches.EachRecord(func(r *kgo.Record) { all = append(all, string(r.Value)) })
	}
}

// A message comes at its time, also beyond the tiers, and no other waits for it.
func TestLaterAtItsTime(t *testing.T) {
	for name, o := range map[string]kafka.Options{
		"by key": {}, "parked": {
			ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark},
		}, "without order": {ChannelOptions: kafka.ChannelOptions{Ordering: kafka.OrderNone}},
		"share group": {
			ChannelOptions: kafka.ChannelOptions{Ordering: kafka.OrderNone, GroupProtocol: kafka.GroupShare},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				l := w.begin(o, driver.Events{})
				begun := time.Now()
				l.put(orders,
					driver.Message{Body: []byte("late"), OrderKey: "k", Delay: 3 * time.Minute},
					driver.Message{Body: []byte("soon"), OrderKey: "k", Delay: 5 * time.Second},
					driver.Message{Body: []byte("at"), OrderKey: "k", At: begun.Add(time.Minute)},
					driver.Message{Body: []byte("now"), OrderKey: "k"},
				)
				for _, want := range []struct {
					body  string
					after time.Duration
				}{{"now", 0}, {"soon", 5 * time.Second}, {"at", time.Minute}, {"late", 3 * time.Minute}} {
					d := l.within(1, 5*time.Minute)
					w.same(d, want.body)
					if took := time.Since(begun); took < want.after || took > want.after+2*time.Second {
						w.Errorf("%s was delivered after %v, want %v", want.body, took, want.after)
					}
					if due := begun.Add(want.after); want.after > 0 && d[0].Due.Sub(due).Abs() > time.Second {
						w.Errorf("%s was due at %v, want %v", want.body, d[0].Due, due)
					}
					l.settle(driver.Done, d...)
				}
			})
		})
	}
}

// Messages of a key that are due at one time come in the order of their sends, also beside those of other keys, and
// when nobody was awake for a week.
func TestLaterInOrder(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 3}}
		l := w.begin(o, driver.Events{})
		at := time.Now().Add(time.Hour)
		const n, keys = 60, 7
		for i := range n {
			l.put(orders, driver.Message{Body: []byte(fmt.Sprint(i)), OrderKey: fmt.Sprint("k", i%keys), At: at})
		}
		l.end()
		time.Sleep(8 * 24 * time.Hour)
		l = w.begin(o, driver.Events{})
		last := map[string]int{}
		for _, d := range l.get(n) {
			var i int
			_, _ = fmt.Sscan(string(d.Body), &i)
			if before, ok := last[d.OrderKey]; d.OrderKey != fmt.Sprint("k", i%keys) || ok && before > i {
				w.Errorf("%d of key %s comes after %d", i, d.OrderKey, before)
			}
			last[d.OrderKey] = i
		}
		l.nothing(time.Minute)
		l.end()
	})
}

// A process that ends at any request of its transaction, before the request or before its answer, loses no message and
// sends none twice: the next owner reads what it did.
func TestLaterTakeover(t *testing.T) {
	for _, kind := range []kmsg.Key{kmsg.Produce, kmsg.TxnOffsetCommit, kmsg.EndTxn, kmsg.Fetch, kmsg.InitProducerID} {
		for _, answered := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, answered %v", kmsg.NameForKey(kind.Int16()), answered), func(t *testing.T) {
				inWorld(t, func(w *world) {
					o := kafka.Options{}
					first := w.begin(o, driver.Events{})
					const n = 20
					var want []string
					for i := range n {
						body := fmt.Sprint(i)
						want = append(want, body)
						first.put(orders, driver.Message{Body: []byte(body), OrderKey: "k", Delay: time.Minute})
					}
					time.Sleep(30 * time.Second)
					second := w.begin(o, driver.Events{})
					time.Sleep(20 * time.Second)
					due := time.Now().Add(9 * time.Second)
					var once sync.Once
					crash := func() { first.crash(); second.crash() }
					w.cluster.ControlKey(kind.Int16(), func(kmsg.Request) (_ kmsg.Response, err error, handled bool) {
						w.cluster.KeepControl()
						if time.Now().Before(due) {
							return nil, nil, false
						}
						once.Do(func() {
							if handled = !answered; handled {
								err = errCut
							}
							go crash()
						})
						return nil, err, handled
					})
					time.Sleep(20 * time.Second)
					third := w.begin(o, driver.Events{})
					w.same(third.get(n), want...)
					time.Sleep(time.Minute)
					if got := w.committedBodies("orders"); fmt.Sprint(got) != fmt.Sprint(want) {
						w.Errorf("the channel has %v, want %v", got, want)
					}
				})
			})
		}
	}
}

// An owner reads its partition to the end before it sends: that a message was sent on stands behind all that was sent
// meanwhile, which takes several fetches.
func TestLaterReadsToTheEnd(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		var want []string
		for i := range 20 {
			want = append(want, fmt.Sprint(i))
			l.put(orders, driver.Message{Body: []byte(want[i]), OrderKey: "k", Delay: time.Minute})
		}
		random := rand.NewChaCha8([32]byte{1}) // it cannot be compressed
		for range 300 {
			body := make([]byte, 8<<10)
			_, _ = random.Read(body)
			l.put(orders, driver.Message{Body: body, OrderKey: "k", Delay: 24 * time.Hour})
		}
		w.same(l.get(20), want...)
		time.Sleep(10 * time.Second)
		l.end()
		l = w.begin(kafka.Options{}, driver.Events{})
		time.Sleep(time.Minute)
		if got := w.committedBodies("orders"); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("after a takeover the channel has %v, want %v", got, want)
		}
		l.end()
	})
}

// While members come and go, each message is sent on once.
func TestLaterWhileMembersComeAndGo(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 4, Ordering: kafka.OrderNone}}
		first := w.begin(o, driver.Events{})
		const n = 300
		for i := range n {
			first.put(orders, driver.Message{
				Body: []byte(fmt.Sprint(i)), OrderKey: fmt.Sprint(i), Delay: time.Duration(10+i/4) * time.Second,
			})
		}
		for range 5 {
			other := w.begin(o, driver.Events{})
			time.Sleep(7 * time.Second)
			other.end()
			time.Sleep(7 * time.Second)
		}
		time.Sleep(2 * time.Minute)
		seen := map[string]int{}
		for _, body := range w.committedBodies("orders") {
			seen[body]++
		}
		for i := range n {
			if got := seen[fmt.Sprint(i)]; got != 1 {
				w.Errorf("message %d was sent %d times", i, got)
			}
		}
		first.end()
	})
}

// A message that its channel does not take any more becomes a dead letter, which says why, and holds up no other.
func TestLaterUndeliverable(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		l.put(orders,
			driver.Message{Body: []byte("before"), OrderKey: "k", Delay: time.Minute},
			driver.Message{Body: []byte(strings.Repeat("x", 5000)), OrderKey: "k", Delay: time.Minute},
			driver.Message{Body: []byte("behind"), OrderKey: "k", Delay: time.Minute},
		)
		most := "1000"
		if _, err := w.admin.AlterTopicConfigs(w.Context(), []kadm.AlterConfig{{
			Op: kadm.SetConfig, Name: "max.message.bytes", Value: &most,
		}}, "orders"); err != nil {
			w.Fatal(err)
		}
		w.same(l.get(2), "before", "behind")
		dead := orders
		dead.DeadLetter = true
		letters, err := l.b.Receiver(w.Context(), dead, driver.ReceiverOptions{Concurrency: 1, Wait: time.Second})
		if err != nil {
			w.Fatal(err)
		}
		defer func() { _ = letters.Close(w.Context()) }()
		ds, err := letters.Receive(w.Context(), driver.Ask{Max: 1}, nil)
		for err == nil && len(ds) == 0 {
			ds, err = letters.Receive(w.Context(), driver.Ask{Max: 1}, nil)
		}
		if err != nil {
			w.Fatal(err)
		}
		o := ds[0].Origin
		if o == nil || o.Deaths != 1 || o.Death.Kind != "undeliverable" || len(ds[0].Body) != 5000 {
			w.Errorf("the dead letter has %d bytes and the origin %+v", len(ds[0].Body), o)
		}
		l.nothing(20 * time.Minute)
	})
}

// The body of a message that waits is no orphan, and reaches the handler. A delay that a body would not outlast is an
// error of Send.
func TestLaterLarge(t *testing.T) {
	inWorld(t, func(w *world) {
		const day = 24 * time.Hour
		store := &bodies{lifetime: 60 * day}
		l := w.begin(kafka.Options{Store: store}, driver.Events{})
		l.put(orders, driver.Message{Body: make([]byte, 2<<20), OrderKey: "k", Delay: 5 * time.Minute})
		w.wantOrphans(l.orphans(future()))
		ds := l.within(1, 6*time.Minute)
		if len(ds) != 1 || len(w.bodyOf(ds[0])) != 2<<20 || ds[0].OrderKey != "k" {
			w.Fatalf("received %+v", ds)
		}
		s, err := l.b.Sender(w.Context(), orders)
		if err != nil {
			w.Fatal(err)
		}
		_, err = s.Prepare(w.Context(), &driver.Message{Body: make([]byte, 2<<20), Delay: 50 * day})
		if err == nil || driver.ClassOf(err) != driver.Permanent ||
			!strings.Contains(err.Error(), "shorten the delay to 936h") {
			w.Errorf("a delay that the body does not outlast: %v", err)
		}
		if _, err := s.Prepare(w.Context(), &driver.Message{Body: []byte("small"), Delay: 50 * day}); err != nil {
			w.Errorf("a small message: %v", err)
		}
	})
}

// A program that may not create topics says what is missing, and so does one whose brokers cannot wake messages.
func TestLaterRefused(t *testing.T) {
	inWorld(t, func(w *world) {
		w.begin(kafka.Options{}, driver.Events{}).end()
		other, err := kafka.Open(w.Context(), &kafka.Options{
			Brokers: w.cluster.ListenAddrs(), Client: []kgo.Opt{kgo.Dialer(w.network.DialContext)},
		})
		if err != nil {
			w.Fatal(err)
		}
		defer func() { _ = other.Close(w.Context()) }()
		refused := func(m driver.Message, class driver.Class, want string) {
			t.Helper()
			s, err := other.Sender(w.Context(), orders)
			if err == nil {
				_, err = s.Prepare(w.Context(), &m)
			}
			if err == nil || driver.ClassOf(err) != class || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want an error of class %v with %q", err, class, want)
			}
		}
		refused(driver.Message{Delay: time.Minute}, driver.NotFound, "create it with cleanup.policy=compact")
		refused(driver.Message{Delay: 11 * 365 * 24 * time.Hour}, driver.Permanent, "more than ten years")
		w.setFeature("transaction.version", 1)
		refused(driver.Message{Delay: time.Minute}, driver.Permanent, "a message with a delay needs 2")
		w.setFeature("transaction.version", 2)
		if _, err := w.admin.CreateTopic(w.Context(), 1, 1, nil, "orders.later"); err != nil {
			t.Fatal(err)
		}
		refused(driver.Message{Delay: time.Minute}, driver.Permanent, "set it to compact")
	})
}

// The end of a transaction reaches the broker when another process has a partition of its messages by then. That
// process waits until the transaction is over, so that no message is sent twice.
func TestLaterDelayedEnd(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 2, Ordering: kafka.OrderNone}}
		first := w.begin(o, driver.Events{})
		const n = 40
		for i := range n {
			first.put(orders, driver.Message{Body: []byte(fmt.Sprint(i)), OrderKey: fmt.Sprint(i), Delay: time.Minute})
		}
		var once sync.Once
		w.cluster.ControlKey(kmsg.EndTxn.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
			w.cluster.KeepControl()
			once.Do(func() { w.cluster.SleepControl(func() { time.Sleep(9 * time.Second) }) })
			return nil, nil, false
		})
		time.Sleep(time.Minute + 500*time.Millisecond)
		second := w.begin(o, driver.Events{})
		time.Sleep(time.Minute)
		sent := w.committedBodies("orders")
		if slices.Sort(sent); len(sent) != n || len(slices.Compact(sent)) != n {
			w.Errorf("%d messages were sent, want %d: %v", len(sent), n, sent)
		}
		first.end()
		second.end()
	})
}

//go:build synctests

package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// large prepares a large message, which writes its body, and returns its record.
func (l *life) large(s driver.Sender) *kgo.Record {
	l.w.Helper()
	p, err := s.Prepare(l.w.Context(), &driver.Message{Body: make([]byte, 2<<20)})
	if err != nil {
		l.w.Fatal(err)
	}
	r := *p.Wire.(*kgo.Record)
	return &r
}

// sendLarge sends large messages.
func (l *life) sendLarge(s driver.Sender, n int) {
	l.w.Helper()
	for range n {
		if err := l.w.client.ProduceSync(l.w.Context(), l.large(s)).FirstErr(); err != nil {
			l.w.Fatal(err)
		}
	}
}

// sender opens a sender to a channel that it creates.
func (l *life) sender(ch driver.Channel) driver.Sender {
	l.w.Helper()
	if err := l.b.Ensure(l.w.Context(), driver.ChannelSpec{Channel: ch}); err != nil {
		l.w.Fatal(err)
	}
	s, err := l.b.Sender(l.w.Context(), ch)
	if err != nil {
		l.w.Fatal(err)
	}
	return s
}

// orphans are the keys of the objects to which no record points, without their common folder.
func (l *life) orphans(before time.Time) []string {
	l.w.Helper()
	all, err := l.b.Orphans(l.w.Context(), before)
	if err != nil {
		l.w.Fatal(err)
	}
	keys := make([]string, 0, len(all))
	for _, o := range all {
		if o.Bucket != "payloads" || o.Size != 2<<20 || !strings.Contains(o.Key, "/topics/"+o.Address+"/") {
			l.w.Errorf("%+v", o)
		}
		keys = append(keys, o.Key[strings.Index(o.Key, "/topics/")+len("/topics/"):])
	}
	return keys
}

func (w *world) wantOrphans(got []string, want ...string) {
	w.Helper()
	if !slices.Equal(got, want) {
		w.Errorf("orphans are %v, want %v", got, want)
	}
}

// future is later than all objects were written.
func future() time.Time { return time.Now().Add(time.Hour) }

// An orphan is an object to which nothing points: no record of the topic, handled or not, and none in a tier, in the
// dead letters, or in a transaction that is open or was aborted.
func TestOrphans(t *testing.T) {
	inWorld(t, func(w *world) {
		w.setFeature("transaction.version", 2)
		store := &bodies{}
		l := w.begin(kafka.Options{
			Store: store, ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryAlone},
		}, driver.Events{})
		s := l.sender(orders)
		l.sendLarge(s, 3)
		ds := l.get(3)
		l.settle(driver.Done, ds[0])
		l.settle(driver.Retry, ds[1])
		l.settle(driver.Reject, ds[2])
		time.Sleep(time.Second)
		if err := l.recv.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		w.wantOrphans(l.orphans(future()))

		l.large(s) // never sent
		w.wantOrphans(l.orphans(future()), "orders/3")
		w.wantOrphans(l.orphans(time.Now().Add(-time.Second)))

		client, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.Dialer(w.network.DialContext),
			kgo.TransactionalID("t"))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		for i, commit := range []kgo.TransactionEndTry{kgo.TryAbort, kgo.TryCommit} {
			if err := client.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			r := l.large(s)
			w.wantOrphans(l.orphans(future()), "orders/3", fmt.Sprint("orders/", 4+i))
			if err := client.ProduceSync(w.Context(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
			w.wantOrphans(l.orphans(future()), "orders/3")
			if err := client.EndTransaction(w.Context(), commit); err != nil {
				t.Fatal(err)
			}
			w.wantOrphans(l.orphans(future()), "orders/3")
		}
		if err := w.cluster.DeleteRecords("orders", 0, 3); err != nil { // those that the consumer had
			t.Fatal(err)
		}
		w.wantOrphans(l.orphans(future()), "orders/0", "orders/3")
		if _, err := w.admin.DeleteTopics(w.Context(), "orders.orders.dlq", "orders.orders.retry.5s"); err != nil {
			t.Fatal(err)
		}
		w.wantOrphans(l.orphans(future()), "orders/0", "orders/1", "orders/2", "orders/3")
		if _, err := w.admin.DeleteTopics(w.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		w.wantOrphans(l.orphans(future()), "orders/0", "orders/1", "orders/2", "orders/3", "orders/4", "orders/5")
	})
}

// The objects of another namespace, of another cluster and of a queue are not listed. A record that announces a pointer
// in an unknown form counts.
func TestOrphansOfOthers(t *testing.T) {
	inWorld(t, func(w *world) {
		store := &bodies{}
		l := w.begin(kafka.Options{Store: store}, driver.Events{})
		prod := w.backend(kafka.Options{Store: store, Namespace: "prod"})
		other := &life{w: w, b: prod}
		other.large(other.sender(orders))
		s := l.sender(orders)
		r := l.large(s)
		for _, folder := range []string{"kafka/other/topics/orders", "topics/orders", "queues/orders"} {
			if _, err := store.Put(w.Context(), folder, strings.NewReader("x"), 1); err != nil {
				t.Fatal(err)
			}
		}
		w.wantOrphans(l.orphans(future()), "orders/1")
		w.wantOrphans(other.orphans(future()), "prod.orders/0")
		r.Headers = nil
		r.Value = []byte(strings.Replace(string(r.Value), `"v":1`, `"v":99`, 1))
		if err := w.client.ProduceSync(w.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
		w.wantOrphans(l.orphans(future()))
	})
}

// mover is called before a topic is read: the scan gets an error, and tries again when the call is over.
type mover struct {
	w    *world
	ids  map[string][16]byte
	mu   sync.Mutex
	next string // the topic before whose reading f is called; "": it is not called any more
	f    func() (next string)
	busy bool
}

// move sets the call before topic is read. It returns the next such topic, and may use the cluster.
func (w *world) move(topic string, f func() (next string)) *mover {
	w.Helper()
	m := &mover{w: w, ids: map[string][16]byte{}, next: topic, f: f}
	for _, name := range []string{"orders", "results"} {
		if info := w.cluster.TopicInfo(name); info != nil {
			m.ids[name] = info.TopicID
		}
	}
	w.cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition, Count: -1, When: func(req kmsg.Request) bool {
			return m.read(req.(*kmsg.FetchRequest).Topics[0].TopicID)
		},
	})
	return m
}

func (m *mover) read(id [16]byte) (refused bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.next == "" || m.ids[m.next] != id {
		return false
	}
	if !m.busy {
		m.busy = true
		go func() {
			next := m.f()
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.busy = false; m.next != "" {
				m.next = next
			}
		}()
	}
	return true
}

// stop ends the calls.
func (m *mover) stop() {
	m.mu.Lock()
	m.next = ""
	m.mu.Unlock()
	time.Sleep(time.Second) // a call may still run
}

// done checks that the last call is over.
func (m *mover) done() {
	m.w.Helper()
	time.Sleep(time.Second) // the last one may still run
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.next != "" || m.busy {
		m.w.Errorf("the scan ended before %s was read", m.next)
	}
}

// copyTo copies a record to another topic.
func (w *world) copyTo(topic string, r *kgo.Record) *kgo.Record {
	w.Helper()
	copied := &kgo.Record{Topic: topic, Key: r.Key, Value: r.Value, Headers: r.Headers}
	if err := w.client.ProduceSync(w.Context(), copied).FirstErr(); err != nil {
		w.Error(err)
	}
	return copied
}

// A record that is moved to another topic and deleted while the scan runs still counts, however often that happens, and
// whichever topic is read first.
func TestOrphansWhileRecordsMove(t *testing.T) {
	other := map[string]string{"orders": "results", "results": "orders"}
	for from := range other {
		for hops := 1; hops <= 4; hops++ {
			t.Run(fmt.Sprint(hops, " from ", from), func(t *testing.T) {
				inWorld(t, func(w *world) {
					l := w.begin(kafka.Options{Store: &bodies{}}, driver.Events{})
					senders := map[string]driver.Sender{
						"orders": l.sender(orders), "results": l.sender(driver.Channel{Queue: "results"}),
					}
					if err := l.recv.Close(w.Context()); err != nil {
						t.Fatal(err)
					}
					l.large(senders[from])
					r := w.copyTo(from, l.large(senders[from]))
					left := hops
					m := w.move(from, func() string {
						left--
						moved := w.copyTo(other[r.Topic], r)
						if err := w.cluster.DeleteRecords(r.Topic, 0, r.Offset+1); err != nil {
							t.Error(err)
						}
						if r = moved; left == 0 {
							return ""
						}
						return r.Topic
					})
					w.wantOrphans(l.orphans(future()), from+"/0")
					m.done()
				})
			})
		}
	}
}

// A record that is copied, and then removed by a compaction, leaves no trace in the log; its copy counts.
func TestOrphansDuringACompaction(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{Store: &bodies{}}
		o.TopicConfig = map[string]string{"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0"}
		l := w.begin(o, driver.Events{})
		if err := l.recv.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		s := l.sender(orders)
		l.sender(driver.Channel{Queue: "results"})
		l.large(s)
		w.copyTo("orders", &kgo.Record{Key: []byte("stays")}) // so that the log begins where it did
		r := l.large(s)
		r.Key = []byte("k")
		r = w.copyTo("orders", r)
		m := w.move("orders", func() string {
			w.copyTo("results", r)
			for range 2 {
				w.copyTo("orders", &kgo.Record{Key: r.Key})
			}
			w.cluster.Compact()
			return ""
		})
		w.wantOrphans(l.orphans(future()), "orders/0")
		m.done()
	})
}

// The scan goes on behind what a compaction has left, and follows partitions to other brokers.
func TestOrphansOfOddLogs(t *testing.T) {
	inWorldOf(t, 3, func(w *world) {
		o := kafka.Options{Store: &bodies{}, ChannelOptions: kafka.ChannelOptions{Partitions: 3}}
		o.TopicConfig = map[string]string{
			"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0", "delete.retention.ms": "0",
		}
		l := w.begin(o, driver.Events{})
		if err := l.recv.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		s := l.sender(orders)
		l.sender(driver.Channel{Queue: "results"})
		for n := range int32(3) {
			for range 3 { // the second replaces the first; the last record of a log stays out of the compaction
				r := l.large(s)
				r.Key, r.Partition = []byte("k"), n
				if err := w.client.ProduceSync(w.Context(), r).FirstErr(); err != nil {
					t.Fatal(err)
				}
			}
		}
		w.cluster.Compact()
		m := w.move("orders", func() string {
			for n := range int32(3) {
				to := (w.cluster.LeaderFor("orders", n) + 1) % 3
				if err := w.cluster.MoveTopicPartition("orders", n, to); err != nil {
					t.Error(err)
				}
			}
			return ""
		})
		w.wantOrphans(l.orphans(future()), "orders/0", "orders/3", "orders/6")
		m.done()
	})
}

// What would make the list wrong is an error that says how to repair it.
func TestOrphansThatCannotBeFound(t *testing.T) {
	inWorld(t, func(w *world) {
		store := &bodies{}
		l := w.begin(kafka.Options{Store: store}, driver.Events{})
		s := l.sender(orders)
		l.large(s)
		l.sendLarge(s, 3)
		refuse := func(b *kafka.Backend, class driver.Class, want string) {
			t.Helper()
			if all, err := b.Orphans(w.Context(), future()); err == nil || driver.ClassOf(err) != class ||
				!strings.Contains(err.Error(), want) || all != nil {
				t.Errorf("%v, %v, want %s: %s", all, err, class, want)
			}
		}
		refuse(w.backend(kafka.Options{}), driver.Permanent, "kafka.Options.Store is missing")
		refuse(w.backend(kafka.Options{Store: unlisted{store}}), driver.Permanent, "cannot list")
		refuse(w.backend(kafka.Options{Store: store, DeadLetterQueue: &kafka.MemoryDeadLetters{}}), driver.Permanent,
			"cannot be read")
		refuse(w.backend(kafka.Options{Store: store, RetryQueue: &kafka.MemoryRetryQueue{}}), driver.Permanent,
			"cannot be read")

		failing := func(key kmsg.Key, err *kerr.Error, class driver.Class, want string) {
			t.Helper()
			f := w.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Topic: "orders", Err: err, Count: -1})
			defer f.Remove()
			refuse(l.b, class, want)
		}
		if err := l.recv.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		const permission = "it needs permission to describe and read"
		failing(kmsg.Fetch, kerr.TopicAuthorizationFailed, driver.Denied, permission)
		failing(kmsg.ListOffsets, kerr.TopicAuthorizationFailed, driver.Denied, permission)
		failing(kmsg.Metadata, kerr.TopicAuthorizationFailed, driver.Denied, permission)
		failing(kmsg.Fetch, kerr.NotLeaderForPartition, driver.Transient, "partition 0 of topic orders: the broker "+
			"has sent no records from offset 0 on for 30s")
		failing(kmsg.Fetch, kerr.CorruptMessage, driver.Transient, "partition 0 of topic orders")

		for _, key := range []kmsg.Key{kmsg.ListOffsets, kmsg.Metadata, kmsg.Fetch} { // as of a topic that is new
			w.cluster.Fault(kfake.Fault{
				Keys: []kmsg.Key{key}, Topic: "orders", Err: kerr.LeaderNotAvailable, Count: 4,
			})
			w.wantOrphans(l.orphans(future()), "orders/0")
		}

		busy := w.move("orders", func() string {
			next := w.copyTo("orders", w.copyTo("orders", &kgo.Record{}))
			if err := w.cluster.DeleteRecords("orders", 0, next.Offset); err != nil {
				t.Error(err)
			}
			return "orders"
		})
		refuse(l.b, driver.Transient, "lose records faster than they can be read")
		busy.stop()

		// Brokers do not show a topic that may not be described.
		if err := w.cluster.DeleteTopic("orders"); err != nil {
			t.Fatal(err)
		}
		failing(kmsg.Metadata, kerr.TopicAuthorizationFailed, driver.Denied, permission)
		ctx, cancel := context.WithCancel(w.Context())
		cancel()
		if _, err := l.b.Orphans(ctx, future()); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
		if err := l.b.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		refuse(l.b, driver.Permanent, "closed")
	})
}

// unlisted is a store that cannot list its objects.
type unlisted struct{ driver.Store }

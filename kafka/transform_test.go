//go:build synctests

package kafka_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// Transactions are refused where they could not be exactly once, with the reason.
func TestTransformRefused(t *testing.T) {
	for name, c := range map[string]struct {
		o     kafka.Options
		level int16 // of transaction.version
		want  string
	}{
		"old transactions": {level: 0, want: "transaction.version 0, and Transform needs 2"},
		"share group":      {o: share(), level: 2, want: "a share group has no transactions"},
		"own dead letters": {
			o: kafka.Options{DeadLetterQueue: &kafka.MemoryDeadLetters{}}, level: 2, want: "RetryQueue",
		},
		"old client": {
			o: kafka.Options{Client: []kgo.Opt{kgo.MaxVersions(kversion.V3_8_0())}}, level: 2,
			want: "kgo.MaxVersions in kafka.Options.Client",
		},
		"client of 4.0": {o: kafka.Options{Client: []kgo.Opt{kgo.MaxVersions(kversion.V4_0_0())}}, level: 2},
		"transactions":  {level: 2},
		"transactions, tier": {o: kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark},
		}, level: 2},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.setFeature("transaction.version", c.level)
				l := w.begin(c.o, driver.Events{})
				to, err := l.b.Sender(w.Context(), orders)
				if err != nil {
					w.Fatal(err)
				}
				r, err := l.b.Transform(w.Context(), orders, to, driver.ReceiverOptions{})
				if err == nil {
					defer func() { _ = r.Close(w.Context()) }()
				}
				switch {
				case c.want == "" && err != nil:
					w.Errorf("refused: %v", err)
				case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
					driver.ClassOf(err) != driver.Permanent):
					w.Errorf("got the error %v, want one with %q", err, c.want)
				}
			})
		})
	}
}

// share are options of share groups.
func share() kafka.Options {
	return kafka.Options{
		ChannelOptions: kafka.ChannelOptions{
			GroupProtocol: kafka.GroupShare, Ordering: kafka.OrderNone, Retries: kafka.RetryAlone,
		},
	}
}

func (w *world) setFeature(name string, level int16) {
	w.Helper()
	req := kmsg.NewPtrUpdateFeaturesRequest()
	f := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	f.Feature, f.MaxVersionLevel, f.UpgradeType, f.AllowDowngrade = name, level, 2, true
	req.FeatureUpdates = append(req.FeatureUpdates, f)
	resp, err := req.RequestWith(w.Context(), w.client)
	if err != nil || resp.ErrorCode != 0 {
		w.Fatalf("set the feature %s: %v, %d", name, err, resp.ErrorCode)
	}
}

// If the end of a transaction is not answered, its results are published once, whether it was committed or not.
func TestTransformEndUnanswered(t *testing.T) {
	for name, before := range map[string]bool{"before its effect": true, "after its effect": false} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				l := w.begin(kafka.Options{}, driver.Events{})
				w.send(0, numbers(10)...)
				handle := l.transform()
				var mu sync.Mutex
				var first time.Time // when the first end of a transaction arrived
				w.cluster.ControlKey(int16(kmsg.EndTxn), func(kmsg.Request) (kmsg.Response, error, bool) {
					w.cluster.KeepControl()
					mu.Lock()
					defer mu.Unlock()
					switch {
					case first.IsZero() && !before:
						first = time.Now()
						l.wire.cut() // the answer
						l.wire.mend()
						return nil, nil, false
					case first.IsZero():
						first = time.Now()
					}
					return nil, errCut, time.Since(first) < 9*time.Second // nearly as long as a transaction is tried
				})
				handle(l.get(10)...)
				time.Sleep(time.Minute)
				mu.Lock()
				if first.IsZero() {
					w.Fatal("no transaction has ended")
				}
				mu.Unlock()
				if at, _ := w.committed(0); at != 10 {
					w.Errorf("committed up to %d, want 10", at)
				}
				if n := w.countCommitted("results"); n != 10 {
					w.Errorf("%d results, want 10", n)
				}
			})
		})
	}
}

// transform replaces the receiver by one with transactions. The function that it returns handles deliveries, each with
// one result, for the channel results.
func (l *life) transform() (handle func(...driver.Delivery)) {
	w := l.w
	w.Helper()
	results := driver.Channel{Queue: "results"}
	if err := l.b.Ensure(w.Context(), driver.ChannelSpec{Channel: results, Owner: true}); err != nil {
		w.Fatal(err)
	}
	_ = l.recv.Close(w.Context())
	to, err := l.b.Sender(w.Context(), results)
	if err != nil {
		w.Fatal(err)
	}
	r, err := l.b.Transform(w.Context(), orders, to, driver.ReceiverOptions{Concurrency: 10, Wait: time.Second})
	if err != nil {
		w.Fatal(err)
	}
	l.recv = r
	return func(ds ...driver.Delivery) {
		for _, d := range ds {
			p, err := to.Prepare(w.Context(), &driver.Message{Body: d.Body})
			if err != nil {
				w.Fatal(err)
			}
			r.Attach(d.Handle, []driver.Prepared{p})
			r.(driver.Finisher).Finish(d.Handle)
		}
	}
}

// Where the brokers allow less commit metadata than by default, completions may not fit. Then nothing is published, and
// the error says what to change. When the records between are handled, all results are published once.
func TestTransformWithLittleMetadata(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		const n, limit = 400, 40
		w.send(0, numbers(n)...)
		handle := l.transform()
		refused := 0
		w.cluster.ControlKey(int16(kmsg.TxnOffsetCommit), func(req kmsg.Request) (kmsg.Response, error, bool) {
			w.cluster.KeepControl()
			commit := req.(*kmsg.TxnOffsetCommitRequest)
			resp := commit.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
			tooLarge := false
			for _, t := range commit.Topics {
				answer := kmsg.NewTxnOffsetCommitResponseTopic()
				answer.Topic, answer.TopicID = t.Topic, t.TopicID
				for _, p := range t.Partitions {
					one := kmsg.NewTxnOffsetCommitResponseTopicPartition()
					if one.Partition = p.Partition; len(*p.Metadata) > limit {
						tooLarge, one.ErrorCode = true, kerr.OffsetMetadataTooLarge.Code
						refused++
					}
					answer.Partitions = append(answer.Partitions, one)
				}
				resp.Topics = append(resp.Topics, answer)
			}
			return resp, nil, tooLarge
		})
		ds := l.get(n)
		for i := 1; i < n; i += 2 {
			handle(ds[i])
		}
		time.Sleep(time.Second)
		_, err := l.recv.Receive(w.Context(), driver.Ask{Max: 1}, nil)
		if err == nil || !strings.Contains(err.Error(), "topic orders: OFFSET_METADATA_TOO_LARGE") ||
			!strings.Contains(err.Error(), "offset.metadata.max.bytes of at least 4096") {
			w.Errorf("got the error %v, want the limit to raise", err)
		}
		if published := w.countCommitted("results"); refused == 0 || published != 0 {
			w.Errorf("%d commits were refused, and %d results are published, want some and none", refused, published)
		}
		for i := 0; i < n; i += 2 {
			handle(ds[i])
		}
		time.Sleep(10 * time.Second)
		if at, _ := w.committed(0); at != n {
			w.Errorf("committed up to %d, want %d", at, n)
		}
		if published := w.countCommitted("results"); published != n {
			w.Errorf("%d results are published, want %d", published, n)
		}
		l.end()
	})
}

// If the dead letters were deleted, all copies of a transaction wait until their topic is created again.
func TestTransformCreatesDeadLettersAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		w.send(0, numbers(3)...)
		l.transform()
		ds := l.get(3)
		if _, err := w.admin.DeleteTopics(w.Context(), "orders.orders.dlq"); err != nil {
			w.Fatal(err)
		}
		l.settle(driver.Reject, ds...)
		if n := w.countCommitted("orders.orders.dlq"); n != 3 {
			w.Errorf("%d dead letters, want 3", n)
		}
		l.end()
	})
}

// countCommitted is the number of committed records of a topic.
func (w *world) countCommitted(topic string) (n int) {
	w.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.Dialer(w.network.DialContext),
		kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		w.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		n += len(c.PollFetches(ctx).Records())
	}
	return n
}

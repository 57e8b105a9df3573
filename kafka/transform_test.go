//go:build synctests

package kafka_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

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
		"transactions":       {level: 2},
		"transactions, tier": {o: kafka.Options{Retries: kafka.RetryPark}, level: 2},
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
		GroupProtocol: kafka.GroupShare, Ordering: kafka.OrderNone, Retries: kafka.RetryAlone,
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
				results := driver.Channel{Queue: "results"}
				if err := l.b.Ensure(w.Context(), driver.ChannelSpec{Channel: results, Owner: true}); err != nil {
					w.Fatal(err)
				}
				_ = l.recv.Close(w.Context())
				to, err := l.b.Sender(w.Context(), results)
				if err != nil {
					w.Fatal(err)
				}
				r, err := l.b.Transform(w.Context(), orders, to, driver.ReceiverOptions{
					Concurrency: 10, Wait: time.Second,
				})
				if err != nil {
					w.Fatal(err)
				}
				l.recv = r
				var first time.Time // when the first end of a transaction arrived
				w.cluster.ControlKey(int16(kmsg.EndTxn), func(kmsg.Request) (kmsg.Response, error, bool) {
					w.cluster.KeepControl()
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
				handle := func(ds []driver.Delivery) {
					for _, d := range ds {
						p, err := to.Prepare(w.Context(), &driver.Message{Body: d.Body})
						if err != nil {
							w.Fatal(err)
						}
						r.Attach(d.Handle, []driver.Prepared{p})
						r.(driver.Finisher).Finish(d.Handle)
					}
				}
				handle(l.get(10))
				time.Sleep(time.Minute)
				if first.IsZero() {
					w.Fatal("no transaction has ended")
				}
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

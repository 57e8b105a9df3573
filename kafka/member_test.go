//go:build synctests

package kafka_test

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// A group with assignment by the broker (KIP-848) keeps the same promises: no commit passes an unfinished record, a
// crash undoes at most a second's work, and records that a leaving member has drained are not delivered again.
func TestGroupsOfTheBroker(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{Partitions: 2, GroupProtocol: kafka.GroupConsumer}
		var held []driver.Delivery
		var l *life
		l = w.begin(o, driver.Events{Revoked: func(_ context.Context, sources []*driver.Source) {
			for _, d := range held {
				for _, s := range sources {
					if d.Source == s {
						_ = l.recv.Settle(context.Background(), []driver.Settlement{{Handle: d.Handle}})
					}
				}
			}
		}})
		w.send(0, "a0", "b0")
		w.send(1, "a1", "b1")
		held = l.get(4)
		other := w.begin(o, driver.Events{})
		var wg sync.WaitGroup
		wg.Go(func() {
			if ds := other.within(1, time.Minute); len(ds) > 0 {
				w.Errorf("the new owner received %s again", texts(ds))
			}
		})
		l.within(1, time.Minute)
		wg.Wait()
		w.send(0, "c0")
		w.send(1, "c1")
		n := len(l.get(1)) + len(other.get(1))
		if n != 2 {
			w.Errorf("the two members received %d, want one each", n)
		}
		if d, err := l.b.Inspect(w.Context(), orders); err != nil || d.Waiting < 2 {
			w.Errorf("depth %+v, %v, want 2 at least waiting", d, err)
		}
		other.end()
		l.end()
	})
}

// The owner of a partition also reads its tiers' partitions, in groups of both kinds.
func TestTiersFollowTheirPartition(t *testing.T) {
	for name, groups := range map[string]kafka.GroupProtocol{
		"classic":  kafka.GroupClassic,
		"consumer": kafka.GroupConsumer,
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				o := kafka.Options{Partitions: 4, Retries: kafka.RetryPark, GroupProtocol: groups}
				a, b := w.begin(o, driver.Events{}), w.begin(o, driver.Events{})
				owner := map[string]*life{}
				var mu sync.Mutex
				for n := range int32(4) {
					w.send(n, "k=p"+string('0'+n))
				}
				run := func(l *life) {
					for ends := time.Now().Add(time.Minute); time.Now().Before(ends); {
						ds, err := l.recv.Receive(w.Context(), 10, nil)
						if err != nil && !driver.ClassOf(err).Passing() {
							w.Error(err)
							return
						}
						for _, d := range ds {
							mu.Lock()
							was := owner[string(d.Body)]
							owner[string(d.Body)] = l
							mu.Unlock()
							if d.Attempt > 0 && was != l {
								w.Errorf("%s was delivered again to another member", d.Body)
							}
							l.settle(driver.Retry, d)
						}
					}
				}
				var wg sync.WaitGroup
				time.Sleep(20 * time.Second) // both have joined, and all partitions have moved
				wg.Go(func() { run(a) })
				wg.Go(func() { run(b) })
				wg.Wait()
				if len(owner) != 4 {
					w.Errorf("%d of 4 records were delivered", len(owner))
				}
			})
		})
	}
}

// A partition that cannot continue neither delays the others nor fills the memory.
func TestUnboundedInFlight(t *testing.T) {
	inWorld(t, func(w *world) {
		polled := &polledCount{}
		l := w.begin(kafka.Options{
			Partitions: 2, Ordering: kafka.OrderNone, Tiers: []time.Duration{time.Minute},
			Client: []kgo.Opt{kgo.WithHooks(polled)},
		}, driver.Events{})
		far := []kgo.RecordHeader{{Key: "godwit-due", Value: []byte("99999999999999")}}
		const n = 100_000
		// this process holds records of a tier that are not due, up to a bound
		w.flood(kgo.Record{Topic: "orders.orders.retry.1m", Headers: far}, n)
		l.nothing(5 * time.Second)
		got := polled.n.Load()
		if got > n/2 { // with the records that were fetched and dropped when the partition was paused
			w.Errorf("%d of %d records were fetched, although none can be handled yet", got, n)
		}
		l.nothing(30 * time.Second)
		if more := polled.n.Load() - got; more > 0 {
			w.Errorf("%d more records were fetched while none could be handled", more)
		}
		w.send(1, "free")
		begun := time.Now()
		w.same(l.get(1), "free")
		if took := time.Since(begun); took > time.Second {
			w.Errorf("another partition's record took %v", took)
		}
	})
}

// polledCount counts the records that a client returned.
type polledCount struct{ n atomic.Int64 }

func (c *polledCount) OnFetchRecordUnbuffered(_ *kgo.Record, polled bool) {
	if polled {
		c.n.Add(1)
	}
}

// Credentials are used. Only a real broker shows the class of wrong ones, because this one closes the connection.
func TestCredentials(t *testing.T) {
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		t.Run(mechanism, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var network kfake.VirtualNetwork
				cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.ListenFn(network.Listen),
					kfake.EnableSASL(), kfake.Superuser(mechanism, "ada", "secret"))
				if err != nil {
					t.Fatal(err)
				}
				defer cluster.Close()
				for password, want := range map[string]bool{"secret": true, "guess": false} {
					b, err := kafka.Open(t.Context(), &kafka.Options{
						Brokers: cluster.ListenAddrs(),
						SASL:    &kafka.SASL{Mechanism: mechanism, User: "ada", Password: password},
						Client:  []kgo.Opt{kgo.Dialer(network.DialContext)},
					})
					if err != nil {
						t.Fatal(err)
					}
					err = b.Ensure(t.Context(), driver.ChannelSpec{Channel: orders})
					if want != (err == nil) {
						t.Errorf("with password %q: %v", password, err)
					}
					if err := b.Close(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// Options that cannot work are an error of the constructor, which says how to repair them.
func TestImpossibleOptions(t *testing.T) {
	for text, o := range map[string]kafka.Options{
		"OAUTHBEARER, but SASL.Token is nil": {SASL: &kafka.SASL{Mechanism: "OAUTHBEARER"}},
		"use PLAIN, SCRAM":                   {SASL: &kafka.SASL{Mechanism: "KERBEROS"}},
		"use gzip, snappy":                   {Compression: "brotli"},
		"ascending":                          {Tiers: []time.Duration{time.Minute, time.Second}},
		"Channels[\"x\"].Tiers": {
			Channels: map[string]kafka.ChannelOptions{"x": {Tiers: []time.Duration{time.Millisecond}}},
		},
		"Namespace":                     {Namespace: "a b"},
		"negative":                      {Partitions: -1},
		"Channels[\"x\"].Ordering is 9": {Channels: map[string]kafka.ChannelOptions{"x": {Ordering: 9}}},
		"Options.Retries is 9":          {Retries: 9},
		"Options.GroupProtocol is 9":    {GroupProtocol: 9},
		"franz-go refuses the options": {TLS: &tls.Config{}, Client: []kgo.Opt{
			kgo.Dialer(nil),
			kgo.MaxBufferedRecords(-1),
		}},
	} {
		if _, err := kafka.Open(t.Context(), &o); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("open: %v, want an error that says %q", err, text)
		}
	}
	b, err := kafka.Open(t.Context(),
		&kafka.Options{Channels: map[string]kafka.ChannelOptions{"orders": {Ordering: kafka.OrderNone}}})
	if err != nil {
		t.Fatal(err)
	}
	ordered := driver.Channel{Queue: "orders", Ordered: true}
	_, serr := b.Sender(t.Context(), ordered)
	_, rerr := b.Receiver(t.Context(), ordered, driver.ReceiverOptions{})
	for _, err := range []error{serr, rerr, b.Ensure(t.Context(), driver.ChannelSpec{Channel: ordered})} {
		if err == nil || !strings.Contains(err.Error(), "OrderByKey") {
			t.Errorf("an ordered channel that is OrderNone: %v, want an error that says what to do", err)
		}
	}
	for text, s := range map[string]driver.ChannelSpec{
		"Delay":      {Delay: time.Minute},
		"Encryption": {Encryption: "alias/key"},
	} {
		s.Channel, s.Mode = driver.Channel{Queue: "orders"}, driver.Never
		if err := b.Ensure(t.Context(), s); driver.ClassOf(err) != driver.Permanent ||
			!strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want an error that names it", text, err)
		}
	}
	if err := errors.Join(b.Close(t.Context()), b.Close(t.Context())); err != nil {
		t.Error(err)
	}
}

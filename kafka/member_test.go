//go:build synctests

package kafka_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// A group with assignment by the broker (KIP-848) keeps the same promises: no commit passes an unfinished record, a
// crash undoes at most a second's work, and records that a leaving member has drained are not delivered again.
func TestGroupsOfTheBroker(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 2, GroupProtocol: kafka.GroupConsumer}}
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
				o := kafka.Options{
					ChannelOptions: kafka.ChannelOptions{
						Partitions: 4, Retries: kafka.RetryPark, GroupProtocol: groups,
					},
				}
				a, b := w.begin(o, driver.Events{}), w.begin(o, driver.Events{})
				owner := map[string]*life{}
				var mu sync.Mutex
				for n := range int32(4) {
					w.send(n, "k=p"+string('0'+n))
				}
				run := func(l *life) {
					for ends := time.Now().Add(time.Minute); time.Now().Before(ends); {
						ds, err := l.recv.Receive(w.Context(), driver.Ask{Max: 10}, nil)
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
			ChannelOptions: kafka.ChannelOptions{
				Partitions: 2, Ordering: kafka.OrderNone, Tiers: []time.Duration{time.Minute},
			},
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

// The mechanism of MSK is offered to brokers, which kfake does not know, and their answer ends the handshake. An empty
// answer is a refusal.
func TestMSK(t *testing.T) {
	for answer, works := range map[string]bool{`{"version":"2020_10_22"}`: true, "": false} {
		inWorld(t, func(w *world) {
			var message string
			w.cluster.ControlKey(int16(kmsg.SASLHandshake), func(req kmsg.Request) (kmsg.Response, error, bool) {
				w.cluster.KeepControl()
				resp := req.ResponseKind().(*kmsg.SASLHandshakeResponse)
				if m := req.(*kmsg.SASLHandshakeRequest).Mechanism; m != "AWS_MSK_IAM" {
					w.Errorf("the mechanism is %s", m)
				}
				return resp, nil, true
			})
			w.cluster.ControlKey(int16(kmsg.SASLAuthenticate), func(req kmsg.Request) (kmsg.Response, error, bool) {
				w.cluster.KeepControl()
				message = string(req.(*kmsg.SASLAuthenticateRequest).SASLAuthBytes)
				resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
				resp.SASLAuthBytes = []byte(answer)
				return resp, nil, true
			})
			w.Setenv("AWS_REGION", "eu-west-1") // the address of this broker has none
			b := w.backend(kafka.Options{SASL: &kafka.SASL{
				Mechanism: "AWS_MSK_IAM", Credentials: func(context.Context) (kafka.AWSCredentials, error) {
					return kafka.AWSCredentials{AccessKeyID: "AKIAIOSFODNN7EXAMPLE", SecretAccessKey: "secret"}, nil
				},
			}})
			ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
			defer cancel()
			err := b.Ensure(ctx, driver.ChannelSpec{Channel: orders})
			if (err == nil) != works {
				t.Errorf("with the answer %q: %v", answer, err)
			}
			if !strings.Contains(message, "AKIAIOSFODNN7EXAMPLE/") || strings.Contains(message, "secret") {
				t.Errorf("the message is %s", message)
			}
		})
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

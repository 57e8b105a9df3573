//go:build synctests

package acceptance

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// What one broker cannot show, on three real ones: encryption and credentials, racks, and the loss of a broker.
func TestCluster(t *testing.T) {
	c := startCluster(t)
	t.Run("TLS and SASL", func(t *testing.T) { connects(t, c) })
	t.Run("rack", func(t *testing.T) { readsNearby(t, c) })
	t.Run("brokers lost", func(t *testing.T) { losesBrokers(t, c) })
	if testing.Short() {
		return // transactions beside lost brokers take minutes: only in the full run
	}
	t.Run("brokers lost, transactions", func(t *testing.T) { losesBrokersInTransactions(t, c, kafka.Options{}) })
	t.Run("brokers lost, transactions, parked", func(t *testing.T) {
		losesBrokersInTransactions(t, c, kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark, Tiers: []time.Duration{time.Second}},
		})
	})
}

// connects runs producers, consumers, share groups and transactions with each way to authenticate. Wrong credentials
// are refused.
func connects(t *testing.T, c *cluster) {
	const user, password = "ada", "secret"
	setup := c.world(t)
	c.users(setup, user, password)
	secret := &tls.Config{RootCAs: c.authorities}
	token := func(valid time.Duration) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { return c.token(user, valid) }
	}
	for name, o := range map[string]struct{ right, wrong kafka.Options }{
		"certificate": {
			right: kafka.Options{
				Brokers: c.tls, TLS: &tls.Config{RootCAs: c.authorities, Certificates: []tls.Certificate{c.client}},
			},
			wrong: kafka.Options{Brokers: c.tls, TLS: secret},
		},
		"OAUTHBEARER": {
			right: kafka.Options{
				Brokers: c.sasl, TLS: secret,
				SASL: &kafka.SASL{Mechanism: "OAUTHBEARER", Token: token(time.Hour)},
			},
			wrong: kafka.Options{
				Brokers: c.sasl, TLS: secret,
				SASL: &kafka.SASL{Mechanism: "OAUTHBEARER", Token: token(-time.Hour)},
			},
		},
		"PLAIN":         byPassword(c, "PLAIN", user, password),
		"SCRAM-SHA-256": byPassword(c, "SCRAM-SHA-256", user, password),
		"SCRAM-SHA-512": byPassword(c, "SCRAM-SHA-512", user, password),
	} {
		t.Run(name, func(t *testing.T) {
			w := c.world(t)
			o.right.Namespace, o.wrong.Namespace = w.ns, w.ns
			b, err := kafka.Open(t.Context(), &o.right)
			if err != nil {
				t.Fatal(err)
			}
			defer w.close(b)
			t.Run("consumer", func(t *testing.T) { w.worksOn(t, b, "consumed", false) })
			t.Run("transactions", func(t *testing.T) { w.worksOn(t, b, "transformed", true) })
			shared := o.right
			shared.Ordering, shared.GroupProtocol = kafka.OrderNone, kafka.GroupShare
			s, err := kafka.Open(t.Context(), &shared)
			if err != nil {
				t.Fatal(err)
			}
			defer w.close(s)
			t.Run("share group", func(t *testing.T) { w.worksOn(t, s, "shared", false) })
			t.Run("refused", func(t *testing.T) { refusesClient(t, w, o.wrong) })
		})
	}
}

func byPassword(c *cluster, mechanism, user, password string) struct{ right, wrong kafka.Options } {
	options := func(password string) kafka.Options {
		return kafka.Options{
			Brokers: c.sasl, TLS: &tls.Config{RootCAs: c.authorities},
			SASL: &kafka.SASL{Mechanism: mechanism, User: user, Password: password},
		}
	}
	return struct{ right, wrong kafka.Options }{options(password), options("guess")}
}

// worksOn sends records to a channel and handles them, and rejects some.
func (w *world) worksOn(t *testing.T, b *kafka.Backend, channel string, transforms bool) {
	t.Helper()
	const records = 200
	o := &godwit.ConsumerOptions{Concurrency: 20, Logger: quiet()}
	consumer, err := godwit.NewConsumer(t.Context(), b, channel, o)
	if err != nil {
		t.Fatal(err)
	}
	producer, err := godwit.NewProducer(t.Context(), b, channel, nil)
	if err != nil {
		t.Fatal(err)
	}
	var handled, rejected atomic.Int64
	do := func(_ context.Context, d *godwit.Delivery) error {
		if number(d)%50 == 7 {
			rejected.Add(1)
			return godwit.Permanent(errOfTest)
		}
		handled.Add(1)
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	if transforms {
		results, err := godwit.NewProducer(t.Context(), b, results, nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := godwit.Transform(ctx, consumer, results,
				func(ctx context.Context, d *godwit.Delivery) ([]godwit.Message, error) {
					return []godwit.Message{{Body: d.Body}}, do(ctx, d)
				})
			ended <- err
		}()
	} else {
		go func() {
			_, err := consumer.Run(ctx, do)
			ended <- err
		}()
	}
	for n := range records {
		if err := producer.Send(t.Context(), godwit.Message{Body: []byte(strconv.Itoa(n))}); err != nil {
			t.Fatal(err)
		}
	}
	w.eventually(time.Minute, "all records handled", func() bool { return handled.Load()+rejected.Load() >= records })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	letters := len(w.readCommitted(w.ns + "." + channel + "." + w.ns + "." + channel + ".dlq"))
	if n := int(rejected.Load()); n != letters || handled.Load()+int64(n) != records {
		t.Errorf("%d handled and %d rejected of %d, with %d dead letters", handled.Load(), n, records, letters)
	}
	if transforms {
		if n := len(w.readCommitted(w.ns + "." + results)); n != int(handled.Load()) {
			t.Errorf("%d results of %d records", n, handled.Load())
		}
	}
}

// refusesClient expects that the brokers refuse a client, for which repeating is no use.
func refusesClient(t *testing.T, w *world, o kafka.Options) {
	t.Helper()
	o.Logger = quiet()
	b, err := kafka.Open(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close(b)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err = b.Ensure(ctx, driver.ChannelSpec{Channel: driver.Channel{Queue: "refused"}, Owner: true})
	if err == nil || driver.ClassOf(err) != driver.Denied {
		t.Errorf("wrong credentials: %v (%v), want that they are denied", err, driver.ClassOf(err))
	}
}

// fetched counts the bytes of records, by broker.
type fetched struct {
	mu    sync.Mutex
	bytes map[int32]int
}

func (f *fetched) OnBrokerRead(m kgo.BrokerMetadata, key int16, n int, _, _ time.Duration, err error) {
	if key == int16(kmsg.Fetch) && err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.bytes[m.NodeID] += n
	}
}

// readsNearby shows that a consumer with a rack reads from the replica of its rack, and one without from the leader.
func readsNearby(t *testing.T, c *cluster) {
	w := c.world(t)
	w.create(1)
	var leader int32
	w.eventually(30*time.Second, "the brokers know the topic", func() bool {
		all := w.partitions()
		if len(all) > 0 {
			leader = all[0].Leader
		}
		return len(all) > 0 && leader > 0
	})
	for from, rack := range []string{"", "rack-1", "rack-2", "rack-3"} {
		if rack == "" {
			from = int(leader)
		}
		w.fill(2000, 100)
		f := &fetched{bytes: map[int32]int{}}
		o := kafka.Options{Rack: rack, Client: []kgo.Opt{kgo.WithHooks(f)}}
		var handled atomic.Int64
		p := w.start(o, godwit.ConsumerOptions{Concurrency: 20}, func(context.Context, *godwit.Delivery) error {
			handled.Add(1)
			return nil
		})
		w.eventually(time.Minute, "the records are handled", func() bool { return handled.Load() >= 2000 })
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		all := 0
		f.mu.Lock()
		for _, n := range f.bytes {
			all += n
		}
		t.Logf("rack %q, leader %d: bytes by broker %v", rack, leader, f.bytes)
		if near := f.bytes[int32(from)]; near < all*9/10 {
			t.Errorf("rack %q: %d of %d bytes are from broker %d", rack, near, all, from)
		}
		f.mu.Unlock()
	}
}

// brokersLost is how many brokers are lost, one after the other.
func brokersLost() int {
	if testing.Short() {
		return 1
	}
	return 3
}

// losesBrokers kills one broker after the other while records are sent and handled. No accepted record is lost.
func losesBrokers(t *testing.T, c *cluster) {
	w := c.world(t)
	const every = 2 * time.Millisecond // a record
	o := kafka.Options{
		ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark, Tiers: []time.Duration{time.Second}},
		SessionTimeout: 10 * time.Second,
	}
	w.create(12)
	w.ensure(o)
	j := newJournal(1 << 20)
	var newest atomic.Int64
	work := noting(j, func(ctx context.Context, d *godwit.Delivery) error {
		newest.Store(max(newest.Load(), int64(number(d))))
		if number(d)%991 == 13 && d.Attempt == 1 {
			return godwit.RetryAfter(time.Second, errOfTest)
		}
		return nap(ctx, 5*time.Millisecond)
	})
	for range 2 {
		w.start(o, godwit.ConsumerOptions{Concurrency: 20}, work)
	}
	patient := o
	patient.Client = []kgo.Opt{kgo.RecordDeliveryTimeout(2 * time.Minute)}
	stop := w.traffic(patient, every)
	w.eventually(time.Minute, "traffic", func() bool { return newest.Load() > 500 })
	for node := 1; node <= brokersLost(); node++ {
		began := time.Now()
		moved := c.lose(w, node)
		now := newest.Load()
		w.eventually(time.Minute, "records are sent and handled with two brokers",
			func() bool { return newest.Load() > now+500 })
		t.Logf("broker %d lost: %d leaders moved, and 500 further records handled, after %v", node, moved,
			time.Since(began).Round(time.Millisecond))
		if moved == 0 {
			t.Errorf("broker %d led no partition", node)
		}
		c.restore(w, node)
	}
	accepted, errs := stop()
	for _, err := range errs {
		t.Error(err)
	}
	var missing []int
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if missing = j.unhandled(accepted); missing == nil {
			break
		}
	}
	if len(missing) > 0 {
		t.Errorf("%d of %d accepted records are not handled: %v", len(missing), len(accepted), missing)
	}
	for _, p := range w.started {
		if _, err := p.stop(); err != nil && !errors.As(err, new(*driver.UnsettledError)) {
			t.Error(err)
		}
	}
	records, handlings := j.count()
	t.Logf("%d records, %d accepted, lost 0, %d handled again", records, len(accepted), handlings-records)
}

// losesBrokersInTransactions does the same while records are transformed: each result is there once.
func losesBrokersInTransactions(t *testing.T, c *cluster, o kafka.Options) {
	w := c.world(t)
	node := 0
	start := func(o kafka.Options, k *work) *process {
		k.longest = time.Duration(brokersLost()) * 300 * time.Millisecond // so that all are lost before the end
		return w.transform(o, k)
	}
	missing, again, late := transforms(t, w, o, start, func(*rand.Rand, *[]*process) {
		if node++; node <= brokersLost() {
			t.Logf("broker %d lost: %d leaders moved", node, c.lose(w, node))
			c.restore(w, node)
		}
	})
	if missing+again+late > 0 || node < brokersLost() {
		t.Errorf("%d results are missing, %d too many, %d out of order, after the loss of %d brokers", missing, again,
			late, min(node, brokersLost()))
	}
}

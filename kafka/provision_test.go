//go:build synctests

package kafka_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// Topics are created as the options say. Dead letters and tiers have as many partitions, and a longer retention.
func TestTopicsAsWished(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{
			Namespace: "prod",
			ChannelOptions: kafka.ChannelOptions{
				Partitions: 3, Retention: 24 * time.Hour, Compression: "zstd", Tiers: []time.Duration{time.Minute},
				TopicConfig: map[string]string{"cleanup.policy": "compact,delete"},
			},
			Replication: 1,
			Channels:    map[string]kafka.ChannelOptions{"wishes.*": {Retries: kafka.RetryPark, Partitions: 5}},
		}
		b := w.backend(o)
		audit := driver.Channel{Exchange: "wishes", Queue: "audit"}
		if err := b.Ensure(w.Context(), driver.ChannelSpec{Channel: audit, Owner: true}); err != nil {
			w.Fatal(err)
		}
		all, err := w.admin.ListTopics(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		names := all.Names()
		slices.Sort(names)
		if want := []string{
			"prod.wishes", "prod.wishes.prod.wishes.audit.dlq",
			"prod.wishes.prod.wishes.audit.retry.1m",
		}; !slices.Equal(names, want) {
			w.Errorf("topics %q, want %q", names, want)
		}
		for _, name := range names {
			if n := len(all[name].Partitions); n != 5 {
				w.Errorf("%s has %d partitions, want 5", name, n)
			}
		}
		for topic, want := range map[string]map[string]string{
			names[0]: {"retention.ms": "86400000", "compression.type": "zstd", "cleanup.policy": "compact,delete"},
			names[1]: {"retention.ms": "1209600000", "cleanup.policy": "delete"},
			names[2]: {"retention.ms": "1209600000", "cleanup.policy": "delete"},
		} {
			for key, value := range want {
				if got := w.config(topic, key); got != value {
					w.Errorf("%s has %s %q, want %q", topic, key, got, value)
				}
			}
		}
	})
}

// An owner corrects differences, Verify reports them, a producer ignores them, and the number of partitions never
// changes.
func TestTopicsThatDiffer(t *testing.T) {
	inWorld(t, func(w *world) {
		day, week := w.backend(kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Partitions: 2, Retention: 24 * time.Hour},
		}),
			w.backend(kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 4, Retention: 7 * 24 * time.Hour}})
		ensure := func(b *kafka.Backend, owner bool, mode driver.Mode) error {
			return b.Ensure(w.Context(), driver.ChannelSpec{
				Channel: orders, Owner: owner, Mode: mode,
				NoDeadLetters: true,
			})
		}
		if err := ensure(day, true, driver.Auto); err != nil {
			w.Fatal(err)
		}
		if err := ensure(week, true, driver.Verify); err == nil || !strings.Contains(err.Error(), "retention.ms") {
			w.Errorf("verify: %v, want what differs", err)
		}
		if err := ensure(week, false, driver.Auto); err != nil || w.config("orders", "retention.ms") != "86400000" {
			w.Errorf("a producer changed retention to %s, %v", w.config("orders", "retention.ms"), err)
		}
		if err := errors.Join(ensure(week, true, driver.Auto), ensure(week, true, driver.Verify)); err != nil {
			w.Error(err)
		}
		if got := w.config("orders", "retention.ms"); got != "604800000" {
			w.Errorf("the owner left retention at %s", got)
		}
		all, err := w.admin.ListTopics(w.Context(), "orders")
		if err != nil || len(all["orders"].Partitions) != 2 {
			w.Errorf("%d partitions, %v, want 2 still", len(all["orders"].Partitions), err)
		}
	})
}

// A retry that RetryBlock would never let happen is refused when the consumer is made, if the delays are known. Else
// the record is rejected once, with that reason.
func TestRetriesLongerThanMaxBlock(t *testing.T) {
	inWorld(t, func(w *world) {
		block, park := w.backend(kafka.Options{}), w.backend(kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark, Partitions: 1},
		})
		long := godwit.Steps(time.Second, 15*time.Minute)
		_, err := godwit.NewConsumer(w.Context(), block, "orders",
			&godwit.ConsumerOptions{MaxAttempts: 3, Backoff: long})
		if err == nil || !strings.Contains(err.Error(), "15m0s") || !strings.Contains(err.Error(), "MaxBlock") {
			t.Errorf("a retry after 15 min: %v", err)
		}
		for name, c := range map[string]struct {
			b *kafka.Backend
			o godwit.ConsumerOptions
		}{
			"the second retry does not happen": {block, godwit.ConsumerOptions{MaxAttempts: 2, Backoff: long}},
			"it waits in a tier":               {park, godwit.ConsumerOptions{MaxAttempts: 3, Backoff: long}},
			"the delays are random":            {block, godwit.ConsumerOptions{MaxAttempts: 30}},
		} {
			if _, err := godwit.NewConsumer(w.Context(), c.b, "orders", &c.o); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		var reasons []error
		c, err := godwit.NewConsumer(w.Context(), block, "orders", &godwit.ConsumerOptions{
			Policy: func(*godwit.Delivery, error) godwit.Verdict {
				return godwit.Verdict{Action: godwit.ActionRetry, After: 15 * time.Minute}
			},
			Hooks: godwit.Hooks{Rejected: func(_ *godwit.Delivery, err error) { reasons = append(reasons, err) }},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.send(0, "a")
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		_, err = c.Run(ctx, func(context.Context, *godwit.Delivery) error { return errors.New("no") })
		if err != nil {
			t.Error(err)
		}
		if len(reasons) != 1 || !strings.Contains(reasons[0].Error(), "10m0s") {
			t.Errorf("rejected because of %v, want one reason that names 10 min", reasons)
		}
	})
}

// backend opens a backend of its own.
func (w *world) backend(o kafka.Options) *kafka.Backend {
	w.Helper()
	o.Brokers = w.cluster.ListenAddrs()
	o.Client = append(o.Client, kgo.Dialer(w.network.DialContext))
	b, err := kafka.Open(w.Context(), &o)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = b.Close(context.Background()) })
	return b
}

// config is one setting of a topic.
func (w *world) config(topic, key string) string {
	w.Helper()
	all, err := w.admin.DescribeTopicConfigs(w.Context(), topic)
	if err != nil {
		w.Fatal(err)
	}
	i := slices.IndexFunc(all[0].Configs, func(c kadm.Config) bool { return c.Key == key })
	if i < 0 || all[0].Configs[i].Value == nil {
		return ""
	}
	return *all[0].Configs[i].Value
}

// One broker learns of a new topic later than the others. A sender that is opened after the topic was created succeeds,
// whichever broker it asks.
func TestANewTopicIsKnownToAllBrokers(t *testing.T) {
	inWorldOf(t, 3, func(w *world) {
		b := w.backend(kafka.Options{})
		knows := time.Now().Add(3 * time.Second)
		w.cluster.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
			w.cluster.KeepControl()
			m := req.(*kmsg.MetadataRequest)
			if w.cluster.CurrentNode() != 1 || time.Now().After(knows) || len(m.Topics) == 0 {
				return nil, nil, false
			}
			resp := m.ResponseKind().(*kmsg.MetadataResponse)
			for node, addr := range w.cluster.ListenAddrs() {
				host, port, _ := strings.Cut(addr, ":")
				n, _ := strconv.Atoi(port)
				resp.Brokers = append(resp.Brokers, kmsg.MetadataResponseBroker{
					NodeID: int32(node), Host: host, Port: int32(n),
				})
			}
			for _, one := range m.Topics {
				t := kmsg.NewMetadataResponseTopic()
				t.Topic, t.ErrorCode = one.Topic, kerr.UnknownTopicOrPartition.Code
				resp.Topics = append(resp.Topics, t)
			}
			return resp, nil, true
		})
		for n := range 10 {
			ch := driver.Channel{Queue: "new" + strconv.Itoa(n)}
			knows = time.Now().Add(3 * time.Second)
			if err := b.Ensure(w.Context(), driver.ChannelSpec{Channel: ch}); err != nil {
				w.Fatal(err)
			}
			for range 10 { // each request goes to another broker
				if _, err := b.Sender(w.Context(), ch); err != nil {
					w.Fatal(err)
				}
			}
		}
	})
}

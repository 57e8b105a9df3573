//go:build synctests

package kafka_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// Topics are created as the options say. Dead letters and tiers have as many partitions, and a longer retention.
func TestTopicsAsWished(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{
			Namespace: "prod", Partitions: 3, Replication: 1, Retention: 24 * time.Hour,
			Compression: "zstd", Tiers: []time.Duration{time.Minute},
			TopicConfig: map[string]string{"cleanup.policy": "compact,delete"},
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
		day, week := w.backend(kafka.Options{Partitions: 2, Retention: 24 * time.Hour}),
			w.backend(kafka.Options{Partitions: 4, Retention: 7 * 24 * time.Hour})
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

package declared_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/cmd/godwit/internal/declared"
	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/local/kafkalocal"
	"github.com/godwitmq/godwit/topology"
	"github.com/godwitmq/godwit/topology/onkafka"
)

// settings are values of a topic's settings, of which a change is planned under the name of the setting.
var settings = map[string][]string{
	"max.message.bytes": {"2000000", "3000000"}, "segment.bytes": {"1048576", "2097152"},
	"cleanup.policy": {"delete", "compact"}, "min.insync.replicas": {"1", "2"},
}

// random is a declaration for Kafka.
func random(r *rand.Rand) *topology.Spec {
	s := &topology.Spec{
		Namespace: []string{"", "prod"}[r.IntN(2)], Exchanges: map[string]topology.Exchange{},
		Channels: map[string]topology.Channel{},
	}
	s.Kafka.Partitions, s.Kafka.Retention = 1+r.IntN(3), time.Duration(r.IntN(3))*24*time.Hour
	topic := func() (k topology.ChannelKafka) {
		k.Partitions, k.Retention = r.IntN(5), time.Duration(r.IntN(2))*time.Hour
		for _, name := range slices.Sorted(maps.Keys(settings)) {
			if r.IntN(2) == 0 {
				if k.Config == nil {
					k.Config = map[string]string{}
				}
				k.Config[name] = settings[name][r.IntN(2)]
			}
		}
		return k
	}
	s.Exchanges["e"] = topology.Exchange{Ordered: r.IntN(2) == 0, Kafka: topic()}
	for i := range 1 + r.IntN(3) {
		c := topology.Channel{NoDeadLetters: r.IntN(3) == 0, Retention: time.Duration(r.IntN(2)) * 2 * time.Hour}
		if r.IntN(2) == 0 {
			c.Ordered = s.Exchanges["e"].Ordered
			s.Channels[fmt.Sprintf("e.c%d", i)] = c
			continue
		}
		if c.Kafka = topic(); r.IntN(2) == 0 {
			c.Kafka.Tiers = []time.Duration{time.Minute, time.Hour}[:1+r.IntN(2)]
			c.Kafka.Retries = []string{"park", "alone"}[r.IntN(2)]
		}
		s.Channels[fmt.Sprintf("c%d", i)] = c
	}
	return s
}

// change changes one setting of a topic, and returns whose and which; "": none.
func change(r *rand.Rand, s *topology.Spec) (channel, setting string) {
	one := func(k *topology.ChannelKafka) string {
		for _, name := range slices.Sorted(maps.Keys(settings)) {
			values := settings[name]
			if i := slices.Index(values, k.Config[name]); i >= 0 && r.IntN(2) == 0 {
				k.Config[name] = values[1-i]
				return name
			}
		}
		if k.Partitions == 0 {
			return ""
		}
		k.Partitions++
		return "partitions"
	}
	for _, name := range s.ChannelNames() {
		if c := s.Channels[name]; c.Kafka.Config != nil && r.IntN(2) == 0 {
			setting = one(&c.Kafka)
			s.Channels[name] = c
			return name, setting
		}
	}
	e := s.Exchanges["e"]
	setting = one(&e.Kafka)
	s.Exchanges["e"] = e
	return "e.*", setting
}

// More replicas than there are brokers are a mistake at its place in the file, found before anything is made.
func TestTooManyReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := kafkalocal.Open(t.Context(), &kafkalocal.Options{Kafka: &kafka.Options{Replication: 9}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = b.Close(context.Background()) }()
		name := write(t, "channels: {orders: {}}\nkafka:\n  partitions: 1\n  replication: 9\n")
		f, err := declared.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		for what, do := range map[string]func() error{
			"plan":  func() error { _, err := topology.Plan(t.Context(), b, f.Spec); return err },
			"apply": func() error { _, err := topology.Apply(t.Context(), b, f.Spec, nil); return err },
		} {
			err := f.Locate(do())
			want := name + ":4:3: kafka.replication: more replicas than brokers"
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if all, err := b.Catalog(t.Context()); err != nil || len(all) > 0 {
			t.Errorf("there are %+v, %v", all, err)
		}
	})
}

// A random declaration is written, read and applied to Kafka with the options that the file says, and its plan is
// empty. After one setting of a topic is changed, the plan names only that, of the topic and of those beside it, and
// after it is applied it is empty again. Settings that the file does not name stay as they are. What is imported plans
// as the same, with the options that the imported file says.
func TestRoundTripOnKafka(t *testing.T) {
	for seed := range uint64(fullrun.Pick(10, 500)) {
		synctest.Test(t, func(t *testing.T) {
			server, err := kafkalocal.NewServer(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = server.Close() }()
			r := rand.New(rand.NewPCG(seed, 1))
			s := random(r)
			do := func(s *topology.Spec, f func(ctx context.Context, b *kafka.Backend, s *topology.Spec) error) {
				t.Helper()
				file, err := declared.Read(write(t, string(topology.Format(s))))
				if err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, topology.Format(s))
				}
				o := onkafka.Options(file.Spec)
				o.Brokers, o.Client = []string{server.Addr()}, server.Reach()
				o.Logger = slog.New(slog.DiscardHandler)
				b, err := kafka.Open(t.Context(), o)
				if err == nil {
					err = f(t.Context(), b, file.Spec)
				}
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if err := b.Close(context.Background()); err != nil {
					t.Error(err)
				}
			}
			apply := func(ctx context.Context, b *kafka.Backend, s *topology.Spec) error {
				if _, err := topology.Apply(ctx, b, s, nil); err != nil {
					return err
				}
				c, err := topology.Plan(ctx, b, s)
				if err == nil && (len(c.Steps) > 0 || c.Same != len(s.Channels)+len(s.Exchanges)) {
					t.Errorf("seed %d, applied: %d are the same, %+v", seed, c.Same, c.Steps)
				}
				return err
			}
			do(s, apply)
			var imported *topology.Spec
			bare := &topology.Spec{Namespace: s.Namespace}
			do(bare, func(ctx context.Context, b *kafka.Backend, _ *topology.Spec) (err error) {
				imported, err = topology.Import(ctx, b, "", s.Namespace)
				return err
			})
			for name, c := range s.Channels {
				got, there := imported.Channels[name]
				if queue := name[0] == 'c'; queue && (!there || got.Kafka.Partitions == 0 ||
					!slices.Equal(got.Kafka.Tiers, c.Kafka.Tiers) || got.NoDeadLetters != c.NoDeadLetters) {
					t.Errorf("seed %d: %s is imported as %+v", seed, name, got)
				}
			}
			do(imported, func(ctx context.Context, b *kafka.Backend, s *topology.Spec) error {
				c, err := topology.Plan(ctx, b, s)
				if err == nil && len(c.Steps) > 0 {
					t.Errorf("seed %d, imported: %+v\n%s", seed, c.Steps, topology.Format(s))
				}
				return err
			})
			channel, setting := change(r, s)
			if setting == "" {
				return
			}
			do(s, func(ctx context.Context, b *kafka.Backend, s *topology.Spec) error {
				c, err := topology.Plan(ctx, b, s)
				if err != nil {
					return err
				}
				if len(c.Steps) == 0 {
					t.Errorf("seed %d, %s of %s: the plan is empty", seed, setting, channel)
				}
				for _, step := range c.Steps {
					if step.Kind != topology.StepChange || step.Attribute != setting {
						t.Errorf("seed %d, %s of %s: %+v", seed, setting, channel, step)
					}
				}
				return apply(ctx, b, s)
			})
		})
		if t.Failed() {
			return
		}
	}
}

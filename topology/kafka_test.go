package topology_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/local/kafkalocal"
	"github.com/godwitmq/godwit/topology"
)

// On Kafka a declaration is applied, and its plan is empty. A change of the retention is named, and nothing is an
// orphan, because topics have no tags.
func TestRoundTripOnKafka(t *testing.T) {
	b, err := kafkalocal.Open(t.Context(), &kafkalocal.Options{
		Kafka: &kafka.Options{
			Namespace:      "prod",
			ChannelOptions: kafka.ChannelOptions{Partitions: 2},
			Logger:         slog.New(slog.DiscardHandler),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	s := &topology.Spec{
		Exchanges: map[string]topology.Exchange{"wishes": {}},
		Channels:  map[string]topology.Channel{"orders": {Retention: time.Hour}, "wishes.mobile": {MaxAttempts: 1}},
	}
	plan := func() *topology.Changes {
		t.Helper()
		c, err := topology.Plan(t.Context(), b, s)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	apply := func() {
		t.Helper()
		if _, err := topology.Apply(t.Context(), b, s, nil); err != nil {
			t.Fatal(err)
		}
		if c := plan(); c.Drift() || c.Same != len(s.Channels)+len(s.Exchanges) {
			t.Errorf("after an apply: %d the same, %+v", c.Same, c.Steps)
		}
	}
	if c := plan(); len(c.Steps) != 4 {
		t.Errorf("the first plan: %+v", c.Steps)
	}
	apply()
	s.Channels["orders"] = topology.Channel{Retention: 2 * time.Hour}
	if c := plan(); len(c.Steps) != 1 || c.Steps[0].Attribute != "retention.ms" || c.Steps[0].To != "7200000" {
		t.Errorf("another retention: %+v", c.Steps)
	}
	apply()
	delete(s.Channels, "wishes.mobile")
	if c := plan(); c.Drift() {
		t.Errorf("a channel is not declared any more: %+v", c.Steps)
	}
	if _, err := topology.Adopt(t.Context(), b, s, true); err == nil {
		t.Error("topics are adopted")
	}
	all, err := topology.Destroy(t.Context(), b, s, &topology.DestroyOptions{
		Delete: true, Untagged: []string{"orders", "orders@dlq", "wishes.mobile"},
	})
	if err != nil || len(all) != 2 {
		t.Errorf("destroyed: %+v, %v", all, err)
	}
}

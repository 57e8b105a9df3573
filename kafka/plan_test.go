//go:build synctests

package kafka_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// Partitions grow, with a warning about keys, and never shrink. Settings differ only where they are set.
func TestPlan(t *testing.T) {
	inWorld(t, func(w *world) {
		s := driver.ChannelSpec{Channel: driver.Channel{Queue: "orders"}, Owner: true, Mode: driver.Declare}
		tiers := []time.Duration{time.Minute}
		differ := func(o kafka.Options, want ...string) {
			w.Helper()
			o.Retries, o.Tiers = kafka.RetryPark, tiers
			b := w.backend(o)
			all, err := b.Operations().Plan(w.Context(), []driver.ChannelSpec{s})
			if err != nil {
				w.Fatal(err)
			}
			var got []string
			stays := false
			for _, d := range all {
				line := fmt.Sprintf("%s %s %s %s %s->%s", d.Kind, d.Resource, d.Name, d.Attribute, d.From, d.To)
				if d.Risk != "" {
					line += " RISK"
				}
				got = append(got, line)
				stays = stays || d.Kind == driver.DiffersBeyondChange
			}
			if diff := cmp.Diff(want, got); diff != "" {
				w.Errorf("(-want +got):\n%s", diff)
			}
			if stays {
				return
			}
			if err := b.Ensure(w.Context(), s); err != nil {
				w.Fatal(err)
			}
			if left, err := b.Operations().Plan(w.Context(), []driver.ChannelSpec{s}); err != nil || len(left) > 0 {
				w.Errorf("left: %+v, %v", left, err)
			}
		}
		differ(kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 2}},
			"create topic orders  ->2 partitions", "create dead letters orders.orders.dlq  ->2 partitions",
			"create tier orders.orders.retry.1m  ->2 partitions")
		differ(kafka.Options{})
		differ(kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 3}},
			"change topic orders partitions 2->3 RISK", "change tier orders.orders.retry.1m partitions 2->3")
		differ(kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Partitions: 1},
		}, "replace topic orders partitions 3->1 RISK")
		differ(kafka.Options{
			ChannelOptions: kafka.ChannelOptions{TopicConfig: map[string]string{"max.message.bytes": "2000000"}},
		},
			"change topic orders max.message.bytes 1048588->2000000",
			"change dead letters orders.orders.dlq max.message.bytes 1048588->2000000",
			"change tier orders.orders.retry.1m max.message.bytes 1048588->2000000")

		s.Channel.Queue = "new"
		_, err := w.backend(kafka.Options{Replication: 3}).Operations().Plan(w.Context(), []driver.ChannelSpec{s})
		if err == nil || !strings.Contains(err.Error(), "3 replicas") {
			w.Errorf("more replicas than brokers: %v", err)
		}
	})
}

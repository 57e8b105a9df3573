//go:build synctests

package telemetry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/local/kafkalocal"
	"github.com/godwitmq/godwit/telemetry"
)

// onKafka runs a test on the embedded Kafka. In virtual time its client needs the build tag.
func onKafka(t *testing.T, k *kafka.Options, o telemetry.Options, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b, err := kafkalocal.Open(t.Context(), &kafkalocal.Options{Kafka: k})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = b.Close(context.Background()) }()
		f(observed(t, b, o))
	})
}

// A record that fails twice and dies: its retry is held in its lane, or waits in a tier, another topic.
func TestTheTreeOfARecordThatDies(t *testing.T) {
	for name, parent := range map[string]bool{"links": false, "parent": true} {
		for wait, retries := range map[string]kafka.Retries{"held": kafka.RetryBlock, "tier": kafka.RetryPark} {
			t.Run(name+"-"+wait, func(t *testing.T) {
				onKafka(t, &kafka.Options{
					ChannelOptions: kafka.ChannelOptions{Retries: retries},
				}, telemetry.Options{Parent: parent}, func(w *world) {
					c := w.consumer("orders", &godwit.ConsumerOptions{
						MaxAttempts: 2, Backoff: godwit.Constant(time.Minute), SettleLinger: -1,
					})
					dead := w.consumer("orders@dlq", &godwit.ConsumerOptions{SettleLinger: -1})
					w.dies(w.producer("orders", nil), c, dead)
					golden(t, "kafka-"+name+"-"+wait+".txt", w.tree())
				})
			})
		}
	}
}

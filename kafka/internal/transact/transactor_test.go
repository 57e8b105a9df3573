//go:build synctests

package transact

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/kafka/internal/client"
)

// A transaction ends only after its client knows where it has sent records to: otherwise the client would abort it.
func TestPartitionsAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var network kfake.VirtualNetwork
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.ListenFn(network.Listen),
			kfake.SeedTopics(2, "orders"))
		if err != nil {
			t.Fatal(err)
		}
		defer cluster.Close()
		c, err := client.New([]kgo.Opt{
			kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.Dialer(network.DialContext),
			kgo.RecordPartitioner(kgo.ManualPartitioner()),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close(t.Context()) }()
		sent := []*kgo.Record{{Topic: "orders", Partition: 0}, {Topic: "orders", Partition: 1}}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := Known(ctx, c, sent); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without the partitions: %v, want the end of the context", err)
		}
		done := make(chan error, 1)
		go func() { done <- Known(t.Context(), c, sent) }()
		time.Sleep(time.Second)
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("without the partitions: %v", err)
		default:
		}
		if err := c.ProduceSync(t.Context(), &kgo.Record{Topic: "orders"}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

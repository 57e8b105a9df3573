//go:build synctests

package kafka_test

import (
	"testing"
	"testing/synctest"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/drivertest"
	"github.com/godwitmq/godwit/kafka"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The backend keeps every contract of the seam, on a broker in memory and in virtual time, in each way of ordering.
func TestDriver(t *testing.T) {
	for name, o := range map[string]kafka.Options{
		"key": {}, "partition": {Ordering: kafka.ByPartition}, "park": {Retries: kafka.Park}, "unordered": {Ordering: kafka.Unordered},
	} {
		t.Run(name, func(t *testing.T) {
			drivertest.Run(t, drivertest.Harness{
				Bubble: synctest.Test,
				Can: drivertest.Abilities{Ordered: name != "unordered" && name != "partition", Delays: name == "unordered", Retries: name == "unordered" || name == "park",
					DeadLetters: true, Provisions: true, Exchanges: true, Inspects: true, LongPolls: true},
				Open: func(t *testing.T) driver.Backend {
					return open(t, o)
				},
				Skip: skips(name),
			})
		})
	}
}

// skips are cases that are made for queues.
func skips(mode string) map[string]string {
	all := map[string]string{
		"order/duplicate":   "a log keeps what it is sent; de-duplication is the handler's",
		"send/badheader":    "any bytes travel as the value of a header",
		"exchange/kind":     "a topic has no kind: any group may read it, and so it is a queue and an exchange",
		"exchange/refilter": "members of one group share its partitions, also with one that does not poll",
	}
	if mode == "unordered" {
		all["exchange/delay"] = "where nothing is ordered, an exchange keeps delays too"
	}
	return all
}

// open starts a broker in memory and opens a backend on it.
func open(t *testing.T, o kafka.Options) *kafka.Backend {
	t.Helper()
	var network kfake.VirtualNetwork
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.ListenFn(network.Listen))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	o.Brokers = cluster.ListenAddrs()
	o.Client = append(o.Client, kgo.Dialer(network.DialContext))
	b, err := kafka.Open(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

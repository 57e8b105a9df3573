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
		"share": {Ordering: kafka.Unordered, Groups: kafka.Share},
	} {
		t.Run(name, func(t *testing.T) {
			drivertest.Run(t, drivertest.Harness{
				Bubble: synctest.Test,
				Can: drivertest.Abilities{Ordered: name == "key" || name == "park", Delays: o.Ordering == kafka.Unordered, Retries: o.Ordering == kafka.Unordered || name == "park", Leases: name == "share",
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
	if mode == "share" {
		all["lease/extend"] = "a lock is renewed by its own length, not by more"
		all["lease/superseded"] = "what is given back goes to any member, also one whose receiver nobody asks"
		all["lease/finished"] = all["lease/superseded"]
		all["receive/most"] = "a member takes the next records of its partitions when those before are settled"
		all["exchange/exclude"] = all["receive/most"]
		all["exchange/filter"] = all["receive/most"]
		all["settle/mixed"] = all["receive/most"]
		all["send/batch"] = all["receive/most"]
		all["settle/done"] = all["receive/most"]
		all["inspect/depth"] = "brokers do not tell what is in flight"
	}
	if mode == "unordered" || mode == "share" {
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

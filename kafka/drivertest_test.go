//go:build synctests

package kafka_test

import (
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/drivertest"
	"github.com/godwitmq/godwit/kafka"
)

// The backend passes the conformance kit of package driver, with each kind of ordering, in virtual time.
func TestDriver(t *testing.T) {
	for name, o := range modes() {
		t.Run(name, func(t *testing.T) {
			h := harness(name, o, open)
			h.Bubble = synctest.Test
			drivertest.Run(t, h)
		})
	}
}

// open starts a broker in memory and opens a backend on it.
func open(t testing.TB, o kafka.Options) driver.Backend {
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

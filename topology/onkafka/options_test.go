package onkafka_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/topology"
	"github.com/godwitmq/godwit/topology/onkafka"
)

const text = `
namespace: prod
kafka: {replication: 3, partitions: 6, tiers: [1m]}
exchanges:
  wishes: {topic: legacy-wishes, kafka: {partitions: 12}}
channels:
  orders: {queue: legacy, dead_letters: legacy-dead, kafka: {retries: park, ordering: key}}
  wishes.mobile: {kafka: {ordering: none}}
`

// A declaration says the settings of all topics and of each, and which existing topics its channels are.
func TestOptions(t *testing.T) {
	s, err := topology.Read("godwit.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := onkafka.Options(s)
	if diff := cmp.Diff(map[string]kafka.ChannelOptions{
		"orders":        {Retries: kafka.RetryPark, Ordering: kafka.OrderByKey},
		"wishes.*":      {Partitions: 12},
		"wishes.mobile": {Partitions: 12, Ordering: kafka.OrderNone},
	}, o.Channels); diff != "" {
		t.Errorf("channels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]kafka.Resource{
		"orders": {Topic: "legacy", DeadLetters: "legacy-dead"}, "wishes.*": {Topic: "legacy-wishes"},
	}, o.Names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if o.Replication != 3 || o.Partitions != 6 || !cmp.Equal(o.Tiers, []time.Duration{time.Minute}) ||
		o.Namespace != "prod" {
		t.Errorf("%+v", o)
	}
}

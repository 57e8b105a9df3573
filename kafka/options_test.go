package kafka

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
)

// For each field, a channel has its own value, or else the backend's, or else the default.
func TestAChannelsOptionsInherit(t *testing.T) {
	o := Options{
		Ordering: OrderNone, Retries: RetryPark, MaxBlock: time.Minute, Tiers: []time.Duration{time.Second},
		GroupProtocol: GroupConsumer,
		Partitions:    3, Retention: time.Hour, Compression: "zstd", TopicConfig: map[string]string{"a": "b"},
		Channels: map[string]ChannelOptions{
			"own": {
				Ordering: OrderByKey, Retries: RetryBlock, MaxBlock: time.Second, Tiers: []time.Duration{},
				GroupProtocol: GroupClassic,
				Partitions:    1, Retention: -1, Compression: "producer", TopicConfig: map[string]string{},
			},
			"nothing":      {},
			"events.*":     {Ordering: OrderByPartition},
			"events.audit": {Partitions: 5},
		},
	}
	shared := o.shared()
	byPartition, five := shared, shared
	byPartition.Ordering, five.Partitions = OrderByPartition, 5
	for _, c := range []struct {
		ch   driver.Channel
		want ChannelOptions
	}{
		{driver.Channel{Queue: "own"}, o.Channels["own"]},
		{driver.Channel{Queue: "own", DeadLetter: true, Ordered: true}, o.Channels["own"]},
		{driver.Channel{Queue: "nothing"}, shared},
		{driver.Channel{Queue: "unknown"}, shared},
		{driver.Channel{Exchange: "events", Queue: "mobile"}, byPartition},
		{driver.Channel{Exchange: "events", Queue: "audit"}, five},
	} {
		if diff := cmp.Diff(c.want, o.channel(c.ch)); diff != "" {
			t.Errorf("%s: %s", c.ch, diff)
		}
	}
	var none Options
	want := ChannelOptions{
		Ordering: OrderByKey, Retries: RetryBlock, MaxBlock: defaultMaxBlock, Tiers: defaultTiers,
		GroupProtocol: GroupClassic, Partitions: defaultPartitions,
	}
	if diff := cmp.Diff(want, none.channel(driver.Channel{Queue: "q"})); diff != "" {
		t.Error(diff)
	}
	none.Channels = map[string]ChannelOptions{"q": {Ordering: OrderNone}}
	if got := none.channel(driver.Channel{Queue: "q"}).Retries; got != RetryAlone {
		t.Errorf("on a channel without order, Retries is %d", got)
	}
}

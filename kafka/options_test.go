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
		NullKeys: NullKeysSpread, GroupProtocol: GroupConsumer,
		Partitions: 3, Retention: time.Hour, Compression: "zstd", TopicConfig: map[string]string{"a": "b"},
		Channels: map[string]ChannelOptions{
			"own": {
				Ordering: OrderByKey, Retries: RetryBlock, MaxBlock: time.Second, Tiers: []time.Duration{},
				NullKeys: NullKeysInOrder, GroupProtocol: GroupClassic,
				Partitions: 1, Retention: -1, Compression: "producer", TopicConfig: map[string]string{},
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
		NullKeys: NullKeysInOrder, GroupProtocol: GroupClassic, Partitions: defaultPartitions,
	}
	if diff := cmp.Diff(want, none.channel(driver.Channel{Queue: "q"})); diff != "" {
		t.Error(diff)
	}
	none.Channels = map[string]ChannelOptions{"q": {Ordering: OrderNone}}
	if got := none.channel(driver.Channel{Queue: "q"}).Retries; got != RetryAlone {
		t.Errorf("on a channel without order, Retries is %d", got)
	}
}

// A session timeout that the brokers would ignore is refused, and so are negative intervals.
func TestOptionsWithoutAnEffect(t *testing.T) {
	of := func(p GroupProtocol) Options {
		return Options{
			SessionTimeout: time.Second, GroupProtocol: GroupConsumer,
			Channels: map[string]ChannelOptions{"q": {GroupProtocol: p}},
		}
	}
	for name, c := range map[string]struct {
		o    Options
		good bool
	}{
		"the broker's":             {Options{SessionTimeout: time.Second, GroupProtocol: GroupConsumer}, false},
		"the broker's for all":     {of(GroupConsumer), false},
		"one channel is classic":   {of(GroupClassic), true},
		"classic":                  {Options{SessionTimeout: time.Second}, true},
		"a negative interval":      {Options{CommitInterval: -1}, false},
		"a negative number":        {Options{CommitRecords: -1}, false},
		"an unknown kind of keys":  {Options{NullKeys: NullKeysSpread + 1}, false},
		"without a timeout at all": {Options{GroupProtocol: GroupConsumer}, true},
	} {
		if err := c.o.check(); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

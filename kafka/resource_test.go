package kafka

import (
	"strings"
	"testing"

	"github.com/godwitmq/godwit/driver"
)

// A mapping that cannot be meant is an error of Open, which names both sides.
func TestImpossibleNames(t *testing.T) {
	for says, names := range map[string]map[string]Resource{
		`Names["orders@dlq"]: name the channel itself`:   {"orders@dlq": {Topic: "t"}},
		`Names["Shop.Orders.v1"]: it is not the name`:    {"Shop.Orders.v1": {Topic: "t"}},
		`Names["a b"]: it is not the name`:               {"a b": {Topic: "t"}},
		`Names["orders"]: it is empty`:                   {"orders": {}},
		`has a Topic only`:                               {"events.*": {Topic: "t", Group: "g"}},
		`set Topic of events.*`:                          {"events.mobile": {Topic: "t"}},
		`Topic and DeadLetters are both t`:               {"orders": {Topic: "t", DeadLetters: "t"}},
		`Topic is "a/b", which is no name of a topic`:    {"orders": {Topic: "a/b"}},
		`DeadLetters is "..", which is no name`:          {"orders": {DeadLetters: ".."}},
		`Topic is "ä"`:                                   {"orders": {Topic: "ä"}},
		`channels invoices and orders are both group g`:  {"orders": {"t", "g", ""}, "invoices": {"t", "g", ""}},
		`channels events.a and events.b are both`:        {"events.a": {Group: "g"}, "events.b": {Group: "g"}},
		`both have their dead letters in topic d`:        {"orders": {"t", "", "d"}, "invoices": {"u", "", "d"}},
		`that of channel failed, and has the dead lette`: {"orders": {DeadLetters: "d"}, "failed": {Topic: "d"}},
	} {
		if _, err := Open(t.Context(), &Options{Names: names}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, want an error that says %q", names, err, says)
		}
	}
	for says, o := range map[string]Options{
		"Options.DeadLetterQueue takes all dead letters": {
			Names: map[string]Resource{"orders": {DeadLetters: "d"}}, DeadLetterQueue: &MemoryDeadLetters{},
		},
		`Channels["orders"].Partitions is 3`: {
			Names:    map[string]Resource{"orders": {Topic: "t"}},
			Channels: map[string]ChannelOptions{"orders": {Partitions: 3}},
		},
	} {
		if _, err := Open(t.Context(), &o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want an error that says %q", err, says)
		}
	}
}

// A channel that would share the records of a mapped one is refused before any request.
func TestChannelsBesideMappedOnes(t *testing.T) {
	b := newTestBackend(t, Options{Names: map[string]Resource{"orders": {Topic: "shop", Group: "shop"}}})
	_, err := b.Receiver(t.Context(), driver.Channel{Queue: "shop"}, driver.ReceiverOptions{})
	if driver.ClassOf(err) != driver.Permanent || err == nil || !strings.Contains(err.Error(), "orders") ||
		!strings.Contains(err.Error(), "shop") {
		t.Errorf("%v, want an error that names both channels", err)
	}
}

// Topics and groups may have any name that Kafka accepts, and telemetry has these names.
func TestTheAddressOfAMappedChannel(t *testing.T) {
	b := newTestBackend(t, Options{Namespace: "prod", Names: map[string]Resource{
		"orders": {Topic: "Shop.Orders_v1", Group: "billing service (eu)", DeadLetters: "Shop.Orders.DLT"},
	}})
	orders := driver.Channel{Queue: "orders"}
	letters := driver.Channel{Queue: "orders", DeadLetter: true}
	for ch, want := range map[driver.Channel]driver.Address{
		orders:  {System: "kafka", Destination: "Shop.Orders_v1", Group: "billing service (eu)"},
		letters: {System: "kafka", Destination: "Shop.Orders.DLT", Group: "prod.orders.dlq"},
	} {
		if got := b.Address(ch); got != want {
			t.Errorf("%s: %+v, want %+v", ch, got, want)
		}
	}
}

package kafka

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/records"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// Each kind of retries has its own limits: the core holds all retries, or those shorter than the first tier.
func TestLimitsOfEachKindOfRetries(t *testing.T) {
	tiers := []time.Duration{time.Second, time.Minute}
	orders := driver.Channel{Queue: "orders"}
	base := driver.ReceiveLimits{
		Batch: receiveMost, Window: records.Window, Polls: 1, Keeps: true, Handover: sessionTimeout,
	}
	block, alone := base, base
	block.HoldMax = time.Hour
	alone.RetryMin, alone.RetryMax, alone.Behind = time.Second, longestWait, driver.BehindGoesOn
	park := alone
	park.Behind = driver.BehindFollows
	small := block
	small.Batch, small.Window = 10, 10
	blocking := Options{ChannelOptions: ChannelOptions{MaxBlock: time.Hour}}
	noTiers := Options{
		ChannelOptions: ChannelOptions{Retries: RetryPark, Tiers: []time.Duration{}, MaxBlock: time.Hour},
	}
	parked := Options{ChannelOptions: ChannelOptions{Retries: RetryPark, MaxBlock: time.Hour}}
	for name, c := range map[string]struct {
		from   driver.Channel
		o      Options
		Window int
		want   driver.ReceiveLimits
	}{
		"block": {orders, blocking, 0, block},
		"alone": {orders, Options{
			ChannelOptions: ChannelOptions{Retries: RetryAlone, Tiers: tiers},
		}, 0, alone},
		"park": {orders, Options{ChannelOptions: ChannelOptions{Retries: RetryPark, Tiers: tiers}}, 0, park},
		"no order": {orders, Options{
			ChannelOptions: ChannelOptions{Ordering: OrderNone, Tiers: tiers},
		}, 0, alone},
		"few places":      {orders, blocking, 10, small},
		"without tiers":   {orders, noTiers, 0, block},
		"of dead letters": {driver.Channel{Queue: "orders", DeadLetter: true}, parked, 0, block},
	} {
		s := subscribe(newTestBackend(t, c.o), c.from, driver.ReceiverOptions{Window: c.Window}, toHandle, nil)
		if diff := cmp.Diff(c.want, s.limits()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Messages keep the order of their key across a retry only with RetryPark, and only if they have a key or the channel
// is ordered.
func TestParkedChannels(t *testing.T) {
	for _, c := range []struct {
		o       Options
		ordered bool
		key     string
		parks   bool
	}{
		{Options{ChannelOptions: ChannelOptions{Retries: RetryPark}}, false, "k", true},
		{Options{ChannelOptions: ChannelOptions{Retries: RetryPark}}, false, "", false},
		{Options{ChannelOptions: ChannelOptions{Retries: RetryPark}}, true, "", true},
		{Options{ChannelOptions: ChannelOptions{Retries: RetryPark, Ordering: OrderByPartition}}, false, "", true},
		{Options{ChannelOptions: ChannelOptions{Retries: RetryAlone}}, true, "k", false},
		{Options{}, true, "k", false},
	} {
		from := driver.Channel{Queue: "orders", Ordered: c.ordered}
		s := subscribe(newTestBackend(t, c.o), from, driver.ReceiverOptions{}, toHandle, nil)
		r := s.rules()
		if got := r.Keeps(&kgo.Record{Key: []byte(c.key)}); got != c.parks {
			t.Errorf("%+v, key %q: parks is %v, want %v", c.o, c.key, got, c.parks)
		}
		if got, want := r.Blocks, c.o.Retries == 0; got != want {
			t.Errorf("%+v: blocks is %v, want %v", c.o, got, want)
		}
	}
}

// A delivery's lane is its key, its partition, or none. A delivery out of a tier has the id of its original.
func TestTheLaneOfADelivery(t *testing.T) {
	r := &kgo.Record{Topic: "orders", Key: []byte("k")}
	wire.SetHeader(r, wire.HomeHeader, "orders/0/7")
	for ordering, want := range map[Ordering]driver.Delivery{
		OrderByKey: {OrderKey: "k"}, OrderByPartition: {OrderKey: "orders-3"}, OrderNone: {Tenant: "k"},
	} {
		for stay, id := range map[time.Duration]string{0: "here", time.Minute: "orders/0/7"} {
			s := subscribe(newTestBackend(t, Options{
				ChannelOptions: ChannelOptions{Ordering: ordering},
			}), driver.Channel{Queue: "orders"},
				driver.ReceiverOptions{}, toHandle, nil)
			got := driver.Delivery{ID: "here", OrderKey: "k"}
			s.fill(&got, "orders-3", r, stay > 0)
			if got.OrderKey != want.OrderKey || got.Tenant != want.Tenant || got.ID != id {
				t.Errorf("ordering %d, tier %v: the delivery is %+v", ordering, stay, got)
			}
		}
	}
}

// Transactions of two channels have different ids, also if both are mapped to one group: one would end the other's.
func TestTransactionsOfChannelsOfOneGroup(t *testing.T) {
	b := newTestBackend(t, Options{Namespace: "prod", InstanceID: "pod-1", Names: map[string]Resource{
		"orders": {Topic: "Shop.Orders", Group: "billing"}, "invoices": {Topic: "Shop.Invoices", Group: "billing"},
	}})
	for queue, want := range map[string]string{
		"orders": "prod.orders.transform.pod-1", "invoices": "prod.invoices.transform.pod-1",
		"mails": "prod.mails.transform.pod-1",
	} {
		s := subscribe(b, driver.Channel{Queue: queue}, driver.ReceiverOptions{}, toTransform, nil)
		if got := s.transactionalID(); got != want {
			t.Errorf("the id of %s is %s, want %s", queue, got, want)
		}
	}
}

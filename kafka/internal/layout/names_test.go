package layout

import (
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/part"
)

func TestNamesAreAsDocumented(t *testing.T) {
	orders := driver.Channel{Queue: "orders"}
	mobile := driver.Channel{Exchange: "wishlist_events", Queue: "mobile"}
	plain, prod := Names{}, Names{Namespace: "prod"}
	letters := mobile
	letters.DeadLetter = true
	for want, got := range map[string]string{
		"orders":                     plain.Topic(orders),
		"orders ":                    plain.Group(orders) + " ",
		"wishlist_events":            plain.Topic(mobile),
		"wishlist_events.mobile":     plain.Group(mobile),
		"wishlist_events.mobile.dlq": plain.Group(letters),
		"orders.orders.dlq":          plain.DeadLetters(orders),
		"wishlist_events.wishlist_events.mobile.dlq":  plain.DeadLetters(letters),
		"wishlist_events.wishlist_events.mobile.dlq ": plain.DeadLetters(mobile) + " ",
		"orders.later":                                         Later(plain, orders),
		"prod.wishlist_events.later":                           Later(prod, mobile),
		"orders.orders.retry.1m":                               plain.Tier(orders, time.Minute),
		"orders.orders.retry.90s":                              plain.Tier(orders, 90*time.Second),
		"orders.orders.retry.24h":                              plain.Tier(orders, 24*time.Hour),
		"orders.orders.retry.1500ms":                           plain.Tier(orders, 1500*time.Millisecond),
		"prod.orders":                                          prod.Topic(orders),
		"prod.wishlist_events.mobile":                          prod.Group(mobile),
		"prod.wishlist_events.prod.wishlist_events.mobile.dlq": prod.DeadLetters(mobile),
	} {
		if got != strings.TrimSpace(want) && got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// The topics of a namespace are its channels', their dead letters', tiers' and waiting messages', and no others.
func TestTopicsOfANamespace(t *testing.T) {
	channels := []driver.Channel{
		{Queue: "orders"}, {Exchange: "events", Queue: "mobile"}, {Exchange: "retry", Queue: "retry"},
	}
	spaces := []Names{{}, {Namespace: "prod"}, {Namespace: "retry"}}
	for _, n := range spaces {
		for _, ch := range channels {
			for _, topic := range []string{n.Topic(ch), n.DeadLetters(ch), n.Tier(ch, time.Minute), Later(n, ch)} {
				for _, other := range spaces {
					if got := other.Has(topic); got != (n.Namespace == other.Namespace) {
						t.Errorf("namespace %q has %s: %v", other.Namespace, topic, got)
					}
				}
			}
		}
	}
	for _, topic := range []string{
		"", "_schemas", "a.b", "orders.dlq", "orders.other.dlq", "orders.orders", "orders.orders.retry",
		"__consumer_offsets", "prod", "prod.", "prod..x", "orders.ordersx.mobile.retry.5s",
	} {
		if (Names{}).Has(topic) != (topic == "prod") || (Names{Namespace: "prod"}).Has(topic) {
			t.Errorf("%q is a topic of a channel", topic)
		}
	}
}

func TestNamesThatCannotBe(t *testing.T) {
	long := strings.Repeat("a", 120)
	for _, ch := range []driver.Channel{
		{},
		{Queue: "dlq"},
		{Queue: "a.b"},
		{Queue: "-a"},
		{Queue: "a_"},
		{Queue: "a--b"},
		{Queue: "ä"},
		{Queue: "a b"},
		{Exchange: "e", Queue: "dlq"},
		{Exchange: "e.f"},
		{Exchange: "dlq", Queue: "a"},
		{Queue: long},
		{Exchange: long, Queue: "q"},
		{Exchange: long + long + long},
	} {
		if err := (Names{}).Check(ch); err == nil {
			t.Errorf("channel %s was accepted", ch)
		}
	}
	for _, ch := range []driver.Channel{
		{Queue: "a"},
		{Queue: "retry"},
		{Exchange: "e"},
		{Exchange: "e", Queue: "q-1_2"},
		{Queue: long[:117]},
	} {
		if err := (Names{}).Check(ch); err != nil {
			t.Error(err)
		}
	}
}

// place is the channel of a topic, and the topic's purpose.
type place struct {
	ch   driver.Channel // in the channel's own topic: Exchange or Queue, as looked up
	tier time.Duration
}

// placeOf is the inverse of Topic, DeadLetters and Tier.
func placeOf(n Names, topic string) (p place, ok bool) {
	what := ""
	if rest, dead := strings.CutSuffix(topic, ".dlq"); dead {
		topic, p.ch.DeadLetter = rest, true
	} else {
		i := strings.LastIndex(topic, ".")
		if i < 0 {
			return p, false
		}
		rest, tiered := strings.CutSuffix(topic[:i], ".retry")
		d, err := time.ParseDuration(topic[i+1:])
		if !tiered || err != nil {
			return p, false
		}
		topic, what, p.tier = rest, topic[i+1:], d
	}
	parts := 1
	if n.Namespace != "" {
		parts = 2
	}
	all := strings.Split(topic, ".")
	if len(all) <= parts {
		return p, false
	}
	ch, ok := n.ChannelOf(strings.Join(all[:parts], "."), strings.Join(all[parts:], "."))
	ch.DeadLetter = p.ch.DeadLetter
	p.ch = ch
	return p, ok && n.Check(ch) == nil && (p.ch.DeadLetter && n.DeadLetters(ch)+what == topic+".dlq" || p.tier > 0 &&
		n.Tier(ch, p.tier) == topic+".retry."+what)
}

// Two channels never share a group, dead letters or a tier, and the name tells the channel.
func FuzzNames(f *testing.F) {
	f.Add("", "", "orders", int64(60))
	f.Add("prod", "wishlist_events", "retry", int64(5))
	f.Add("a", "retry", "retry", int64(3600))
	f.Fuzz(func(t *testing.T, space, exchange, queue string, seconds int64) {
		n, ch := Names{Namespace: space}, driver.Channel{Exchange: exchange, Queue: queue}
		if space != "" && !part.Legal(space) || queue == "" || n.Check(ch) != nil {
			return
		}
		if got, ok := n.ChannelOf(n.Topic(ch), n.Group(ch)); !ok || got != ch {
			t.Errorf("%s of %s is read as %s, %v", n.Group(ch), n.Topic(ch), got, ok)
		}
		d := time.Duration(1+seconds&0xffff) * time.Second
		if got, ok := placeOf(n, n.Tier(ch, d)); !ok || got != (place{ch, d}) {
			t.Errorf("%s is read as %+v, %v", n.Tier(ch, d), got, ok)
		}
		ch.DeadLetter = true
		if got, ok := placeOf(n, n.DeadLetters(ch)); !ok || got != (place{ch: ch}) {
			t.Errorf("%s is read as %+v, %v", n.DeadLetters(ch), got, ok)
		}
		for _, name := range []string{n.Topic(ch), n.DeadLetters(ch), n.Tier(ch, d)} {
			if len(name) > maxTopicName || strings.Trim(name,
				"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
				t.Errorf("Kafka would refuse %q", name)
			}
		}
	})
}

// ChannelOf returns only channels that have these names.
func FuzzChannelOf(f *testing.F) {
	f.Add("orders", "orders")
	f.Add("prod.wishlist_events", "prod.wishlist_events.mobile")
	f.Fuzz(func(t *testing.T, topic, group string) {
		ch, ok := Names{}.ChannelOf(topic, group)
		if !ok {
			return
		}
		space, _, spaced := strings.Cut(topic, ".")
		if !spaced {
			space = ""
		}
		if n := (Names{Namespace: space}); n.Topic(ch) != topic || n.Group(ch) != group {
			t.Errorf("%s, %s is read as %s, which is %s, %s", topic, group, ch, n.Topic(ch), n.Group(ch))
		}
	})
}

func TestStay(t *testing.T) {
	n := Names{Namespace: "prod"}
	ch := driver.Channel{Exchange: "news", Queue: "a"}
	for _, d := range []time.Duration{
		5 * time.Second, 90 * time.Second, 10 * time.Minute, time.Hour, 1500 * time.Millisecond,
	} {
		tier := n.Tier(ch, d)
		if got, ok := n.Stay(ch, tier); got != d || !ok {
			t.Errorf("%s is a tier of %v, %v", tier, got, ok)
		}
	}
	for _, other := range []string{
		"prod.news", "prod.news.prod.news.a.dlq", "prod.news.prod.news.b.retry.5s", "prod.news.prod.news.a.retry.",
		"prod.news.prod.news.a.retry.60s", "prod.news.prod.news.a.retry.5s.x", "prod.news.prod.news.a.retry.-5s",
	} {
		if got, ok := n.Stay(ch, other); ok {
			t.Errorf("%s is a tier of %v", other, got)
		}
	}
}

package layout

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
)

var (
	orders   = driver.Channel{Queue: "orders"}
	invoices = driver.Channel{Queue: "invoices"}
	events   = driver.Channel{Exchange: "events"}
	mobile   = driver.Channel{Exchange: "events", Queue: "mobile"}
	web      = driver.Channel{Exchange: "events", Queue: "web"}
)

// mapped are the names of a namespace in which a team has topics and groups of its own.
func mapped() Names {
	return Names{Namespace: "prod", Mapping: NewMapping("prod", map[driver.Channel]Place{
		orders:   {Topic: "Shop.Orders_v1", Group: "billing service", DeadLetters: "Shop.Orders.DLT"},
		invoices: {Group: "billing service"},
		events:   {Topic: "Shop.retry.Events"},
		mobile:   {Group: "mobile"},
	})}
}

// A mapped name is used as it is, whatever the namespace. Everything else has the name of its channel.
func TestMappedNames(t *testing.T) {
	n := mapped()
	letters, lettersOfMobile := orders, mobile
	letters.DeadLetter, lettersOfMobile.DeadLetter = true, true
	lettersOfInvoices := driver.Channel{Queue: "invoices", DeadLetter: true}
	ordered := orders
	ordered.Ordered = true
	const service = "prod.orders.prod.orders--billing_service--1881f398cd92"
	for _, c := range []struct{ what, got, want string }{
		{"topic", n.Topic(orders), "Shop.Orders_v1"},
		{"topic of an ordered channel", n.Topic(ordered), "Shop.Orders_v1"},
		{"group", n.Group(orders), "billing service"},
		{"dead letters", n.DeadLetters(orders), "Shop.Orders.DLT"},
		{"group of the dead letters", n.Group(letters), "prod.orders.dlq"},
		{"tier", n.Tier(orders, time.Minute), service + ".retry.1m"},
		{"group of the tiers", n.Retries(orders), service + ".retry"},
		{"member", n.Member(orders), "prod.orders"},
		{"topic beside a mapped group", n.Topic(invoices), "prod.invoices"},
		{"former tier", n.Former().Tier(orders, time.Minute), "prod.orders.prod.orders.retry.1m"},
		{
			"dead letters beside a mapped group", n.DeadLetters(invoices),
			"prod.invoices.prod.invoices--billing_service--1881f398cd92.dlq",
		},
		{"group of these dead letters", n.Group(lettersOfInvoices), "prod.invoices--billing_service--1881f398cd92.dlq"},
		{"topic of an exchange", n.Topic(events), "Shop.retry.Events"},
		{"topic of its channel", n.Topic(mobile), "Shop.retry.Events"},
		{"topic of another channel", n.Topic(web), "Shop.retry.Events"},
		{"mapped group of its channel", n.Group(mobile), "mobile"},
		{"group of another channel", n.Group(web), "prod.events.web"},
		{"dead letters of its channel", n.DeadLetters(lettersOfMobile), "prod.events.prod.events.mobile--mobile.dlq"},
		{"former dead letters", n.Former().DeadLetters(mobile), "prod.events.prod.events.mobile.dlq"},
		{"former group of them", n.Former().Group(lettersOfMobile), "prod.events.mobile.dlq"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.what, c.got, c.want)
		}
	}
	for _, ch := range []driver.Channel{orders, invoices, mobile, web, letters, lettersOfMobile} {
		if err := n.Check(ch); err != nil {
			t.Error(err)
		}
	}
}

// Names lead back to channels, with a mapping too, and nothing that is mapped counts as what its name looks like.
func TestNamesBackToChannels(t *testing.T) {
	n := mapped()
	for _, c := range []struct {
		topic, group string
		want         driver.Channel // none: the group is of another program
	}{
		{"Shop.Orders_v1", "billing service", orders},
		{"prod.invoices", "billing service", invoices},
		{"Shop.retry.Events", "mobile", mobile},
		{"Shop.retry.Events", "prod.events.web", web},
		{"Shop.retry.Events", "prod.events.mobile", driver.Channel{}},
		{"Shop.Orders_v1", "prod.orders", driver.Channel{}},
		{"prod.orders", "prod.orders", driver.Channel{}},
		{"Shop.Orders_v1", "shipping", driver.Channel{}},
		{"prod.mails", "prod.mails", driver.Channel{Queue: "mails"}},
	} {
		if got, ok := n.Reads(c.topic, c.group); got != c.want || ok != (c.want != driver.Channel{}) {
			t.Errorf("group %s reads topic %s as %s, %v", c.group, c.topic, got, ok)
		}
	}
	if ch, ok := n.ChannelOf("test.mails", "test.mails"); !ok || ch.Queue != "mails" {
		t.Errorf("the channel of another namespace is %s, %v", ch, ok)
	}
	for topic, want := range map[string][4]bool{ // follows, waits, has, is another's
		"Shop.Orders_v1":                   {false, false, true, true},
		"Shop.Orders.DLT":                  {true, false, true, true},
		"Shop.retry.Events":                {false, false, true, true},
		"prod.orders":                      {false, false, true, true},
		"prod.mails":                       {false, false, true, false},
		"prod.orders.prod.orders.retry.5s": {true, true, true, false},
		"prod.mails.prod.mails.dlq":        {true, false, true, false},
		"Shop.Payments":                    {false, false, false, false},
	} {
		got := [4]bool{n.Follows(topic), n.Waits(topic), n.Has(topic), n.IsOthers(topic)}
		if got != want {
			t.Errorf("%s: %v, want %v", topic, got, want)
		}
	}
}

// The records of a tier are from the topic that its channel is mapped to.
func TestTiersOfMappedChannels(t *testing.T) {
	n := mapped()
	for _, c := range []struct{ tier, group, want string }{
		{n.Tier(orders, time.Minute), "billing service", "Shop.Orders_v1"},
		{n.Tier(mobile, time.Minute), "mobile", "Shop.retry.Events"},
		{"prod.orders.prod.orders.retry.5s", "billing service", "Shop.Orders_v1"},
		{"prod.invoices.prod.invoices.retry.5s", "billing service", "prod.invoices"},
		{"prod.events.prod.events.mobile.retry.5s", "mobile", "Shop.retry.Events"},
		{"prod.events.prod.events.web.retry.5s", "prod.events.web", "Shop.retry.Events"},
		{"prod.mails.prod.mails.retry.5s", "prod.mails", "prod.mails"},
		{"test.mails.test.mails.retry.5s", "test.mails", "test.mails"},
		{"Shop.retry.Events", "mobile", ""},
	} {
		if got, ok := n.Origin(c.tier, c.group); ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%s of group %s: %s, %v, want %s", c.tier, c.group, got, ok, c.want)
		}
	}
	before := n.Former()
	tier, old := n.Tier(orders, time.Hour), "prod.orders.prod.orders.retry.7s"
	is := func(n Names, topic string) bool {
		_, is := n.Stay(orders, topic)
		return is
	}
	if !is(before, old) || is(n, old) || !is(n, tier) || is(before, tier) || is(n, n.Tier(invoices, time.Hour)) {
		t.Error("the tiers of a channel are not known by their names")
	}
}

// Groups of any name have tiers and dead letters of their own on a channel, with names that Kafka accepts. The names
// tell that they are a channel's, also to a program that does not map it, and are nobody else's.
func TestNamesOfGroups(t *testing.T) {
	long := strings.Repeat("group", 50)
	groups := []string{
		"", "audit", "audit.v1", "audit_v1", "audit v1", "audit-v1", "audit--v1", "audit/v1", "Prüfung", "x.dlq",
		"x.retry.5s", ".", "-", "--", "a--", "orders.dlq", "events.web", long, long + "2",
		"audit--" + strings.Repeat("0", 12), "\xff",
	}
	for _, space := range []string{"", "prod"} {
		plain := Names{Namespace: space}
		seen := map[string]string{}
		for _, ch := range []driver.Channel{orders, mobile} {
			for _, group := range groups {
				n := Names{Namespace: space, Mapping: NewMapping(space, map[driver.Channel]Place{ch: {Group: group}})}
				if err := n.Check(ch); err != nil || n.Mapping.Apart(ch) != (group != "") {
					t.Errorf("group %q: apart: %v, %v", group, n.Mapping.Apart(ch), err)
				}
				dead, tier := n.DeadLetters(ch), n.Tier(ch, 5*time.Second)
				letters := ch
				letters.DeadLetter = true
				for _, name := range []string{dead, tier, n.Retries(ch), n.Group(letters)} {
					if other, twice := seen[name]; twice {
						t.Errorf("groups %q and %q both have %s", other, group, name)
					}
					seen[name] = group
				}
				for _, topic := range []string{dead, tier} {
					foreign := func(c rune) bool { return !inTopics(c) }
					if len(topic) > maxTopicName || strings.ContainsFunc(topic, foreign) {
						t.Errorf("Kafka would refuse %q", topic)
					}
					if !plain.Has(topic) || !n.Has(topic) || (Names{Namespace: "test"}).Has(topic) ||
						!n.Follows(topic) || n.Waits(topic) != (topic == tier) {
						t.Errorf("%s is not known for what it is", topic)
					}
					if of, is := plain.LettersOf(topic); is != (group == "" && topic == dead) {
						t.Errorf("%s is taken for %s by a program that does not map it", topic, of)
					}
				}
				if d, is := n.Stay(ch, tier); !is || d != 5*time.Second {
					t.Errorf("records stay in a tier of group %q for %v", group, d)
				}
			}
		}
	}
}

// What is mapped is not removed. A channel that would get the records of a mapped one is refused.
func TestMappedChannelsAndOthers(t *testing.T) {
	n := mapped()
	letters, lettersOfMobile := orders, mobile
	letters.DeadLetter, lettersOfMobile.DeadLetter = true, true
	for ch, want := range map[driver.Channel]bool{
		orders: true, letters: true, invoices: true, events: true, mobile: true, lettersOfMobile: false, web: false,
	} {
		if got := n.Mapping.Keeps(ch); got != want {
			t.Errorf("%s is kept: %v", ch, got)
		}
	}
	if diff := cmp.Diff([]driver.Channel{events, mobile, invoices, orders}, n.Mapping.Channels()); diff != "" {
		t.Error(diff)
	}
	plain := Names{Mapping: NewMapping("", map[driver.Channel]Place{
		orders: {Topic: "shop", Group: "shop"}, events: {Topic: "all-events"}, invoices: {DeadLetters: "letters"},
	})}
	for ch, want := range map[driver.Channel]string{
		{Queue: "shop"}:                      "both be group shop of topic shop",
		{Queue: "events"}:                    "events.* is, to topic all-events",
		{Exchange: "orders", Queue: "audit"}: "map orders.* as well",
		{Exchange: "orders"}:                 "map orders.* as well",
		{Queue: "letters"}:                   "read it as invoices@dlq",
		{Queue: "mails"}:                     "",
		{Exchange: "shop", Queue: "audit"}:   "",
		orders:                               "",
		mobile:                               "",
	} {
		err := plain.Mapping.Conflict(plain, ch)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", ch, err, want)
		}
	}
}

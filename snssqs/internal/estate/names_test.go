package estate

import (
	"strings"
	"testing"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/part"
)

func TestNames(t *testing.T) {
	for _, c := range []struct {
		ns   namespace
		ch   driver.Channel
		want string
	}{
		{"", driver.Channel{Queue: "orders"}, "orders"},
		{"", driver.Channel{Queue: "orders", DeadLetter: true}, "orders--dlq"},
		{"", driver.Channel{Queue: "orders", Ordered: true}, "orders.fifo"},
		{"", driver.Channel{Queue: "orders", Ordered: true, DeadLetter: true}, "orders--dlq.fifo"},
		{"", driver.Channel{Exchange: "wishlist_events", Queue: "audit_log"}, "wishlist_events--audit_log"},
		{"prod", driver.Channel{Queue: "orders"}, "prod---orders"},
		{"prod", driver.Channel{Exchange: "a", Queue: "b", Ordered: true, DeadLetter: true}, "prod---a--b--dlq.fifo"},
		{"a-b", driver.Channel{Queue: "c-d"}, "a-b---c-d"},
		{"prod", driver.Channel{Queue: "orders", Later: true}, "prod---orders--later"},
	} {
		got, err := c.ns.QueueName(c.ch)
		if err != nil || got != c.want {
			t.Errorf("%s in %q is %q, %v; want %q", c.ch, c.ns, got, err, c.want)
		}
		if back, ok := c.ns.ChannelOfQueue(c.want); !ok || back != c.ch {
			t.Errorf("%q in %q is %+v, %v; want %+v", c.want, c.ns, back, ok, c.ch)
		}
	}
	if got, err := namespace("prod").TopicName(driver.Channel{Exchange: "e", Queue: "q", Ordered: true}); err != nil ||
		got != "prod---e.fifo" {
		t.Errorf("the topic is %q, %v", got, err)
	}
}

// SQS accepts 80 characters in total.
func TestNamesOfEightyCharacters(t *testing.T) {
	for _, ch := range []driver.Channel{
		{Ordered: true, DeadLetter: true}, {Exchange: "e", Ordered: true, DeadLetter: true}, {},
	} {
		suffix := 0
		if ch.Exchange != "" {
			suffix += len("e--")
		}
		if ch.DeadLetter {
			suffix += len("--dlq")
		}
		if ch.Ordered {
			suffix += len(".fifo")
		}
		ns := namespace("n")
		ch.Queue = strings.Repeat("q", 80-suffix-len("n---"))
		if name, err := ns.QueueName(ch); err != nil || len(name) != 80 {
			t.Errorf("%d characters: %v", len(name), err)
		}
		ch.Queue += "q"
		if name, err := ns.QueueName(ch); err == nil || !strings.Contains(err.Error(), "1 more than SQS accepts") {
			t.Errorf("81 characters are %q, %v", name, err)
		}
	}
	if name, err := namespace("").TopicName(driver.Channel{Exchange: strings.Repeat("e", 81)}); err == nil {
		t.Errorf("a topic of %d characters was accepted", len(name))
	}
}

func TestNamesThatAreNone(t *testing.T) {
	for _, part := range []string{"", "dlq", "a--b", "-a", "a-", "_a", "a_", "a.b", "a b", "ä", "a@b", "a*", "a\x00"} {
		for _, ch := range []driver.Channel{{Queue: part}, {Exchange: "e", Queue: part}, {Exchange: part, Queue: "q"}} {
			if ch.Exchange == "" && ch.Queue != part {
				continue
			}
			if name, err := namespace("").QueueName(ch); err == nil && (part != "" || ch.Queue == "") {
				t.Errorf("%+v became queue %q", ch, name)
			}
		}
		if name, err := namespace("").TopicName(driver.Channel{Exchange: part}); err == nil {
			t.Errorf("%q became topic %q", part, name)
		}
	}
}

// The name of a channel maps back to the channel, in its namespace and in no other.
func FuzzChannelName(f *testing.F) {
	for _, s := range [][4]string{
		{"", "", "orders", ""},
		{"prod", "wishlist_events", "audit_log", "od"},
		{"a-b", "c", "d-e", "o"},
		{"", "a", "dlq", "d"},
		{"", "a--b", "c", ""},
		{"p", "", "p---q", ""},
		{"", "p", "q", "d"},
		{"x", "", "a.fifo", "o"},
		{"", "", "dlq", "d"},
		{"", "-", "-", ""},
		{"", "", strings.Repeat("q", 75), "o"},
	} {
		f.Add(s[0], s[1], s[2], strings.Contains(s[3], "o"), strings.Contains(s[3], "d"))
	}
	f.Fuzz(func(t *testing.T, space, exchange, queue string, ordered, dead bool) {
		if space != "" && !part.Legal(space) {
			return
		}
		ns := namespace(space)
		ch := driver.Channel{Exchange: exchange, Queue: queue, Ordered: ordered, DeadLetter: dead}
		name, err := ns.QueueName(ch)
		if err != nil {
			return
		}
		if len(name) > 80 || !legalForSQS(name) {
			t.Errorf("%+v has the name %q, which SQS refuses", ch, name)
		}
		if back, ok := ns.ChannelOfQueue(name); !ok || back != ch {
			t.Errorf("%+v has the name %q, which is %+v, %v", ch, name, back, ok)
		}
		for _, other := range []namespace{"", "other", ns + "x"} {
			if back, ok := other.ChannelOfQueue(name); ok && other != ns {
				t.Errorf("%+v of namespace %q has the name %q, which is %+v of namespace %q", ch, ns, name, back, other)
			}
		}
		if exchange == "" {
			return
		}
		topic, err := ns.TopicName(ch)
		if back, ok := ns.ChannelOfQueue(topic); err != nil || ok && back.Exchange != "" {
			t.Errorf("%+v has the topic %q, %v, which is also the queue %+v", ch, topic, err, back)
		}
	})
}

// A queue that maps to a channel has exactly the name of this channel.
func FuzzQueueName(f *testing.F) {
	for _, s := range [][2]string{
		{"", "orders"},
		{"", "orders--dlq.fifo"},
		{"prod", "prod---a--b--dlq"},
		{"", "a--b--c"},
		{"", "a---b"},
		{"", "--dlq"},
		{"", "dlq"},
		{"", "dlq--dlq"},
		{"p", "p---p---q"},
		{"", ".fifo"},
		{"", "a.fifo.fifo"},
		{"", "a--dlq--dlq"},
		{"p", "p----q"},
		{"p-", "p----q"},
		{"", "a----b"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, space, queue string) {
		if space != "" && !part.Legal(space) {
			return
		}
		ns := namespace(space)
		ch, ok := ns.ChannelOfQueue(queue)
		if !ok || len(queue) > maxQueueName {
			return
		}
		if name, err := ns.QueueName(ch); err != nil || name != queue {
			t.Errorf("queue %q of namespace %q is %+v, whose name is %q, %v", queue, space, ch, name, err)
		}
	})
}

func legalForSQS(name string) bool {
	name = strings.TrimSuffix(name, ".fifo")
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

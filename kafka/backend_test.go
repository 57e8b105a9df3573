package kafka

import (
	"errors"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/driver"
)

// newTestBackend opens a backend that makes no request.
func newTestBackend(t *testing.T, o Options) *Backend {
	t.Helper()
	b, err := Open(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(t.Context()) })
	return b
}

// durableQueue is a RetryQueue that delivers its records to the channel's topic.
type durableQueue struct{ MemoryRetryQueue }

func (*durableQueue) Durable() bool { return true }

// Options that contradict a channel are an error that names the channel and the option.
func TestChannelsThatKafkaCannotCarry(t *testing.T) {
	share := Options{ChannelOptions: ChannelOptions{GroupProtocol: GroupShare, Ordering: OrderNone}}
	withOrder, withQueue := share, share
	withOrder.Ordering, withQueue.RetryQueue = OrderByKey, &MemoryRetryQueue{}
	orders := driver.Channel{Queue: "orders"}
	ordered := driver.Channel{Queue: "orders", Ordered: true}
	for _, c := range []struct {
		name string
		o    Options
		ch   driver.Channel
		says string // "": no error
	}{
		{"the defaults", Options{}, ordered, ""},
		{"a bad name", Options{}, driver.Channel{Queue: "a b"}, `"a b"`},
		{"no order", Options{ChannelOptions: ChannelOptions{Ordering: OrderNone}}, ordered, "OrderByKey"},
		{"a share group", share, orders, ""},
		{"a share group with order", withOrder, orders, "OrderNone"},
		{"a share group with a queue", withQueue, orders, "RetryQueue"},
		{"park in memory", Options{
			ChannelOptions: ChannelOptions{Retries: RetryPark}, RetryQueue: &MemoryRetryQueue{},
		}, orders, ""},
		{"park in a queue", Options{
			ChannelOptions: ChannelOptions{Retries: RetryPark}, RetryQueue: &durableQueue{},
		}, orders, "RetryAlone"},
	} {
		err := newTestBackend(t, c.o).legal(c.ch)
		if c.says == "" && err != nil || c.says != "" && (err == nil || driver.ClassOf(err) != driver.Permanent ||
			!strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.says)
		}
	}
}

// Senders and receivers of dead letters use the topic of the dead letters.
func TestTheTopicOfAChannel(t *testing.T) {
	b := newTestBackend(t, Options{Namespace: "prod"})
	for ch, want := range map[driver.Channel]string{
		{Queue: "orders"}:                     "prod.orders",
		{Queue: "orders", DeadLetter: true}:   "prod.orders.prod.orders.dlq",
		{Exchange: "events", Queue: "mobile"}: "prod.events",
	} {
		if got := b.channels.TopicOf(ch); got != want {
			t.Errorf("the topic of %s is %s, want %s", ch, got, want)
		}
	}
}

// A closed backend refuses calls, and Close may be called again.
func TestAClosedBackend(t *testing.T) {
	b := newTestBackend(t, Options{})
	if err := errors.Join(b.open(), b.Close(t.Context()), b.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	_, err := b.Sender(t.Context(), driver.Channel{Queue: "orders"})
	if !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Sender of a closed backend: %v", err)
	}
}

package ops_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// errEnough ends a tail.
var errEnough = errors.New("enough")

// tailed tails a channel until it has n messages, and does something when it has begun. It returns the bodies.
func (m *morgue) tailed(channel string, o ops.TailOptions, n int, begun func()) (bodies []string) {
	m.Helper()
	o.Begun = func(string) { go begun() }
	err := ops.Tail(m.Context(), m.Backend, channel, &o, func(es []ops.Entry) error {
		if bodies = append(bodies, bodiesOf(es)...); len(bodies) >= n {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		m.Errorf("tail %s: %v", channel, err)
	}
	return bodies
}

// names are the channels that exist.
func (m *morgue) names() (all []string) {
	m.Helper()
	infos, err := driver.OperationsOf(m.Backend).Catalog(m.Context())
	if err != nil {
		m.Fatal(err)
	}
	for _, info := range infos {
		all = append(all, info.Channel.String())
	}
	return all
}

// Copies of what comes to an exchange are shown, in order where it has one. Its queues have all messages, and nothing
// is left behind, neither the queue nor a tag of the exchange.
func TestTailOfAnExchange(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			mail := driver.Channel{Exchange: "events", Queue: "mail", Ordered: ordered}
			m, _ := newSQS(t, mail)
			before := m.names()
			all := driver.Channel{Exchange: "events", Ordered: ordered}
			var want []string
			for i := range 30 {
				want = append(want, fmt.Sprintf("%02d", i))
			}
			got := m.tailed("events.*", ops.TailOptions{}, 30, func() {
				for _, body := range want {
					m.put(all, letter("ada", body))
				}
			})
			if !ordered {
				slices.Sort(got)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("ordered %v (-want +got):\n%s", ordered, diff)
			}
			m.once(mail, 30)
			time.Sleep(2 * time.Minute) // a deleted queue may be listed for a while
			if diff := cmp.Diff(before, m.names()); diff != "" {
				t.Errorf("ordered %v: what exists (-before +after):\n%s", ordered, diff)
			}
			exchange, err := ops.Find(t.Context(), m.Backend, "events.*")
			if err != nil || exchange.Tags["godwit-temporary"] != "" {
				t.Errorf("%v: %v", exchange.Tags, err)
			}
		})
	}
}

// A tail that is interrupted leaves nothing behind, also while it waits. One that was killed leaves a queue with the
// owner of the exchange and a tag, by which its sweep finds it.
func TestTailIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b := newSQS(t, driver.Channel{Exchange: "events", Queue: "mail"})
		if err := b.Ensure(t.Context(), driver.ChannelSpec{
			Channel: driver.Channel{Exchange: "owned", Queue: "mail"}, Owner: true,
			Tags: map[string]string{"owner": "shop"},
		}); err != nil {
			t.Fatal(err)
		}
		before := len(m.names())
		ctx, stop := context.WithCancel(t.Context())
		var tags map[string]string
		err := ops.Tail(ctx, b, "owned.*", &ops.TailOptions{Begun: func(how string) {
			time.Sleep(2 * time.Minute)
			name := how[strings.Index(how, "owned."):strings.IndexByte(how, ',')]
			info, err := ops.Find(t.Context(), b, name)
			if tags = info.Tags; err != nil {
				t.Error(err)
			}
			time.AfterFunc(time.Minute, stop)
		}}, func([]ops.Entry) error { return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
		if tags["godwit-temporary"] != "tail" || tags["owner"] != "shop" || tags["managed-by"] != "godwit" {
			t.Errorf("the queue had the tags %v", tags)
		}
		time.Sleep(2 * time.Minute)
		if n := len(m.names()); n != before {
			t.Errorf("%d channels exist, and %d before", n, before)
		}
	})
}

// Tail shows what is sent to a queue of the local server and, with a time, what was sent since then. It receives no
// message, so that all of them stay for the consumers.
func TestTailOfAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b := newSQS(t, orders)
		m.put(orders, letter("", "old"))
		time.Sleep(time.Minute)
		put := func() { m.put(orders, letter("", "a"), letter("", "b")) }
		if got := m.tailed("orders", ops.TailOptions{}, 2, put); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("from now: %q", got)
		}
		from := ops.TailOptions{From: driver.PeekFrom{Time: time.Now().Add(-time.Hour)}}
		got := m.tailed("orders", from, 5, func() {
			time.Sleep(time.Second)
			put()
		})
		if !slices.Equal(got, []string{"old", "a", "b", "a", "b"}) {
			t.Errorf("from a time: %q", got)
		}
		for _, q := range b.Server().SQS().Queue("orders").Model().Messages() {
			if q.Count != 0 {
				t.Errorf("message %s was received", q.ID)
			}
		}
		m.want(orders, "a", "a", "b", "b", "old")
	})
}

// listing is a backend that has nothing but channels.
type listing struct{ driver.Backend }

func (l listing) Operations() driver.Operations {
	return driver.Operations{Catalog: driver.OperationsOf(l.Backend).Catalog}
}

// A queue that can only be received from is refused, and so is a beginning in the past of an exchange.
func TestTailRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, b := newSQS(t, driver.Channel{Exchange: "events", Queue: "mail"})
		nothing := func([]ops.Entry) error { return nil }
		if err := ops.Tail(t.Context(), listing{b}, "events.mail", nil, nothing); !errors.Is(err, ops.ErrCannotTail) {
			t.Errorf("a queue: %v", err)
		}
		if err := ops.Tail(t.Context(), listing{b}, "events.*", nil, nothing); err == nil {
			t.Error("an exchange without the operations was tailed")
		}
		past := &ops.TailOptions{From: driver.PeekFrom{Time: time.Now()}}
		if err := ops.Tail(t.Context(), b, "events.*", past, nothing); err == nil ||
			!strings.Contains(err.Error(), "keeps no messages") {
			t.Errorf("an exchange from a time on: %v", err)
		}
		if err := ops.Tail(t.Context(), b, "nosuch", nil, nothing); driver.ClassOf(err) != driver.NotFound {
			t.Errorf("no channel: %v", err)
		}
		if n := len(m.names()); n != 3 {
			t.Errorf("%d channels exist", n)
		}
	})
}

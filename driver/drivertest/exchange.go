package drivertest

import (
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

func exchangeCases() []testCase {
	exchanges := need("exchanges", func(h *Harness) bool { return h.Can.Exchanges })
	ordered := need("ordered exchanges", func(h *Harness) bool { return h.Can.Exchanges && h.Can.Ordered })
	return []testCase{
		{
			name: "exchange/fanout", run: exchangeFanout, needs: exchanges,
			shows: "every queue of an exchange gets every message, with all its properties",
		},
		{
			name: "exchange/filter", run: exchangeFilter, needs: exchanges,
			shows: "a filter selects by exact value and prefix, and other messages are discarded",
		},
		{
			name: "exchange/exclude", run: exchangeExclude, needs: exchanges,
			shows: "Exclude lets every other message pass, also one without a routing key",
		},
		{
			name: "exchange/refilter", run: exchangeRefilter, needs: exchanges,
			shows: "a changed filter is applied to the existing queue",
		},
		{
			name: "exchange/discarded", run: exchangeDiscarded, needs: exchanges,
			shows: "messages that the receiver itself discards by its filter are reported, with the reason",
		},
		{
			name: "exchange/ordered", run: exchangeOrdered, needs: ordered,
			shows: "an ordered exchange keeps the order of each key in each queue",
		},
		{
			name:  "exchange/recreated",
			shows: "provisioning by a producer subscribes the queues of a lost exchange again",
			run:   exchangeRecreated,
			needs: need("exchanges and Harness.DropExchange",
				func(h *Harness) bool { return h.Can.Exchanges && h.DropExchange != nil }),
		},
		{
			name:  "exchange/again",
			shows: "an exchange that was lost during use is complete again when all its users have provisioned again",
			run:   exchangeAgain,
			needs: need("exchanges and Harness.DropExchange",
				func(h *Harness) bool { return h.Can.Exchanges && h.DropExchange != nil }),
		},
		{
			name: "exchange/delay", run: exchangeDelay,
			needs: need("exchanges without delays", func(h *Harness) bool { return h.Can.Exchanges && !h.Can.Later }),
			shows: "Prepare returns an error for a delay that an exchange does not support",
		},
		{
			name: "exchange/later", run: exchangeLater,
			needs: need("exchanges with delays", func(h *Harness) bool { return h.Can.Exchanges && h.Can.Later }),
			shows: "a delayed message to an exchange is published when it is due, once for each of its queues",
		},
		{
			name: "exchange/kind", run: exchangeKind, needs: ordered,
			shows: "a name that already exists as the other kind, or with the other ordering, is an error",
		},
	}
}

// queueOf provisions one queue of an exchange and opens its sender and receiver.
func (k *kit) queueOf(exchange, queue string, ordered bool, f driver.Filter) *end {
	k.Helper()
	s := k.spec(driver.Channel{Exchange: exchange, Queue: queue, Ordered: ordered})
	s.Filter = f
	return k.open(s, f)
}

func exchangeFanout(k *kit) {
	a := k.queueOf("fanout", "a", false, driver.Filter{})
	b := k.queueOf("fanout", "b", false, driver.Filter{})
	a.put(driver.Message{
		Body: []byte("news"), RoutingKey: "A.B", ContentType: "text/plain",
		Header: []driver.Header{{Name: "locale", Value: "de"}},
	})
	for _, e := range []*end{a, b} {
		d := e.get(1)[0]
		if string(d.Body) != "news" || d.RoutingKey != "A.B" || d.ContentType != "text/plain" || len(d.Header) != 1 ||
			d.Header[0].Value != "de" {
			k.Errorf("%s received %q with routing key %q, content type %q, headers %v", e.ch, d.Body, d.RoutingKey,
				d.ContentType, d.Header)
		}
		e.settle(driver.Done, d)
		e.nothing(wait)
	}
}

// routed returns one message per routing key; its body is the key, or "-" without a key.
func routed(keys ...string) []driver.Message {
	ms := make([]driver.Message, len(keys))
	for i, key := range keys {
		ms[i] = driver.Message{Body: []byte("-" + key), RoutingKey: key}
	}
	return ms
}

func exchangeFilter(k *kit) {
	e := k.queueOf("filter", "some", false, driver.Filter{Exact: []string{"BOOK"}, Prefix: []string{"MOBILE."}})
	e.put(routed("MOBILE.APPLE", "BOOK", "BOOKS", "", "mobile.x", "MOBILE.")...)
	ds := e.upTo(4, 2*wait)
	e.sameSet(ds, "-MOBILE.APPLE", "-BOOK", "-MOBILE.")
	e.settle(driver.Done, ds...)
	e.nothing(k.h.lease() + wait)
}

func exchangeExclude(k *kit) {
	e := k.queueOf("exclude", "most", false, driver.Filter{Exclude: []string{"BOOK"}})
	e.put(routed("MOBILE", "BOOK", "", "BOOKS")...)
	e.sameSet(e.upTo(4, 2*wait), "-MOBILE", "-", "-BOOKS")
}

func exchangeRefilter(k *kit) {
	e := k.queueOf("refilter", "q", false, driver.Filter{Exact: []string{"A"}})
	for _, f := range []driver.Filter{{Exact: []string{"B"}}, {}} {
		e = k.queueOf("refilter", "q", false, f)
	}
	e.put(routed("A", "B", "C")...)
	e.sameSet(e.upTo(3, 2*wait), "-A", "-B", "-C")
}

func exchangeDiscarded(k *kit) {
	e := &end{k: k, ch: driver.Channel{Exchange: "discarded", Queue: "q"}}
	k.ensure(k.spec(e.ch)) // without the filter, so that a service that filters by itself lets every message pass
	e.send = k.sender(driver.Channel{Exchange: "discarded"})
	var mu sync.Mutex
	var told []driver.Discarded
	events := driver.Events{Discarded: func(d driver.Discarded) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, d)
	}}
	e.recv = k.receiverFor(e.ch, driver.ReceiverOptions{Filter: driver.Filter{Exact: []string{"A"}}, Events: events})
	e.put(routed("B", "A", "C", "B")...)
	ds := e.upTo(4, 2*wait)
	e.sameSet(ds, "-A")
	e.settle(driver.Done, ds...)
	e.nothing(wait)
	mu.Lock()
	defer mu.Unlock()
	n := 0
	for _, d := range told {
		if n += d.Count; d.Reason != driver.DiscardFiltered || d.Count == 0 || d.IDs != nil && len(d.IDs) != d.Count {
			k.Errorf("reported %+v", d)
		}
	}
	if n != 3 {
		k.Errorf("%d discarded messages were reported, want 3: %+v", n, told)
	}
}

func exchangeOrdered(k *kit) {
	a := k.queueOf("orderedexchange", "a", true, driver.Filter{})
	b := k.queueOf("orderedexchange", "b", true, driver.Filter{})
	a.put(keyed("ada", "1", "2", "3")...)
	for _, e := range []*end{a, b} {
		// A message that arrives while the head is in flight comes after it.
		for _, want := range []string{"1", "2", "3"} {
			d := e.get(1)
			e.sameOrder(d, want)
			e.settle(driver.Done, d...)
		}
	}
}

func exchangeRecreated(k *kit) {
	a := k.queueOf("recreated", "a", false, driver.Filter{})
	b := k.queueOf("recreated", "b", false, driver.Filter{Exact: []string{"B"}})
	k.h.DropExchange(k.TB, driver.Channel{Exchange: "recreated"})
	p := []driver.Prepared{a.prepare(routed("A")[0])}
	if err := a.send.Send(k.ctx, p); driver.ClassOf(err) != driver.NotFound || err == nil {
		k.Fatalf("send to an exchange that is gone: %v, of class %s, want %s", err, driver.ClassOf(err),
			driver.NotFound)
	}
	k.ensure(driver.ChannelSpec{Channel: driver.Channel{Exchange: "recreated"}})
	if err := a.send.Send(k.ctx, p); err != nil {
		k.Fatal(err)
	}
	a.sameSet(a.get(1), "-A")
	b.nothing(wait) // the filter, which only the consumer knows, still applies
}

func exchangeAgain(k *kit) {
	ends := []*end{k.queueOf("again", "a", false, driver.Filter{}), k.queueOf("again", "b", false, driver.Filter{})}
	producer := driver.ChannelSpec{Channel: driver.Channel{Exchange: "again"}}
	k.ensure(producer)
	k.h.DropExchange(k.TB, producer.Channel)
	for _, e := range ends {
		s := k.spec(e.ch)
		s.Again = true
		k.ensure(s)
	}
	producer.Again = true
	k.ensure(producer)
	ends[0].put(bodies("news")...)
	for _, e := range ends {
		e.sameSet(e.get(1), "news")
	}
}

func exchangeDelay(k *kit) {
	e := k.queueOf("exchangedelay", "q", false, driver.Filter{})
	if _, err := e.send.Prepare(k.ctx, &driver.Message{Delay: time.Minute}); err == nil ||
		driver.ClassOf(err).Passing() {
		k.Errorf("prepare with a delay: %v, want an error that repeating cannot help", err)
	}
}

func exchangeLater(k *kit) {
	e := k.queueOf("exchangelater", "q", false, driver.Filter{})
	other := k.queueOf("exchangelater", "other", false, driver.Filter{})
	producer := k.spec(driver.Channel{Exchange: "exchangelater"})
	producer.Owner = false
	k.ensure(producer)
	e.put(driver.Message{Body: []byte("later"), Delay: 4 * time.Second}, driver.Message{Body: []byte("at once")})
	for _, each := range []*end{e, other} {
		ds := each.get(1)
		each.sameSet(ds, "at once")
		each.settle(driver.Done, ds...)
	}
	e.nothing(2 * time.Second)
	for _, each := range []*end{e, other} {
		each.sameSet(each.get(1), "later")
	}
}

func exchangeKind(k *kit) {
	k.queue("onetoone", false)
	k.queueOf("onetomany", "q", false, driver.Filter{})
	p := k.backend.(driver.Provisioner)
	for _, ch := range []driver.Channel{
		{Exchange: "onetoone"},
		{Exchange: "onetoone", Queue: "q"},
		{Queue: "onetomany"},
		{Queue: "onetoone", Ordered: true},
		{Exchange: "onetomany", Ordered: true},
		{Exchange: "onetomany", Queue: "q", Ordered: true},
	} {
		for _, owner := range []bool{false, true} {
			s := k.spec(ch)
			s.Owner = owner
			if owner && ch.Queue == "" {
				continue
			}
			if err := p.Ensure(k.ctx, s); err == nil {
				k.Errorf("%s (ordered %v) was provisioned beside an existing channel of that name", ch, ch.Ordered)
			}
		}
	}
}

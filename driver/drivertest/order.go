package drivertest

import (
	"fmt"
	"strings"

	"github.com/godwitmq/godwit/driver"
)

func orderCases() []testCase {
	ordered := need("ordered channels", func(h *Harness) bool { return h.Can.Ordered })
	both := need("ordered channels and leases", func(h *Harness) bool { return h.Can.Ordered && h.Can.Leases })
	return []testCase{
		{
			name: "order/posted",
			shows: "a sender that takes messages without waiting keeps the order of the calls and answers each " +
				"message once",
			run:   orderPosted,
			needs: ordered,
		},
		{
			name: "order/key", run: orderKey, needs: ordered,
			shows: "messages of one key arrive in the order in which they were sent",
		},
		{name: "order/keys", shows: "any text may be an order key, and arrives", run: orderKeys, needs: ordered},
		{
			name: "order/release", run: orderRelease, needs: both,
			shows: "a lane that is released in one batch is delivered again in order",
		},
		{
			name: "order/blocked", run: orderBlocked, needs: both,
			shows: "while a message is in flight, later messages of its key do not overtake it",
		},
		{
			name: "order/duplicate", run: orderDuplicate, needs: ordered,
			shows: "a message sent again with its dedup id is accepted and not delivered, and its receipt says so",
		},
	}
}

func keyed(key string, texts ...string) []driver.Message {
	ms := bodies(texts...)
	for i := range ms {
		ms[i].OrderKey = key
	}
	return ms
}

func orderKey(k *kit) {
	e := k.queue("orderkey", true)
	e.put(keyed("ada", "1", "2", "3", "4", "5")...)
	var got []driver.Delivery
	for len(got) < 5 {
		ds := e.upTo(5-len(got), patience)
		if len(ds) == 0 {
			break
		}
		got = append(got, ds...)
		e.settle(driver.Done, ds...)
	}
	e.sameOrder(got, "1", "2", "3", "4", "5")
}

func orderKeys(k *kit) {
	e := k.queue("orderkeys", true)
	for _, key := range []string{"a", "", "with space", "ä", "-", strings.Repeat("k", 300)} {
		e.put(driver.Message{Body: []byte("of " + key), OrderKey: key})
		d := e.get(1)[0]
		if d.OrderKey != key {
			k.Errorf("sent with order key %.40q, received with %.40q", key, d.OrderKey)
		}
		e.settle(driver.Done, d)
	}
}

func orderRelease(k *kit) {
	e := k.queue("orderrelease", true)
	e.put(keyed("ada", "1", "2", "3")...)
	ds := e.get(3)
	e.settle(driver.Release, ds...)
	e.sameOrder(e.get(3), "1", "2", "3")
}

func orderBlocked(k *kit) {
	e := k.queue("orderblocked", true)
	e.put(keyed("ada", "1")...)
	first := e.get(1)
	e.put(keyed("ada", "2")...)
	e.put(keyed("bob", "free")...)
	e.sameOrder(e.get(1), "free")
	e.nothing(wait)
	e.settle(driver.Done, first...)
	e.sameOrder(e.get(1), "2")
}

func orderDuplicate(k *kit) {
	e := k.queue("orderduplicate", true)
	m := driver.Message{Body: []byte("once"), OrderKey: "ada", DedupID: "payment 17"}
	var ids []string
	send := func(again ...bool) {
		k.Helper()
		batch := make([]driver.Prepared, len(again))
		for i := range batch {
			batch[i] = e.prepare(m)
			batch[i].Receipt = new(driver.Receipt)
		}
		if err := e.send.Send(k.ctx, batch); err != nil {
			k.Fatalf("send: %v", err)
		}
		for i := range batch {
			if ids = append(ids, batch[i].Receipt.ID); batch[i].Receipt.Duplicate != again[i] ||
				ids[len(ids)-1] != ids[0] {
				k.Errorf("message %d of a batch has the receipt %+v, the first id is %q; want duplicate %v", i,
					*batch[i].Receipt, ids[0], again[i])
			}
		}
	}
	send(false, true)
	send(true)
	d := e.get(1)
	if d[0].ID != ids[0] {
		k.Errorf("the receipt names %q, the delivery is %q", ids[0], d[0].ID)
	}
	e.settle(driver.Done, d...)
	send(true)
	e.nothing(wait)
}

func orderPosted(k *kit) {
	e := k.queue("posted", true)
	post, ok := e.send.(driver.Poster)
	if !ok {
		return // the core uses Send
	}
	const calls, each = 20, 10
	answers := make(chan error, calls*each)
	var want []string
	for c := range calls {
		var batch []driver.Prepared
		for i := range each {
			body := fmt.Sprint(c*each + i)
			want = append(want, body)
			batch = append(batch, e.prepare(driver.Message{OrderKey: "k", Body: []byte(body)}))
		}
		post.Post(k.ctx, batch, func(_ int, err error) { answers <- err })
	}
	for range calls * each {
		if err := <-answers; err != nil {
			k.Fatalf("posted: %v", err)
		}
	}
	var got []driver.Delivery
	for len(got) < calls*each {
		ds := e.get(1)
		e.settle(driver.Done, ds...) // a backend may keep messages back that come after others of their key
		got = append(got, ds...)
	}
	e.sameOrder(got, want...)
}

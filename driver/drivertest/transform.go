package drivertest

import (
	"time"

	"github.com/godwitmq/godwit/driver"
)

func transformCases() []testCase {
	transforms := need("transactions", func(h *Harness) bool { return h.Can.Transforms })
	return []testCase{
		{
			name: "transform/done", run: transformDone, needs: transforms,
			shows: "Done sends the attached messages, those that were attached last, in the order of a lane",
		},
		{
			name: "transform/other", run: transformOther, needs: transforms,
			shows: "Reject drops the attached messages, and copies the delivery to the dead letters",
		},
		{
			name: "transform/left", run: transformLeft, needs: transforms,
			shows: "a receiver that ends before Done sends nothing, and the delivery is received again",
		},
		{
			name: "transform/foreign", run: transformForeign, needs: transforms,
			shows: "a sender of another backend is refused",
		},
	}
}

// transformPatience is how long a transaction of a receiver that ended may delay the next one, and how long results may
// take: a poll of committed records that begins while a transaction ends may wait for its full time.
const transformPatience = 30 * time.Second

// transform provisions two channels, and opens a receiver of the first with transactions.
func (k *kit) transform(name string) (from, to *end, recv driver.TransformReceiver) {
	k.Helper()
	from = &end{k: k, ch: driver.Channel{Queue: name, Ordered: k.h.Can.Ordered}}
	k.ensure(k.spec(from.ch))
	from.send = k.sender(from.ch)
	to = k.queue(name+"results", k.h.Can.Ordered)
	return from, to, k.transformer(from, to)
}

func (k *kit) transformer(from, to *end) driver.TransformReceiver {
	k.Helper()
	recv, err := k.backend.(driver.Transformer).Transform(k.ctx, from.ch, to.send,
		driver.ReceiverOptions{Concurrency: 10, Wait: wait, Lease: k.h.lease()})
	if err != nil {
		k.Fatalf("open the receiver of %s with transactions: %v", from.ch, err)
	}
	from.recv = recv
	k.opened = append(k.opened, recv)
	return recv
}

// results receives so many results, and finishes each before it receives the next: where retries are parked, a later
// message of the key waits for the earlier one.
func (e *end) results(n int) (got []driver.Delivery) {
	e.k.Helper()
	for end := time.Now().Add(transformPatience); len(got) < n; {
		d := e.upTo(1, time.Until(end))
		if len(d) == 0 {
			e.k.Fatalf("received %d of %d results: %s", len(got), n, describe(got))
		}
		e.settle(driver.Done, d...)
		got = append(got, d...)
	}
	return got
}

func transformDone(k *kit) {
	from, to, recv := k.transform("transformdone")
	from.put(bodies("a", "b", "none")...)
	for n := range 3 { // one by one, as results are
		d := from.get(1)[0]
		recv.Attach(d.Handle, []driver.Prepared{to.prepare(driver.Message{Body: []byte("an earlier attempt")})})
		var ms []driver.Prepared
		for _, n := range []string{"1", "2"} {
			ms = append(ms, to.prepare(driver.Message{Body: append(append([]byte{}, d.Body...), n...)}))
		}
		if string(d.Body) == "none" {
			ms = nil
		}
		recv.Attach(d.Handle, ms)
		if n == 0 {
			to.nothing(wait)
		}
		from.settle(driver.Done, d)
	}
	got := to.results(4)
	if k.h.Can.Ordered {
		to.sameOrder(got, "a1", "a2", "b1", "b2")
	}
	to.sameSet(got, "a1", "a2", "b1", "b2")
	to.nothing(wait)
	from.nothing(wait)
}

func transformOther(k *kit) {
	from, to, recv := k.transform("transformother")
	from.put(bodies("bad")...)
	d := from.get(1)[0]
	recv.Attach(d.Handle, []driver.Prepared{to.prepare(driver.Message{Body: []byte("result")})})
	if err := recv.Settle(k.ctx, []driver.Settlement{{
		Handle: d.Handle, Action: driver.Reject, Death: &driver.Death{Error: "no"},
	}}); err != nil {
		k.Fatal(err)
	}
	letters := from.letters()
	letters.settle(driver.Done, letters.get(1)...)
	letters.nothing(wait)
	to.nothing(wait)
}

func transformLeft(k *kit) {
	from, to, recv := k.transform("transformleft")
	from.put(bodies("a")...)
	recv.Attach(from.get(1)[0].Handle, []driver.Prepared{to.prepare(driver.Message{Body: []byte("first")})})
	if err := recv.Close(k.ctx); err != nil {
		k.Fatal(err)
	}
	recv = k.transformer(from, to)
	ds := from.upTo(1, transformPatience)
	if len(ds) != 1 {
		k.Fatal("the delivery is not received again")
	}
	recv.Attach(ds[0].Handle, []driver.Prepared{to.prepare(driver.Message{Body: []byte("second")})})
	from.settle(driver.Done, ds...)
	to.sameSet(to.results(1), "second")
	to.nothing(wait)
}

func transformForeign(k *kit) {
	from, _, _ := k.transform("transformforeign")
	if _, err := k.backend.(driver.Transformer).Transform(k.ctx, from.ch, foreign{}, driver.ReceiverOptions{
		Concurrency: 10, Wait: wait,
	}); err == nil || driver.ClassOf(err) != driver.Permanent {
		k.Errorf("with a sender of another backend: %v, want an error of class permanent", err)
	}
}

// foreign is a sender of no backend.
type foreign struct{ driver.Sender }

package drivertest

import (
	"cmp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
)

const (
	// round is the number of messages that a benchmark sends before it receives them: small enough for any backend to
	// hold, and large enough to stop the timer in between.
	round = 1000
	// benchBody is the size of a body, that of a small event.
	benchBody = 200
	// joining is how long the first message may take, because a consumer group needs time to join.
	joining = 30 * time.Second
)

// benchmark measures sending or receiving, per message.
type benchmark struct {
	name    string
	sends   bool // sending is measured; otherwise receiving, from the poll to the settlement
	batch   int  // messages in one Send
	ordered bool
	keys    int
}

func benchmarks() []benchmark {
	return []benchmark{
		{name: "send/1", sends: true, batch: 1},
		{name: "send/10", sends: true, batch: 10},
		{name: "receive", batch: 10},
		{name: "receive/1000keys", batch: 10, ordered: true, keys: 1000},
	}
}

// Benchmark measures the cost of a message in a backend and its service, without the core: sending one at a time and
// ten at a time, receiving and settling, and the same on an ordered channel with a thousand keys. One operation is one
// message. It runs in real time, whether or not Harness.Bubble is set.
func Benchmark(b *testing.B, h Harness) {
	h.Lease = cmp.Or(h.Lease, 30*time.Second)
	for _, c := range benchmarks() {
		b.Run(c.name, func(b *testing.B) {
			if c.ordered && !h.Can.Ordered {
				b.Skip("not run: needs ordered channels")
			}
			k := newKit(b, &h)
			defer k.close()
			c.run(b, k.queue("benchmark", c.ordered))
		})
	}
}

func (c *benchmark) run(b *testing.B, e *end) {
	b.ReportAllocs()
	b.StopTimer()
	c.send(e, 0, 1)
	if ds := e.upTo(1, joining); len(ds) == 1 {
		e.settle(driver.Done, ds...)
	} else {
		b.Fatalf("nothing was received within %v", joining)
	}
	timed := func(measured bool, f func()) {
		if measured {
			b.StartTimer()
			defer b.StopTimer()
		}
		f()
	}
	for sent := 0; sent < b.N; sent += round {
		n := min(round, b.N-sent)
		timed(c.sends, func() { c.send(e, 1+sent, n) })
		timed(!c.sends, func() { e.drain(n) })
	}
}

// send sends n messages with the numbers from, from+1, …; the number makes each message different.
func (c *benchmark) send(e *end, from, n int) {
	most := e.send.Limits().Batch
	if most == 0 {
		most = c.batch // the backend batches by itself
	}
	batch := make([]driver.Prepared, 0, c.batch)
	for i := from; i < from+n; i++ {
		m := driver.Message{Body: make([]byte, benchBody)}
		if c.ordered {
			m.OrderKey, m.DedupID = "key "+strconv.Itoa(i%c.keys), strconv.Itoa(i)
		}
		if batch = append(batch, e.prepare(m)); len(batch) < min(c.batch, most) && i+1 < from+n {
			continue
		}
		if err := e.send.Send(e.k.ctx, batch); err != nil {
			e.k.Fatalf("send: %v", err)
		}
		batch = batch[:0]
	}
}

// drain receives and settles n messages.
func (e *end) drain(n int) {
	lim := e.recv.Limits()
	settles := lim.SettleBatch
	settles = cmp.Or(settles, n)
	var ds []driver.Delivery
	for begun := time.Now(); n > 0; n -= len(ds) {
		if time.Since(begun) > joining {
			e.k.Fatalf("%d messages were not received within %v", n, joining)
		}
		var err error
		if ds, err = e.recv.Receive(e.k.ctx, driver.Ask{Max: min(n, lim.Batch)}, ds[:0]); err != nil {
			e.k.Fatalf("receive: %v", err)
		}
		for some := range slices.Chunk(ds, settles) {
			e.settle(driver.Done, some...)
		}
	}
}

package drivertest

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
)

const (
	// round is how many messages a benchmark sends before it receives them: few enough for any backend to hold, and
	// enough to stop the clock between.
	round = 1000
	// benchBody is the size of a benchmark's bodies: a small event.
	benchBody = 200
	// joining is how long the first message may take: groups are joined in that time.
	joining = 30 * time.Second
)

// benchmark measures one end of a channel, in messages.
type benchmark struct {
	name    string
	sends   bool // the sending end is measured, else the receiving end, from the poll to the settle
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

// Benchmark measures what a message costs in a backend and what lies below it, without the core: sending one by one and
// in tens, receiving and settling, and the same in order with a thousand keys. One operation is one message. It runs in
// real time, whatever Harness.Bubble says.
func Benchmark(b *testing.B, h Harness) {
	if h.Lease == 0 {
		h.Lease = 30 * time.Second
	}
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

// send sends n messages, from a number on that makes each of them different.
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
	if settles == 0 {
		settles = n
	}
	var ds []driver.Delivery
	for begun := time.Now(); n > 0; n -= len(ds) {
		if time.Since(begun) > joining {
			e.k.Fatalf("%d messages were not received within %v", n, joining)
		}
		var err error
		if ds, err = e.recv.Receive(e.k.ctx, min(n, lim.Batch), ds[:0]); err != nil {
			e.k.Fatalf("receive: %v", err)
		}
		for some := range slices.Chunk(ds, settles) {
			e.settle(driver.Done, some...)
		}
	}
}

package godwit

import (
	"unsafe"

	"github.com/godwitmq/godwit/driver"
)

// accept takes what a poll brought into lanes, and the heads of lanes onto the bus, and says how many bytes that are. The
// places are already taken.
func (s *session) accept(in []driver.Delivery, hand *pollHand) (bytes int64) {
	if len(in) == 0 {
		return 0
	}
	s.count.received.Add(int64(len(in)))
	if s.c.state.is(Idle) {
		s.c.state.to(Listening)
	}
	ds := hand.make(len(in))
	for i, d := range ds {
		if i > 0 && in[i].Source == in[i-1].Source {
			d.src = ds[i-1].src
		} else {
			d.src = s.sources.of(in[i].Source)
		}
		s.fill(d, &in[i])
		bytes += d.size
	}
	s.keeper.keepAll(ds, in)
	if s.c.o.Hooks.Received != nil {
		for _, d := range ds {
			observe(s, s.c.o.Hooks.Received, d)
		}
	}
	s.places.keep(bytes)
	for rest := ds; len(rest) > 0; {
		rest = s.enqueue(rest)
	}
	clear(ds)
	return bytes
}

// slabSize is how many deliveries are allocated together: as many as fill one of the runtime's sizes, which are few. The slowest
// of them keeps all in memory; and what is larger than 32 KiB the runtime takes from the system and gives back to it again and
// again.
const slabSize = (24<<10 - 8) / int(unsafe.Sizeof(Delivery{}))

// make makes n deliveries. The list of them is used again by the next call.
func (h *pollHand) make(n int) []*Delivery {
	h.made = h.made[:0]
	for n > 0 {
		slab := make([]Delivery, min(n, slabSize))
		for i := range slab {
			h.made = append(h.made, &slab[i])
		}
		n -= len(slab)
	}
	return h.made
}

// enqueue takes the leading run of deliveries of one source into their lanes, and returns the others.
func (s *session) enqueue(ds []*Delivery) (rest []*Delivery) {
	src := ds[0].src
	var first, last *Delivery
	var away []verdict
	n, i := 0, 0
	src.mu.Lock()
	for ; i < len(ds) && ds[i].src == src; i++ {
		d := ds[i]
		if !src.join(d) {
			continue
		}
		if to, pause := s.tenants.admit(d, s.nearLimit(d)); to == surplus {
			away = append(away, verdict{d: d, after: pause})
			continue
		} else if to == aside {
			continue
		}
		if last == nil {
			first = d
		} else {
			last.busNext = d
		}
		last = d
		n++
	}
	src.mu.Unlock()
	for _, v := range away {
		s.sendAway(v.d, v.after)
	}
	if n > 0 && !s.bus.push(s, first, last, n) {
		for d := first; d != nil; {
			next := d.busNext
			d.busNext = nil
			s.giveBackWaiting(d)
			d = next
		}
	}
	return ds[i:]
}

func (s *session) fill(d *Delivery, in *driver.Delivery) {
	d.ID, d.Channel = in.ID, s.c.name
	d.OrderKey, d.Tenant, d.RoutingKey = in.OrderKey, in.Tenant, in.RoutingKey
	d.ContentType, d.Type, d.Version = in.ContentType, in.Type, in.Version
	d.Headers, d.Body, d.SentAt = in.Header, in.Body, in.SentAt
	d.in, d.handle = s, in.Handle
	if d.delay = s.c.o.Delay; !in.Due.IsZero() {
		d.delay = in.Due.Sub(in.SentAt)
	}
	d.Death, d.err, d.size, d.received = deathOf(in.Origin), in.Err, in.Size, in.Received
	if s.c.channel.DeadLetter {
		d.Undecodable, d.err = d.err, nil // there is nowhere to reject it to
	}
	d.Attempt, d.Failures = s.starts.attempt(in)
	if s.c.channel.Ordered || in.OrderKey != "" {
		d.lane = laneOf(s.seed, in.OrderKey)
	}
}

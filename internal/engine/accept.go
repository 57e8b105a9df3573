package engine

import "github.com/godwitmq/godwit/driver"

// acceptAtOnce is how many items are accepted while the lock is held once. A log delivers thousands, and workers wait
// for the lock meanwhile. If the deliveries behind a retry follow it, all of a poll are accepted at once: otherwise the
// first of a lane may fail before the rest of the lane is here, which would then be handled before it.
const acceptAtOnce = 64

// accept adds the deliveries of a poll to their lanes, and the heads of lanes to the bus. It returns their size in
// bytes. rest is how many of the poll's places are still reserved.
func (p *pollers) accept(in []driver.Delivery, hand *pollHand, rest *int, poll *Poll) (bytes int64) {
	for len(in) > 0 {
		n := min(len(in), acceptAtOnce)
		if p.f.lim.Behind == driver.BehindFollows {
			n = len(in)
		}
		bytes += p.acceptSome(in[:n], hand, rest, poll)
		in = in[n:]
	}
	return bytes
}

func (p *pollers) acceptSome(in []driver.Delivery, hand *pollHand, rest *int, poll *Poll) (bytes int64) {
	f := p.f
	its := hand.items[:0]
	f.lock()
	f.count.Received += int64(len(in))
	f.talk.empty = false
	for i := range in {
		it := f.items.take()
		it.in, it.counted = p.session, false
		if i > 0 && in[i].Source == in[i-1].Source {
			it.src = its[i-1].src
		} else {
			it.src = f.sources.of(in[i].Source)
		}
		it.Attempt, it.Failures = f.starts.attempt(&in[i])
		its = append(its, it)
	}
	f.unlock()
	for i, it := range its {
		p.fill(it, &in[i])
		bytes += it.size
	}
	p.cfg.Own(its, in)
	if p.cfg.TellOwners {
		poll.Owners = appendOwners(poll.Owners, its)
	}
	for _, it := range its {
		p.obs.Received(it)
	}
	now, heads := f.clock.now(), 0
	f.lock()
	for i, it := range its {
		f.places.reserved--
		*rest--
		f.move(it, evArrive)
		f.keeper.keep(it, in[i].LeaseEnds, now)
		if it.lanePrev == nil { // otherwise it is not the first of its lane
			heads++
			f.goOn(it, it.NearLimit())
		}
	}
	f.places.brought(len(its), heads)
	f.unlock()
	clear(its)
	hand.items = its
	return bytes
}

// fill copies what the session needs of a delivery.
func (p *pollers) fill(it *Item, in *driver.Delivery) {
	it.ID, it.Tenant, it.SentAt, it.Err = in.ID, in.Tenant, in.SentAt, in.Err
	it.handle, it.size, it.received = in.Handle, int64(len(in.Body)), in.Received
	if !in.FirstFailure.IsZero() {
		it.first = p.f.clock.of(in.FirstFailure)
	}
	if it.delay = p.cfg.Delay; !in.Due.IsZero() {
		it.delay = in.Due.Sub(in.SentAt)
	}
	if p.cfg.Channel.DeadLetter {
		it.Err = nil // dead letters cannot be rejected
	}
	if p.cfg.Channel.Ordered || in.OrderKey != "" {
		it.lane = laneOf(p.seed, in.OrderKey)
	}
	it.can = p.f.ledger.abilities(it, p.f.keeper.extend != nil)
}

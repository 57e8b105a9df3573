package engine

import "time"

// budget bounds the bytes that the items of one or more sessions hold together. Guarded by the fleet's lock.
type budget struct {
	limit  int64
	held   int64
	coming int64     // what the polls under way may bring
	wait   []*places // whose pollers to wake when less than the limit is held again
}

const (
	// shelfSize and shelfPart bound the shelf: items, and the part of the bytes that all items may have.
	shelfSize = 1000
	shelfPart = 4
)

// places bounds the items that a session holds: a poll reserves as many as it asks the service for. Lanes that wait for
// a retry stand on a shelf, which has a bound of its own: else a few of them would keep everything else out. Guarded by
// the fleet's lock.
type places struct {
	bytes *budget
	wake  chan struct{} // holds one: there may be room

	size     int       // places of the window
	ahead    ahead     // and those beyond it
	taken    int       // by items
	reserved int       // by polls under way
	wanted   int       // by the poller that waits; 0: none does
	settling int       // verdicts on their way to the service, bounded by size too
	shelved  int       // items on the shelf
	shelf    int64     // their bytes
	lacking  time.Time // since when a poller waits for places; zero: none does

	polls  int64 // under way
	brings int64 // bytes that a poll has brought recently, and so what one under way may bring
}

func newPlaces(size int, bytes *budget) places {
	return places{size: size, bytes: bytes, wake: make(chan struct{}, 1)}
}

// has says whether there are n places.
func (p *places) has(n int) bool {
	size := p.size + p.ahead.extra
	return p.taken+p.reserved+n <= size && p.settling <= size
}

// tight says whether polls might soon wait for what is being settled.
func (p *places) tight() bool {
	return 2*p.settling > p.size+p.ahead.extra || 2*p.bytes.held > p.bytes.limit
}

// tooMany says whether more is held than there are places, which have become fewer.
func (p *places) tooMany() bool { return p.taken+p.reserved > p.size+p.ahead.extra }

// pollsWorth is how many polls at once fill the places, each with so many items.
func (p *places) pollsWorth(batch int) int {
	return (p.size + p.ahead.extra + batch - 1) / max(batch, 1)
}

// reserve reserves n places for a poll, which ends with polled.
func (p *places) reserve(n int, first bool) bool {
	ok := p.has(n) && p.hasBytes(first)
	if ok {
		p.reserved += n
		p.polls++
		p.bytes.coming += p.brings
	}
	return ok
}

// waits notes whether a poller waits for n places.
func (p *places) waits(n int, yes bool) {
	switch {
	case !yes:
		p.wanted, p.lacking = 0, time.Time{}
	case p.lacking.IsZero():
		p.wanted, p.lacking = n, time.Now()
	}
}

// changed wakes the poller that waits once there are the places it wants: not for each single one of them.
func (p *places) changed() {
	if p.wanted == 0 || !p.has(p.wanted) {
		return
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// free returns the room that an item of a size had, and wakes the poller that waits for it.
func (p *places) free(size int64, what holding) {
	if what&hasPlace != 0 {
		p.taken--
	}
	if what&hasShelf != 0 {
		p.shelved, p.shelf = p.shelved-1, p.shelf-size
	}
	if what&hasSettle != 0 {
		p.settling--
	}
	if what&hasBytes != 0 {
		p.bytes.release(size)
	}
	p.changed()
}

// grow changes the number of places. What is taken beyond them is given back in time.
func (p *places) grow(more int) {
	p.size = max(1, p.size+more)
	p.changed()
}

// giveBack frees n reserved places that no item came to fill, or that an item has taken by now.
func (p *places) giveBack(n int) {
	p.reserved -= n
	p.changed()
}

// shelfFor says whether the shelf has room for n items of so many bytes.
func (p *places) shelfFor(n int, size int64) bool {
	return p.shelved+n <= shelfSize && p.shelf+size <= p.bytes.limit/shelfPart
}

// shelfBeside says whether there is more room on the shelf than a tenant has there already: n items of so many bytes.
// So one tenant takes half of the shelf, a second one half of the rest.
func (p *places) shelfBeside(n int, bytes, size int64) bool {
	return n < shelfSize-p.shelved && bytes+size <= p.bytes.limit/shelfPart-p.shelf
}

func (p *places) shelve(size int64) { p.shelved, p.shelf = p.shelved+1, p.shelf+size }

// answerCost is what an answer under way takes while it is read and decoded, in sizes of what it brings.
const answerCost = 3

// hasBytes says whether the budget has room for a poll. The first poller of a session asks for no room beside other
// polls, which may stay open without an answer for long; so one receive of each session may overshoot. Pollers that join
// it do ask.
func (p *places) hasBytes(first bool) bool {
	b := p.bytes
	return b.held < b.limit && (first || b.held+b.coming*answerCost < b.limit)
}

// polled ends a poll that brought so many bytes, which are held already.
func (p *places) polled(size int64) {
	const weight = 8 // the largest of the recent ones counts, and is forgotten slowly
	p.bytes.coming -= p.polls * p.brings
	p.polls--
	p.brings = max(size, p.brings-p.brings/weight)
	p.bytes.coming += p.polls * p.brings
	p.changed()
}

// release returns bytes, and wakes the pollers that wait when that makes room.
func (b *budget) release(size int64) {
	was := b.held
	b.held -= size
	if was < b.limit || b.held >= b.limit {
		return
	}
	for _, p := range b.wait {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

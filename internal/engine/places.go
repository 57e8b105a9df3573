package engine

import "time"

// budget bounds the bytes that the items of one or more sessions hold together. Guarded by the fleet's lock.
type budget struct {
	limit  int64
	held   int64
	coming int64     // what open polls may bring
	behind int       // items behind others of their lanes, of sessions whose places are for lanes
	wait   []*places // whose pollers to wake when less than the limit is held again
}

const (
	// shelfSize and shelfPart bound the shelf: the number of items, and the part of the bytes that all items may have.
	// An item that starts before its lease has to be renewed costs no request, so there may be soonSize of them.
	shelfSize = 1000
	soonSize  = 10_000
	shelfPart = 4
	// behindMost bounds the items of a process that wait behind others of their lanes, if places are for lanes. After a
	// kill, their lanes wait for their leases.
	behindMost = 2000
)

// places bounds the items that a session holds: a poll reserves as many places as it requests messages. Lanes that wait
// for a retry are on a shelf with a bound of its own; otherwise a few of them would take all places.
//
// If polls bring many items of one lane, a place is for a lane: for its first item, and those behind it count for
// themselves. A poll then reserves as many places as recent polls have brought lanes. Guarded by the fleet's lock.
type places struct {
	bytes *budget
	wake  chan struct{} // has room for one signal: there may be free places

	lanes    bool      // a place is for a lane
	size     int       // places of the window
	ahead    ahead     // additional places
	taken    int       // by items
	reserved int       // by open polls
	wanted   int       // by the poller that waits; 0: none waits
	settling int       // verdicts in flight, bounded by size, too
	behind   int       // items behind others of their lanes, if a place is for a lane
	shelved  int       // items on the shelf
	shelf    int64     // their bytes
	lacking  time.Time // since when a poller waits for places; zero: none waits

	polls  int64 // open polls
	brings int64 // bytes that a recent poll has brought, and an open one may bring
	spread int   // lanes that a recent poll has brought, and an open one may bring
}

func newPlaces(size int, bytes *budget) places {
	return places{size: size, bytes: bytes, wake: make(chan struct{}, 1), ahead: ahead{lane: 1}}
}

// has reports whether a poll for n messages finds its places free.
func (p *places) has(n int) bool {
	size, reserved := p.size+p.ahead.extra, p.reserved
	if p.lanes {
		reserved = min(reserved, int(p.polls)*p.spread)
		n = min(n, p.spread, max(1, size/2)) // a poll that may fill more is still worth it
	}
	return p.taken+reserved+n <= size && p.settling <= int(float64(size)*p.ahead.lane)
}

// tight reports whether polls might soon wait for what is being settled.
func (p *places) tight() bool {
	return 2*p.settling > int(float64(p.size+p.ahead.extra)*p.ahead.lane) || 2*p.bytes.held > p.bytes.limit
}

// tooMany reports whether more is held than there are places, because their number was reduced.
func (p *places) tooMany() bool {
	taken := p.taken
	if !p.lanes { // otherwise most of what is reserved is for items behind others
		taken += p.reserved
	}
	return taken > p.size+p.ahead.extra
}

// pollsWorth is how many concurrent polls fill the places, each with a batch. Polls that bring few lanes are as many as
// bring the lanes that end during a round trip.
func (p *places) pollsWorth(batch int) int {
	if p.lanes {
		return 1 + p.ahead.extra/max(1, p.spread)
	}
	return (p.size + p.ahead.extra + batch - 1) / max(batch, 1)
}

// asks is how many messages a poll requests, at most most: so few that the items behind others stay within their bound
// even if every poll brings one lane.
func (p *places) asks(most int) int {
	if !p.lanes {
		return most
	}
	each := (behindMost + p.size - 1) / p.size // rounded up, because lanes do not all begin at once
	return max(1, min(most, 1+each, 1+behindMost-p.bytes.behind))
}

// brought is called for the items of a poll; heads are the first ones of their lanes.
func (p *places) brought(n, heads int) {
	if !p.lanes {
		return
	}
	if p.spread > heads {
		p.spread -= (p.spread - heads + 7) / 8 // the largest of the recent polls counts, and decreases slowly
	} else {
		p.spread = heads
	}
	p.ahead.brought(n, heads)
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

// waits records whether a poller waits for n places.
func (p *places) waits(n int, yes bool) {
	switch {
	case !yes:
		p.wanted, p.lacking = 0, time.Time{}
	case p.lacking.IsZero():
		p.wanted, p.lacking = n, time.Now()
	}
}

// changed wakes the waiting poller when all the places are free that it needs.
func (p *places) changed() {
	if p.wanted == 0 || !p.has(p.wanted) {
		return
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// grow changes the number of places. If more are taken, they are returned over time.
func (p *places) grow(more int) {
	p.size = max(1, p.size+more)
	p.changed()
}

// unreserve returns n reserved places: no item has filled them, or an item has taken its place by now.
func (p *places) unreserve(n int) {
	p.reserved -= n
	p.changed()
}

// shelfFor reports whether the shelf has room for n items with a number of bytes. soon means that they start before
// their leases have to be renewed.
func (p *places) shelfFor(n int, size int64, soon bool) bool {
	most := shelfSize
	if soon {
		most = soonSize
	}
	return p.shelved+n <= most && p.shelf+size <= p.bytes.limit/shelfPart
}

// shelfBeside reports whether the shelf has more free room than a tenant uses already: n items with a number of bytes.
// So one tenant can use half of the shelf, and a second one half of the rest.
func (p *places) shelfBeside(n int, bytes, size int64) bool {
	return n < shelfSize-p.shelved && bytes+size <= p.bytes.limit/shelfPart-p.shelf
}

// answerCost is the memory for an answer while it is read and decoded, as a multiple of its bodies.
const answerCost = 3

// hasBytes reports whether the budget has room for a poll. For the first poller of a session, other open polls do not
// count, because they may stay open without an answer for long. So one receive of each session may exceed the budget.
// For additional pollers they count.
func (p *places) hasBytes(first bool) bool {
	b := p.bytes
	return b.held < b.limit && (first || b.held+b.coming*answerCost < b.limit)
}

// polled ends a poll that has brought a number of bytes, which are already counted as held.
func (p *places) polled(size int64) {
	const weight = 8 // the largest of the recent polls counts, and decreases slowly
	p.bytes.coming -= p.polls * p.brings
	p.polls--
	p.brings = max(size, p.brings-p.brings/weight)
	p.bytes.coming += p.polls * p.brings
	p.changed()
}

// give returns bytes, and wakes the waiting pollers if there is room again.
func (b *budget) give(size int64) {
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

const (
	// aheadWindow is the shortest time over which the rate is measured.
	aheadWindow = 20 * time.Millisecond
	// aheadCalm is the time without a poll's answer after which the rate is checked anyway.
	aheadCalm = time.Second
	// aheadAtLeast and aheadPerHandler bound the places ahead. If handlers suddenly take long, at most that many more
	// messages stay invisible, until their leases are due.
	aheadAtLeast    = 1200
	aheadPerHandler = 6
	// aheadTrip is the longest round trip. A poll that took longer has waited for messages.
	aheadTrip = 500 * time.Millisecond
	// aheadWeight is the weight of earlier round trips and handlers in their moving averages, against the new one.
	aheadWeight = 8
	// aheadSpare is a factor for the variation of polls and handlers.
	aheadSpare = 1.25
)

// ahead is how many places a session has in addition to its window, for messages that are in flight while handlers end:
// the rate of handlers times the round trip of a full poll. Without them a consumer holds only the deliveries of its
// handlers and of one receive, and its handlers wait for the network. The number follows the traffic: places that polls
// do not fill are not needed, and handlers that take a minute end too seldom to need any. Guarded by the fleet's lock.
type ahead struct {
	// bound; 0: none, because the service delivers all messages at once, or moves messages to the dead letters after
	// few receives
	most  int
	extra int

	lane  float64       // items that a poll brings of one lane, if a place is for a lane: a moving average
	trip  time.Duration // of a full poll, a moving average
	took  time.Duration // duration of a handler, a moving average
	ended int           // items that ended since at
	at    moment
}

// newAhead bounds the places for a number of handlers.
func newAhead(handlers int) ahead {
	return ahead{most: max(aheadAtLeast, aheadPerHandler*handlers), lane: 1}
}

// handled is called when a handler of n items has ended.
func (a *ahead) handled(n int, took time.Duration) {
	a.ended += n
	took = max(took, time.Microsecond)
	if a.took == 0 {
		a.took = took
	}
	a.took += (took - a.took) / aheadWeight
}

// polled is called for a poll's answer. It reports whether the number of places has changed. handlers is how many the
// session may run at the same time; alone means that no other session uses them.
func (a *ahead) polled(full bool, trip time.Duration, now moment, handlers int, alone bool) bool {
	if a.most == 0 {
		return false
	}
	if full {
		trip = min(trip, aheadTrip)
		if a.trip == 0 {
			a.trip = trip
		}
		a.trip += (trip - a.trip) / aheadWeight
	}
	lasts := now.since(a.at)
	if lasts < max(aheadWindow, a.trip) {
		return false
	}
	before := a.extra
	a.extra = a.worth(full, lasts, handlers, alone)
	a.ended, a.at = 0, now
	return a.extra != before
}

// calm is called from time to time. When handlers suddenly take long, polls wait for places, so that no answer would
// reduce the number.
func (a *ahead) calm(now moment) {
	lasts := now.since(a.at)
	if a.extra == 0 || lasts < max(aheadCalm, 2*a.trip) {
		return
	}
	a.extra = min(a.extra, int(a.recent(lasts)))
	a.ended, a.at = 0, now
}

// worth is how many places are needed. While polls are full, it is what handlers end during a round trip if all of them
// are busy. In a fleet, other sessions use the handlers, too, so the number at most doubles what has ended recently.
// When polls are not full, the handlers keep up, and what has ended recently is enough.
func (a *ahead) worth(full bool, lasts time.Duration, handlers int, alone bool) int {
	recent := a.recent(lasts)
	if !full || a.ended == 0 {
		return min(a.extra, int(recent))
	}
	busy := aheadSpare * float64(handlers) * float64(a.trip) / (float64(a.took) * a.lane)
	if !alone {
		busy = min(busy, 2*recent)
	}
	return min(a.most, int(busy))
}

// recent is how many places have become free during a round trip.
func (a *ahead) recent(lasts time.Duration) float64 {
	return float64(a.ended) / a.lane / float64(lasts) * float64(a.trip)
}

// brought is called for the items of a poll; heads are the first ones of their lanes.
func (a *ahead) brought(n, heads int) {
	if heads > 0 {
		a.lane += (float64(n)/float64(heads) - a.lane) / aheadWeight
	}
}

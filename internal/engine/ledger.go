package engine

import (
	"container/heap"
	"fmt"
	"math/bits"
	"strings"
)

// ledger has the parts in which the items of a session hold something. Only the ledger takes and returns it. It also
// counts how many items hold what, independently of the parts, so that both can be compared. Guarded by the fleet's
// lock.
type ledger struct {
	queue   queue
	places  places
	sources sources
	tenants *tenants // nil: tenants have no limit
	leases  timeline
	retries retries       // held retries, by the time when they are due
	running int           // items with a handler or an iterator's caller
	quiet   chan struct{} // gets a signal when none is running any more
	items   items

	tally [holdings]int // number of items that hold something, by its bit
	heirs []*tenant     // tenants that may start one more item, because a part of their share has become free
}

// take takes what an item does not hold yet.
func (l *ledger) take(it *Item, what holding) {
	what &^= it.held
	it.held |= what
	l.count(what, 1)
	p := &l.places
	if what&hasPlace != 0 {
		p.taken++
	}
	if what&hasBehind != 0 {
		p.behind++
		p.bytes.behind++
	}
	if what&hasShelf != 0 {
		p.shelved, p.shelf = p.shelved+1, p.shelf+it.size
		if it.held&hasAside != 0 {
			l.tenants.beside(it)
		}
	}
	if what&hasBytes != 0 {
		p.bytes.held += it.size
	}
	if what&hasStart != 0 {
		it.src.started++
	}
	if what&hasRun != 0 {
		l.running++
	}
	if what&hasShare != 0 {
		l.tenants.begin(it)
	}
	if what&hasAside != 0 {
		l.tenants.wait(it)
	}
	if what&hasTimer != 0 {
		heap.Push(&l.retries, it)
	}
	if what&hasSettle != 0 {
		p.settling++
	}
	if what&hasLine != 0 {
		l.queue.push(it)
	}
	if what&hasLane != 0 {
		it.src.join(it)
	}
}

// give returns what an item holds. An item that is gone is reused when it holds nothing more.
func (l *ledger) give(it *Item, what holding) {
	what &= it.held
	it.held &^= what
	l.count(what, -1)
	if what&hasLine != 0 {
		l.queue.remove(it)
	}
	if what&hasAside != 0 {
		l.tenants.unwait(it, (what|it.held)&hasShelf != 0)
	}
	if what&hasTimer != 0 {
		heap.Remove(&l.retries, it.heapAt)
	}
	if what&hasLane != 0 {
		it.src.leave(it)
	}
	if what&hasLease != 0 {
		l.leases.remove(it)
	}
	if what&hasShare != 0 {
		l.heirs = append(l.heirs, l.tenants.end(it))
	}
	if what&hasRun != 0 {
		if l.running--; l.running == 0 {
			select {
			case l.quiet <- struct{}{}:
			default:
			}
		}
	}
	if what&hasStart != 0 {
		it.src.started--
		it.src.check()
	}
	if what&hasStint != 0 {
		it.stint = nil
	}
	p := &l.places
	if what&hasPlace != 0 {
		p.taken--
	}
	if what&hasBehind != 0 {
		p.behind--
		p.bytes.behind--
	}
	if what&hasShelf != 0 {
		p.shelved, p.shelf = p.shelved-1, p.shelf-it.size
	}
	if what&hasSettle != 0 {
		p.settling--
	}
	if what&hasBytes != 0 {
		p.bytes.give(it.size)
	}
	if what&(hasPlace|hasBehind|hasShelf|hasSettle|hasBytes) != 0 {
		p.changed()
	}
	l.recycle(it)
}

// shelve exchanges what an item has in the window for room on the shelf.
func (l *ledger) shelve(it *Item) {
	l.take(it, hasShelf)
	l.give(it, it.held&(hasPlace|hasBehind))
}

// unshelve is the reverse.
func (l *ledger) unshelve(it *Item) {
	if it.state == behind && l.places.lanes {
		l.take(it, hasBehind)
	} else {
		l.take(it, hasPlace)
	}
	l.give(it, hasShelf)
}

// recycle allows an item to be reused when it is gone and nothing refers to it.
func (l *ledger) recycle(it *Item) {
	if it.state == gone && it.held == 0 {
		l.items.put(it)
	}
}

func (l *ledger) count(what holding, n int) {
	for rest := uint16(what); rest != 0; rest &= rest - 1 {
		l.tally[bits.TrailingZeros16(rest)] += n
	}
}

// imbalance describes where the parts differ from what items hold; "": nowhere. The bytes of a fleet are compared only
// for a session that is alone, because all sessions share them.
func (l *ledger) imbalance() string {
	var parts []string
	compare := func(what holding, there int, name string) {
		if held := l.tally[bits.TrailingZeros16(uint16(what))]; held != there {
			parts = append(parts, fmt.Sprintf("%d %s for %d deliveries", there, name, held))
		}
	}
	started, lanes := l.sources.count()
	compare(hasPlace, l.places.taken, "places")
	compare(hasBehind, l.places.behind, "places behind others")
	compare(hasShelf, l.places.shelved, "places on the shelf")
	compare(hasSettle, l.places.settling, "verdicts in flight")
	compare(hasLine, l.queue.n, "entries of the bus")
	compare(hasTimer, len(l.retries), "held retries")
	compare(hasRun, l.running, "running")
	compare(hasStart, started, "starts")
	if lanes > l.tally[bits.TrailingZeros16(uint16(hasLane))] {
		parts = append(parts, fmt.Sprintf("%d lanes for fewer deliveries", lanes))
	}
	if t := l.tenants; t != nil {
		compare(hasShare, t.out, "shares")
		compare(hasAside, int(t.waiting.Load()), "deliveries that wait for their tenant")
	}
	return strings.Join(parts, ", ")
}

// left describes what a session still holds; "": nothing. At the end of a session this is a leak.
func (l *ledger) left(alone bool) string {
	names := [holdings]string{
		"places", "places behind others", "places on the shelf", "parts of the byte budget", "leases",
		"positions in lanes",
		"entries of the bus", "deliveries that wait for their tenant", "held retries", "shares", "starts", "running",
		"verdicts in flight", "handlers", "renewals",
	}
	var parts []string
	say := func(n int, what string) {
		if n != 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	for i, n := range l.tally {
		if holding(1<<i)&outlasts == 0 { // the report counts handlers that have not returned
			say(n, names[i])
		}
	}
	say(l.leases.n, "leases on the timeline")
	say(l.places.reserved, "places of polls")
	say(int(l.places.polls), "polls")
	say(l.queue.active, "handlers that count for the limit")
	if l.tenants != nil {
		say(len(l.tenants.by), "tenants")
	}
	if alone {
		say(int(l.places.bytes.held), "bytes")
	}
	if text := l.imbalance(); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// abilities is what an item can hold at all: an item without a lane holds no position in a lane, and so on.
func (l *ledger) abilities(it *Item, leases bool) holding {
	can := hasPlace | hasBytes | hasStart | hasRun | hasSettle | hasLine | hasTimer
	if leases {
		can |= hasLease
	}
	switch {
	case it.lane != 0:
		can |= hasLane
	case l.tenants != nil && it.Tenant != "":
		can |= hasShare | hasAside
	}
	return can
}

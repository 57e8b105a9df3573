package engine

import "time"

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

// brought is called for the items of a poll, of which heads are the first ones of their lanes.
func (a *ahead) brought(n, heads int) {
	if heads > 0 {
		a.lane += (float64(n)/float64(heads) - a.lane) / aheadWeight
	}
}

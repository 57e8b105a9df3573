package engine

import "time"

const (
	// aheadWindow is the shortest time over which the rate is measured.
	aheadWindow = 20 * time.Millisecond
	// aheadCalm is after how long without a poll's answer the rate is looked at all the same.
	aheadCalm = time.Second
	// aheadAtLeast and aheadPerHandler bound the places ahead, where the backend does not: handlers that suddenly take
	// long then hide that many messages more, until their leases are due.
	aheadAtLeast    = 1200
	aheadPerHandler = 6
	// aheadTrip is the longest round trip. A poll that took longer has waited for messages.
	aheadTrip = 500 * time.Millisecond
	// aheadWeight is the weight of what is known of a round trip, or of a handler, against what is new.
	aheadWeight = 8
	// aheadSpare is for what polls and handlers differ in from one time to the next.
	aheadSpare = 1.25
)

// ahead is how many places a session has beyond its window, for what is on its way while handlers end: the rate of handlers
// times the round trip of a poll that comes back full. Without them a consumer holds no more than its handlers and one
// receive, and its handlers wait for the network. It follows the traffic: places that polls do not fill are not needed,
// and handlers of a minute end so seldom that no place is worth it. Guarded by the fleet's lock.
type ahead struct {
	most  int // bound; 0: there are none, since the service hands out all there is at once, or gives up after few receives
	extra int

	trip  time.Duration // of a full poll, smoothed
	took  time.Duration // by a handler, smoothed
	ended int           // items, since at
	at    moment
}

// newAhead bounds the places for so many handlers.
func newAhead(handlers int) ahead { return ahead{most: max(aheadAtLeast, aheadPerHandler*handlers)} }

// handled takes in that a handler of n items has ended.
func (a *ahead) handled(n int, took time.Duration) {
	a.ended += n
	took = max(took, time.Microsecond)
	if a.took == 0 {
		a.took = took
	}
	a.took += (took - a.took) / aheadWeight
}

// polled takes in a poll's answer, and says whether the number of places has changed. handlers is how many the session may run
// at once; alone says that no other session takes them.
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

// calm takes in that time passes, which is all there is to go by when handlers suddenly take long: polls then wait for places.
func (a *ahead) calm(now moment) {
	lasts := now.since(a.at)
	if a.extra == 0 || lasts < max(aheadCalm, 2*a.trip) {
		return
	}
	a.extra = min(a.extra, int(float64(a.ended)/float64(lasts)*float64(a.trip)))
	a.ended, a.at = 0, now
}

// worth is how many places are needed while polls come back full: for what handlers end during a round trip when all of them are
// busy. In a fleet others have handlers too, so the number only doubles from what has ended lately. Where polls do not come back
// full, the handlers keep up, and what has ended lately is enough.
func (a *ahead) worth(full bool, lasts time.Duration, handlers int, alone bool) int {
	recent := float64(a.ended) / float64(lasts) * float64(a.trip)
	if !full || a.ended == 0 {
		return min(a.extra, int(recent))
	}
	busy := aheadSpare * float64(handlers) * float64(a.trip) / float64(a.took)
	if !alone {
		busy = min(busy, 2*recent)
	}
	return min(a.most, int(busy))
}

package engine

import "time"

// moment is a point in time as a session counts it. A time.Time is three words, one of them a pointer that the garbage
// collector follows; a delivery has half a dozen of them, and a session thousands of deliveries.
type moment int64

const (
	noMoment moment = 0         // it has not come, or is not known
	never    moment = 1<<63 - 1 // later than every other
)

// plus is the moment after a while.
func (m moment) plus(d time.Duration) moment { return m + moment(d) }

// since is how long ago another was.
func (m moment) since(earlier moment) time.Duration { return time.Duration(m - earlier) }

// clock turns times into moments, and back.
type clock struct{ zero time.Time }

// newClock makes a clock whose moments from now on are later than noMoment.
func newClock() clock { return clock{time.Now().Add(-time.Hour)} }

func (c clock) now() moment { return moment(time.Since(c.zero)) }

// of is the moment of a time.
func (c clock) of(t time.Time) moment { return moment(t.Sub(c.zero)) }

// time is the time of a moment.
func (c clock) time(m moment) time.Time { return c.zero.Add(time.Duration(m)) }

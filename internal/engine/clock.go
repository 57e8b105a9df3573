package engine

import "time"

// moment is a point in time, relative to the session's clock. It saves memory: a time.Time is three words, one of them
// a pointer that the garbage collector follows. A delivery has half a dozen of them, and a session has thousands of
// deliveries.
type moment int64

const (
	noMoment moment = 0         // not reached, or unknown
	never    moment = 1<<63 - 1 // later than all others
)

// plus is the moment after a duration.
func (m moment) plus(d time.Duration) moment { return m + moment(d) }

// since is the duration since an earlier moment.
func (m moment) since(earlier moment) time.Duration { return time.Duration(m - earlier) }

// clock converts times to moments, and back.
type clock struct{ zero time.Time }

// newClock makes a clock whose moments are later than noMoment from now on.
func newClock() clock { return clock{time.Now().Add(-time.Hour)} }

func (c clock) now() moment { return moment(time.Since(c.zero)) }

// of converts a time.
func (c clock) of(t time.Time) moment { return moment(t.Sub(c.zero)) }

// time converts a moment.
func (c clock) time(m moment) time.Time { return c.zero.Add(time.Duration(m)) }

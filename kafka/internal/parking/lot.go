package parking

import (
	"cmp"
	"slices"
	"time"
)

// Standing is a message's position in the lot of its key.
type Standing uint8

const (
	Outside Standing = iota // the lot does not know it
	InHand                  // delivered: no later message of its key may be delivered before it is settled
	Leaving                 // delivered, and it already has a spot, because it is retried
	Parked                  // it has a spot
)

// spot is the place of one parked message.
type spot[M comparable] struct {
	offset  int64 // in the channel's own partition
	m       M     // zero: away
	blocked bool  // it is due, and waits until it is the first
}

// lot is the parked messages of one key.
//
// It also counts delivered messages, because they can still fail: until they are settled, a message of the key that
// comes in a later round may neither be handled nor moved to a tier.
type lot[M comparable] struct {
	spots   []spot[M]
	due     time.Time // the latest due time of the spots
	hands   int       // number of delivered messages that were not parked
	round   uint64    // the round in which they were delivered
	waiting []M       // messages of later rounds
}

func (l *lot[M]) find(offset int64) (i int, found bool) {
	return slices.BinarySearchFunc(l.spots, offset, func(s spot[M], offset int64) int {
		return cmp.Compare(s.offset, offset)
	})
}

// put sets the message in the spot of an offset.
func (l *lot[M]) put(offset int64, m M) {
	if i, found := l.find(offset); found {
		l.spots[i].m = m
	} else {
		l.spots = slices.Insert(l.spots, i, spot[M]{offset: offset, m: m})
	}
}

// until notes a message's due time.
func (l *lot[M]) until(due time.Time) {
	if l.due.Before(due) {
		l.due = due
	}
}

// first returns the message in the first spot, if it is due and waits only to be the first.
func (l *lot[M]) first() (m M, ok bool) {
	if len(l.spots) == 0 || !l.spots[0].blocked {
		return m, false
	}
	return l.spots[0].m, true
}

package parking

import (
	"cmp"
	"slices"
	"time"
)

// Standing is where a message stands in its key's lot.
type Standing uint8

const (
	Outside Standing = iota // it is not known to the lot
	InHand                  // it is in the core's hands: nothing of its key that came later may go before it is settled
	Leaving                 // likewise, and it has a spot already, because it is to be retried
	Parked                  // it has a spot
)

// spot is the place of one parked message.
type spot[M comparable] struct {
	offset  int64 // in the channel's own partition
	m       M     // zero: away
	blocked bool  // it is due, and waits until it is the first
}

// lot is what is parked of one key.
//
// What is in the core's hands counts as well: whether it fails is known when it is settled, and nothing of its key that
// comes in a later round may be handled, or be moved to a tier, before that.
type lot[M comparable] struct {
	spots   []spot[M]
	due     time.Time // the latest of the spots'
	hands   int       // messages in the core's hands that were not parked when they went
	round   uint64    // in which they went
	waiting []M       // came later
}

func (l *lot[M]) find(offset int64) (i int, found bool) {
	return slices.BinarySearchFunc(l.spots, offset, func(s spot[M], offset int64) int {
		return cmp.Compare(s.offset,
			offset)
	})
}

// put gives a message the spot of an offset.
func (l *lot[M]) put(offset int64, m M) {
	if i, found := l.find(offset); found {
		l.spots[i].m = m
	} else {
		l.spots = slices.Insert(l.spots, i, spot[M]{offset: offset, m: m})
	}
}

// until notes when a message is due.
func (l *lot[M]) until(due time.Time) {
	if l.due.Before(due) {
		l.due = due
	}
}

// first returns what stands first, if it only waits for that.
func (l *lot[M]) first() (m M, ok bool) {
	if len(l.spots) == 0 || !l.spots[0].blocked {
		return m, false
	}
	return l.spots[0].m, true
}

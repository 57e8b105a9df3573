package parking

import (
	"slices"
	"time"
)

// Key names a lot: a partition of the channel's own topic, and what order is kept by in it.
type Key struct {
	Partition int32
	Name      string
}

// Answer says what becomes of a message that wants to go.
type Answer uint8

const (
	Go   Answer = iota // its way is free: it may be handled as soon as it is due
	Wait               // it waits here, behind what is in the core's hands
	Hold               // it waits in its spot until it is the first
	Move               // it follows the parked ones of its key into a tier
	Drop               // another copy of it has its spot
)

// Visit is a message that wants to go.
type Visit[M comparable] struct {
	M        M
	Offset   int64 // in the channel's own partition
	Standing Standing
	Copy     bool      // it was read from a tier
	Due      time.Time // zero: it is due
}

// Lots are the lots of all keys. The zero value keeps what is retried in this process; see Away.
type Lots[M comparable] struct {
	// Away: what is parked is copied to a tier, and read from there again. It does not change.
	Away bool

	lots     map[Key]*lot[M]
	freed    []Key // nothing of these is in the core's hands any more, and something waited for that
	blocked  int   // messages that wait until others are settled
	barriers barriers
}

// Enter asks whether a message may go in this round, and returns where it stands then.
func (l *Lots[M]) Enter(k Key, v Visit[M], now time.Time, round uint64) (Answer, Standing) {
	lot := l.at(k)
	if !v.Copy && v.Standing == Outside && len(lot.spots) == 0 {
		return l.hand(lot, v.M, round)
	}
	var away M
	i, found := lot.find(v.Offset)
	switch {
	case !found && !v.Copy && l.Away:
		return Move, Outside
	case !found:
		lot.spots = slices.Insert(lot.spots, i, spot[M]{offset: v.Offset, m: v.M})
	case lot.spots[i].m == v.M:
	case lot.spots[i].m == away && v.Copy:
		lot.spots[i].m = v.M
	default: // its copy waits in a tier since before a crash; or it is a second copy
		return Drop, Outside
	}
	lot.until(v.Due)
	if v.Due.After(now) {
		return Go, Parked // it waits until then, wherever it stands
	}
	switch first := i == 0 && !l.barriers.holds(k.Partition); {
	case first && (v.Copy || !l.Away || lot.hands == 0):
		return Go, Parked
	case !v.Copy && l.Away: // it could not be moved when it came
		return Move, Parked
	}
	if !lot.spots[i].blocked {
		lot.spots[i].blocked = true
		l.blocked++
	}
	return Hold, Parked
}

// hand says whether a message that is not parked may go: with those of its round, and else when they are settled.
func (l *Lots[M]) hand(lot *lot[M], m M, round uint64) (Answer, Standing) {
	if len(lot.waiting) > 0 || lot.hands > 0 && lot.round != round {
		lot.waiting = append(lot.waiting, m)
		l.blocked++
		return Wait, Outside
	}
	lot.hands++
	lot.round = round
	return Go, InHand
}

// Reserve gives a message a spot that is to be retried, or moved behind those of its key. Where parked messages go to a
// tier, the spot is away from now on, because the copy may be read before it is known to be written.
func (l *Lots[M]) Reserve(k Key, m M, offset int64, due time.Time, at Standing) Standing {
	lot := l.at(k)
	lot.until(due)
	if l.Away {
		var away M
		m = away
	}
	lot.put(offset, m)
	if at == InHand || at == Leaving {
		return Leaving
	}
	return Parked
}

// Reclaim gives a message its spot back whose copy could not be written, unless a copy was read all the same.
func (l *Lots[M]) Reclaim(k Key, m M, offset int64) {
	var away M
	if lot := l.lots[k]; lot != nil {
		if i, found := lot.find(offset); found && lot.spots[i].m == away {
			lot.spots[i].m = m
		}
	}
}

// Return takes a message out of the core's hands. again: something waited for that, and Resume lets it go on.
func (l *Lots[M]) Return(k Key, at Standing) (now Standing, again bool) {
	if at != InHand && at != Leaving {
		return at, false
	}
	now = Outside
	if at == Leaving {
		now = Parked
	}
	lot := l.lots[k]
	if lot == nil {
		return now, false
	}
	lot.hands--
	return now, l.tidy(k, lot)
}

// Free gives up the spot of a message that is finished. next is the one that stands first then, if it only waits for
// that. again is as with Return.
func (l *Lots[M]) Free(k Key, m M, offset int64) (next M, ok, again bool) {
	lot := l.lots[k]
	if lot == nil {
		return next, false, false
	}
	if i, found := lot.find(offset); found && lot.spots[i].m == m {
		lot.spots = slices.Delete(lot.spots, i, i+1)
		if i == 0 {
			next, ok = l.release(lot)
		}
	}
	return next, ok, l.tidy(k, lot)
}

// release returns what stands first of a lot, if it only waits for that.
func (l *Lots[M]) release(lot *lot[M]) (m M, ok bool) {
	if m, ok = lot.first(); ok {
		lot.spots[0].blocked = false
		l.blocked--
	}
	return m, ok
}

// tidy notes that what waits behind the core's hands may go on when they are empty, and forgets a lot with nothing in
// it.
func (l *Lots[M]) tidy(k Key, lot *lot[M]) (again bool) {
	switch {
	case lot.hands > 0:
	case len(lot.waiting) > 0:
		l.freed = append(l.freed, k)
		return true
	case len(lot.spots) == 0:
		delete(l.lots, k)
	}
	return false
}

// Resume routes what waited behind the core's hands, while there is room.
func (l *Lots[M]) Resume(room func() int, route func(M)) {
	keys := l.freed
	l.freed = nil
	for _, k := range keys {
		lot := l.lots[k]
		if lot == nil || lot.hands > 0 {
			continue
		}
		waiting := lot.waiting
		lot.waiting = nil
		for i, m := range waiting {
			if room() == 0 {
				lot.waiting = append(lot.waiting, waiting[i:]...)
				break
			}
			l.blocked--
			route(m)
		}
		l.tidy(k, lot)
	}
}

// Due is when a message may come back that is moved behind those of its key: not before them. at is when it is due
// itself.
func (l *Lots[M]) Due(k Key, at time.Time) time.Time {
	if lot := l.lots[k]; lot != nil && lot.due.After(at) {
		return lot.due
	}
	return at
}

// Blocked is how many messages wait until others are settled.
func (l *Lots[M]) Blocked() int { return l.blocked }

// Forget forgets the lots of a partition that is another member's.
func (l *Lots[M]) Forget(partition int32) {
	for k, lot := range l.lots {
		if k.Partition != partition {
			continue
		}
		l.blocked -= len(lot.waiting)
		for i := range lot.spots {
			l.unblock(&lot.spots[i])
		}
		delete(l.lots, k)
	}
}

// ForgetCopies makes the spots of messages away that were read from a tier which is another member's now.
func (l *Lots[M]) ForgetCopies(partition int32, gone func(M) bool) {
	var away M
	for k, lot := range l.lots {
		if k.Partition != partition {
			continue
		}
		for i := range lot.spots {
			if s := &lot.spots[i]; s.m != away && gone(s.m) {
				l.unblock(s)
				s.m = away
			}
		}
	}
}

func (l *Lots[M]) unblock(s *spot[M]) {
	if s.blocked {
		s.blocked = false
		l.blocked--
	}
}

func (l *Lots[M]) at(k Key) *lot[M] {
	one := l.lots[k]
	if one == nil {
		if l.lots == nil {
			l.lots = map[Key]*lot[M]{}
		}
		one = &lot[M]{}
		l.lots[k] = one
	}
	return one
}

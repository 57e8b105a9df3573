package parking

import (
	"slices"
	"time"
)

// Key is the key of a lot: a partition of the channel's own topic, and the unit of order in the partition.
type Key struct {
	Partition int32
	Name      string
}

// Answer says where a message goes that asks to be handled.
type Answer uint8

const (
	Go   Answer = iota // no message is before it: it may be handled as soon as it is due
	Wait               // it waits in this process, behind delivered messages
	Hold               // it waits in its spot until it is the first
	Move               // it goes to a tier, behind the parked messages of its key
	Drop               // another copy of it has its spot
)

// Visit is a message that asks to be handled.
type Visit[M comparable] struct {
	M        M
	Offset   int64 // in the channel's own partition
	Standing Standing
	Copy     bool      // it was read from a tier
	Due      time.Time // zero: it is due
}

// Lots are the lots of all keys. The zero value is for retries that wait in this process; see Away.
type Lots[M comparable] struct {
	// Away says that parked messages are copied to a tier, and read from there again. It does not change.
	Away bool

	lots     map[Key]*lot[M]
	freed    []Key // keys that have no delivered message any more, but waiting ones
	blocked  int   // number of messages that wait until others are settled
	barriers barriers
}

// Enter asks whether a message may be handled in this round, and returns its new position in the lot.
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
	default: // its copy has waited in a tier since before a crash; or this is a second copy
		return Drop, Outside
	}
	lot.until(v.Due)
	if v.Due.After(now) {
		return Go, Parked // it waits for its due time first, in whatever position
	}
	switch first := i == 0 && !l.barriers.holds(k.Partition); {
	case first && (v.Copy || !l.Away || lot.hands == 0):
		return Go, Parked
	case !v.Copy && l.Away: // it could not be moved when it arrived
		return Move, Parked
	}
	if !lot.spots[i].blocked {
		lot.spots[i].blocked = true
		l.blocked++
	}
	return Hold, Parked
}

// hand delivers a message that is not parked, if no message of an earlier round is still delivered; else it waits.
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

// Reserve gives a spot to a message that is retried, or moved behind the messages of its key. With Away, the spot is
// away at once, because the copy may be read before the broker has confirmed it.
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

// Reclaim returns the spot to a message whose copy could not be written, unless a copy was read all the same.
func (l *Lots[M]) Reclaim(k Key, m M, offset int64) {
	var away M
	if lot := l.lots[k]; lot != nil {
		if i, found := lot.find(offset); found && lot.spots[i].m == away {
			lot.spots[i].m = m
		}
	}
}

// Return ends the delivery of a message. again: other messages waited for that, and Resume routes them.
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

// Free gives up the spot of a finished message. next is then the first message, if it waits only to be the first. again
// is as with Return.
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

// release returns the first message of a lot, if it waits only to be the first, and ends its wait.
func (l *Lots[M]) release(lot *lot[M]) (m M, ok bool) {
	if m, ok = lot.first(); ok {
		lot.spots[0].blocked = false
		l.blocked--
	}
	return m, ok
}

// tidy notes a lot whose waiting messages may go on because no message is delivered, and deletes an empty lot.
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

// Resume routes the messages that waited behind delivered ones, while there is room.
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

// Due is when a message is due that is moved behind those of its key: not before them. at is its own due time.
func (l *Lots[M]) Due(k Key, at time.Time) time.Time {
	if lot := l.lots[k]; lot != nil && lot.due.After(at) {
		return lot.due
	}
	return at
}

// Blocked is the number of messages that wait until others are settled.
func (l *Lots[M]) Blocked() int { return l.blocked }

// Forget deletes the lots of a partition that now belongs to another member.
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

// ForgetCopies marks spots as away whose messages were read from a tier that now belongs to another member.
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

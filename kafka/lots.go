package kafka

import (
	"time"

	"github.com/godwitmq/godwit/kafka/internal/parking"
)

// lots keeps the order of keys across retries, where the channel's Retries is RetryPark; else nothing is in it. Guarded
// by ledger.mu.
type lots struct {
	sub *subscription
	parking.Lots[*message]
}

// key names a message's lot.
func (l *lots) key(m *message) parking.Key {
	if l.sub.set.Ordering == OrderByPartition {
		return parking.Key{Partition: m.epoch.N}
	}
	return parking.Key{Partition: m.epoch.N, Name: string(m.record.Key)}
}

// enter asks whether nothing of a message's key is before it.
func (l *lots) enter(m *message, now time.Time, round uint64) (answer parking.Answer) {
	v := parking.Visit[*message]{M: m, Offset: m.home(), Standing: m.stands, Copy: m.epoch.stay > 0, Due: m.due}
	answer, m.stands = l.Enter(l.key(m), v, now, round)
	return answer
}

// reserve keeps a message's place in its key while it is copied.
func (l *lots) reserve(m *message, due time.Time) {
	if l.sub.parks(m) {
		m.stands = l.Reserve(l.key(m), m, m.home(), due, m.stands)
	}
}

// reclaim is called when a message could not be copied.
func (l *lots) reclaim(m *message) {
	if l.sub.parks(m) && m.epoch.state != epochGone {
		l.Reclaim(l.key(m), m, m.home())
	}
}

// behind is when a message may come back that is moved to a tier: not before what is parked of its key.
func (l *lots) behind(m *message) time.Time {
	at := m.due
	if now := time.Now(); at.Before(now) {
		at = now
	}
	if !l.sub.parks(m) {
		return at
	}
	return l.Due(l.key(m), at)
}

// leave takes a message out of its key's hands. It keeps its spot, unless it is over. next is the one that stands first
// then, if it only waits for that; again: something waited for the hands to be empty.
func (l *lots) leave(m *message, over bool) (next *message, again bool) {
	k := l.key(m)
	m.stands, again = l.Return(k, m.stands)
	if m.stands != parking.Parked || !over {
		return nil, again
	}
	m.stands = parking.Outside
	next, ok, more := l.Free(k, m, m.home())
	if !ok {
		next = nil
	}
	return next, again || more
}

// forget forgets what is parked of an epoch that has ended.
func (l *lots) forget(e *epoch) {
	if e.stay == 0 {
		l.Forget(e.N)
	} else {
		l.ForgetCopies(e.N, func(m *message) bool { return m.epoch == e })
	}
}

package records

import (
	"time"

	"github.com/godwitmq/godwit/kafka/internal/parking"
)

// lots keeps the order of each key across its retries, if the channel's Retries is RetryPark; otherwise it is empty.
// Guarded by Ledger.mu.
type lots struct {
	rules *Rules
	parking.Lots[*Message]
}

// key is the key of a message's lot.
func (l *lots) key(m *Message) parking.Key {
	if l.rules.ByPartition {
		return parking.Key{Partition: m.Epoch.N}
	}
	return parking.Key{Partition: m.Epoch.N, Name: string(m.Record.Key)}
}

// enter asks whether no message of the same key is before this one.
func (l *lots) enter(m *Message, now time.Time, round uint64) (answer parking.Answer) {
	v := parking.Visit[*Message]{M: m, Offset: m.home(), Standing: m.stands, Copy: m.Epoch.Stay > 0, Due: m.due}
	answer, m.stands = l.Enter(l.key(m), v, now, round)
	return answer
}

// reserve keeps the message's spot in its lot while its copy is published.
func (l *lots) reserve(m *Message, due time.Time) {
	if l.rules.Keeps(m.Record) {
		m.stands = l.Reserve(l.key(m), m, m.home(), due, m.stands)
	}
}

// reclaim undoes reserve after the copy could not be published.
func (l *lots) reclaim(m *Message) {
	if l.rules.Keeps(m.Record) && m.Epoch.state != epochGone {
		l.Reclaim(l.key(m), m, m.home())
	}
}

// behind is when a message that is moved to a tier is due: not before the parked messages of its key.
func (l *lots) behind(m *Message) time.Time {
	at := m.due
	if now := time.Now(); at.Before(now) {
		at = now
	}
	if !l.rules.Keeps(m.Record) {
		return at
	}
	return l.Due(l.key(m), at)
}

// leave ends the delivery of a message in its lot. The message keeps its spot unless over is true. next is the message
// that is first now, if it waits for nothing else; again: messages of the key waited for this delivery to end.
func (l *lots) leave(m *Message, over bool) (next *Message, again bool) {
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

// forget removes the parked messages of an epoch that has ended.
func (l *lots) forget(e *Epoch) {
	if e.Stay == 0 {
		l.Forget(e.N)
	} else {
		l.ForgetCopies(e.N, func(m *Message) bool { return m.Epoch == e })
	}
}

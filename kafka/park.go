package kafka

import (
	"slices"
	"time"

	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// barrierPatience is how long a partition waits at most for its tiers to be read up to where they ended when it was assigned.
const barrierPatience = 30 * time.Second

// lot holds what is parked of one key, in the order of the log: only the first of it may be handled. It is Park's memory; after
// a restart it is filled again from the tiers, before anything of the channel's own partition is admitted. Guarded by
// receiver.mu.
//
// What is in the core's hands counts too: whether it fails is known when it is settled, and nothing of its key that comes in a
// later round may be handled, or be moved to a tier, before that.
type lot struct {
	spots   []spot
	due     time.Time  // the latest
	hands   int        // in the core's hands, and not from a spot
	round   uint64     // in which they were delivered
	waiting []*message // came later
}

// spot is one parked record.
type spot struct {
	offset int64    // at home
	m      *message // nil: on its way to a tier, or in one and not yet read
	ready  bool     // due, and waiting to be the first
}

type lotKey struct {
	n   int32
	key string
}

// parks says that order is kept across a message's retry. Without a key, on a channel that is not ordered, nothing comes after it.
func (r *receiver) parks(m *message) bool {
	return r.set.Retries == Park && (len(m.record.Key) > 0 || r.from.Ordered || r.set.Ordering == ByPartition)
}

func (r *receiver) lotOf(m *message) (lotKey, *lot) {
	k := lotKey{m.epoch.N, m.key(r.set.Ordering)}
	return k, r.lots[k]
}

func (l *lot) find(offset int64) (i int, found bool) {
	return slices.BinarySearchFunc(l.spots, offset, func(s spot, offset int64) int { return int(max(-1, min(1, s.offset-offset))) })
}

// park gives a record that leaves for a tier its spot. The caller holds r.mu.
func (r *receiver) park(m *message, due time.Time) {
	if !r.parks(m) {
		return
	}
	k, l := r.lotOf(m)
	if l == nil {
		l = &lot{}
		r.lots[k] = l
	}
	if l.due.Before(due) {
		l.due = due
	}
	at := spot{offset: wire.HomeOrHere(m.record).Offset}
	if !r.retry.Durable() {
		at.m = m
	}
	m.parked = true
	if i, found := l.find(at.offset); found {
		l.spots[i] = at
	} else {
		l.spots = slices.Insert(l.spots, i, at)
	}
}

// hand says whether a message may go to the core: with those of its round, and else when they are settled.
func (l *lot) hand(m *message, round uint64) bool {
	if len(l.waiting) > 0 || l.hands > 0 && l.round != round {
		l.waiting = append(l.waiting, m)
		m.waits = true
		m.epoch.hold(m, 1)
		return false
	}
	l.hands++
	l.round, m.handed = round, true
	return true
}

// handed takes a message back that the core has settled. The caller holds r.mu.
func (r *receiver) handed(m *message) {
	r.vacate(m)
	if !m.handed {
		return
	}
	m.handed = false
	if k, l := r.lotOf(m); l != nil {
		l.hands--
		r.tidy(k, l)
	}
}

// tidy lets what waits behind the core's hands go on when they are empty, and forgets a lot with nothing in it.
func (r *receiver) tidy(k lotKey, l *lot) {
	switch {
	case l.hands > 0:
	case len(l.waiting) > 0:
		r.again = append(r.again, k)
		r.nudge()
	case len(l.spots) == 0:
		delete(r.lots, k)
	}
}

// goOn routes what waited behind the core's hands. The caller holds r.mu.
func (in *intake) goOn() {
	keys := in.r.again
	in.r.again = nil
	for _, k := range keys {
		l := in.r.lots[k]
		if l == nil || l.hands > 0 {
			continue
		}
		ws := l.waiting
		l.waiting = nil
		for i, w := range ws {
			if len(in.out)+len(in.move) >= in.most {
				l.waiting = append(l.waiting, ws[i:]...)
				break
			}
			w.waits = false
			w.epoch.hold(w, -1)
			in.route(w)
		}
		in.r.tidy(k, l)
	}
}

// proceed says whether a message may go its way: nothing of its key is parked before it. The caller holds r.mu.
func (r *receiver) proceed(m *message, round uint64) bool {
	k, l := r.lotOf(m)
	if l == nil {
		l = &lot{}
		r.lots[k] = l
	}
	if m.epoch.stay == 0 && !m.parked && len(l.spots) == 0 {
		return l.hand(m, round)
	}
	offset := wire.HomeOrHere(m.record).Offset
	i, found := l.find(offset)
	switch {
	case m.epoch.stay == 0 && !m.back && !m.parked && found: // its copy stands in a tier since before a crash
		m.epoch.tracker.Finish(m.seq)
		m.record = nil
		return false
	case m.epoch.stay == 0 && !m.back && r.retry.Durable():
		return false
	case !found:
		l.spots = slices.Insert(l.spots, i, spot{offset: offset, m: m})
	case l.spots[i].m == nil:
		l.spots[i].m = m
	case l.spots[i].m != m: // a second copy
		m.epoch.tracker.Finish(m.seq)
		m.record = nil
		return false
	}
	m.parked = true
	if l.due.Before(m.due) {
		l.due = m.due
	}
	if m.due.After(time.Now()) {
		return true // it waits, wherever it stands
	}
	l.spots[i].ready = true
	return i == 0 && !r.catching[m.epoch.N]
}

// unpark takes a finished message out of its lot; the next of its key may then be handled. The caller holds r.mu.
func (r *receiver) unpark(m *message) {
	if !m.parked {
		return
	}
	k, l := r.lotOf(m)
	if l == nil {
		return
	}
	i, found := l.find(wire.HomeOrHere(m.record).Offset)
	if !found || l.spots[i].m != m {
		return
	}
	l.spots = slices.Delete(l.spots, i, i+1)
	if i == 0 && len(l.spots) > 0 && l.spots[0].ready && l.spots[0].m != nil {
		r.line.add(l.spots[0].m, time.Now())
		r.nudge()
	}
	r.tidy(k, l)
}

// dueBehind is when a message may come back that is moved to a tier: not before what is parked of its key. The caller holds
// r.mu.
func (r *receiver) dueBehind(m *message) time.Time {
	at := m.due
	if now := time.Now(); at.Before(now) {
		at = now
	}
	if !r.parks(m) {
		return at
	}
	if _, l := r.lotOf(m); l != nil && l.due.After(at) {
		at = l.due
	}
	return at
}

// barred says whether a partition has to wait until its tiers are read. The caller holds r.mu.
func (r *receiver) barred(e *epoch) bool { return e.stay == 0 && r.catching[e.N] }

// catchUp lets go on what waited for tiers that are read up to where they ended when they were assigned: until then, what stands
// first of a key is not known. The caller holds r.mu.
func (r *receiver) catchUp(m *member, now time.Time) {
	for n := range r.catching {
		if r.behind(m, n, now) {
			continue
		}
		delete(r.catching, n)
		for k, l := range r.lots {
			if k.n == n && len(l.spots) > 0 && l.spots[0].ready && l.spots[0].m != nil {
				r.line.add(l.spots[0].m, now)
			}
		}
	}
}

func (r *receiver) behind(m *member, n int32, now time.Time) bool {
	for topic := range r.tiers {
		if t := m.epochs[wire.Partition{Topic: topic, N: n}]; t != nil && t.next < t.barrier && now.Sub(t.begun) < barrierPatience {
			return true
		}
	}
	return false
}

// forgetLots forgets what is parked of an epoch that ends. The caller holds r.mu.
func (r *receiver) forgetLots(e *epoch) {
	for k, l := range r.lots {
		if k.n != e.N {
			continue
		}
		if e.stay == 0 {
			delete(r.lots, k)
			continue
		}
		for i := range l.spots {
			if s := &l.spots[i]; s.m != nil && s.m.epoch == e {
				s.m, s.ready = nil, false
			}
		}
	}
}

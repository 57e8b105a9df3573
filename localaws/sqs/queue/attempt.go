package queue

import (
	"errors"
	"time"
)

// ErrAttempt says that a receive cannot be repeated, because one of its messages was deleted, changed or has become
// visible again.
var ErrAttempt = errors.New("queue: the receive cannot be repeated")

// attemptWindow is how long a FIFO queue remembers a ReceiveRequestAttemptId.
const attemptWindow = 5 * time.Minute

// attempt is a receive that can be repeated by its attempt id.
type attempt struct {
	name  string
	at    time.Duration
	taken []taken
}

// taken is one message of an attempt as it was returned. It names the item, and does not keep its message, which may be
// deleted within the window.
type taken struct {
	key  int64
	turn turn
}

// attempts are the receives of a FIFO queue that can be repeated.
type attempts struct {
	byName map[string]*attempt
	ages   []*attempt // in order of time
}

// find returns the receive with an attempt id, or nil if there was none within the window.
func (all *attempts) find(name string, now time.Duration) *attempt {
	old := 0
	for old < len(all.ages) && all.ages[old].at+attemptWindow <= now {
		if a := all.ages[old]; all.byName[a.name] == a {
			delete(all.byName, a.name)
		}
		old++
	}
	all.ages = all.ages[old:]
	return all.byName[name]
}

// remember makes a receive one that can be repeated.
func (t *taking) remember() {
	a, all := &attempt{name: t.r.Attempt, at: t.now}, &t.q.attempts
	for _, r := range t.got {
		key, turn, _ := t.q.stamp.parse(r.Handle)
		a.taken = append(a.taken, taken{key: key, turn: turn})
	}
	all.byName[a.name] = a
	all.ages = append(all.ages, a)
}

// again returns the same messages with the same handles, and restarts their visibility timeouts. It does not count as a
// receive.
func (t *taking) again(a *attempt) error {
	items := make([]*item, 0, len(a.taken))
	for _, k := range a.taken {
		it := t.q.items.at(k.key)
		if it == nil || it.state != InFlight || it.turn != k.turn ||
			it.past.newest().changed {
			return ErrAttempt
		}
		items = append(items, it)
	}
	d := t.r.Visibility
	if d == Default {
		d = t.config.Visibility
	}
	for _, it := range items {
		t.q.timed.remove(it)
		it.due, it.past.latest = t.now+d, t.now
		t.q.timed.push(it)
		t.q.journal.state(it)
		t.give(it)
	}
	return nil
}

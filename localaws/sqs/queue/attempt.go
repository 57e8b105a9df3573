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

// taken is one message of an attempt as it was returned.
type taken struct {
	it     *item
	serial uint32
}

// attempt returns the receive with an attempt id, or nil if there was none within the window.
func (q *Queue) attempt(name string, now time.Duration) *attempt {
	old := 0
	for old < len(q.attemptAges) && q.attemptAges[old].at+attemptWindow <= now {
		if a := q.attemptAges[old]; q.attempts[a.name] == a {
			delete(q.attempts, a.name)
		}
		old++
	}
	q.attemptAges = q.attemptAges[old:]
	return q.attempts[name]
}

func (q *Queue) rememberAttempt(t *taking) {
	a := &attempt{name: t.r.Attempt, at: t.now}
	for _, r := range t.got {
		key, serial, _ := q.parseHandle(r.Handle)
		a.taken = append(a.taken, taken{it: q.items.at(key), serial: serial})
	}
	q.attempts[a.name] = a
	q.attemptAges = append(q.attemptAges, a)
}

// again returns the same messages with the same handles, and restarts their visibility timeouts. It does not count as a
// receive.
func (t *taking) again(a *attempt) error {
	for _, k := range a.taken {
		it := k.it
		if t.q.items.at(it.key) != it || it.state != InFlight || it.serial != k.serial ||
			it.receives[len(it.receives)-1].changed {
			return ErrAttempt
		}
	}
	d := t.r.Visibility
	if d == Default {
		d = t.config.Visibility
	}
	for _, k := range a.taken {
		t.q.timed.remove(k.it)
		k.it.due, k.it.latest = t.now+d, t.now
		t.q.timed.push(k.it)
		t.got = append(t.got, t.q.received(k.it))
	}
	return nil
}

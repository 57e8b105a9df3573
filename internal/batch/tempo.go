package batch

import "time"

// tempo is what an adaptive Batcher has measured about its callers and the service: whether more entries come while one
// waits, and how long a call takes. Its methods get the current time as an argument. The owner holds a lock around
// them.
type tempo struct {
	linger, longest time.Duration // Options.Linger and Options.Longest

	trip     time.Duration // how long a successful call takes, a moving average; 0: none has succeeded yet
	last     time.Time     // the last call of Add
	soon     float64       // share of calls of Add that came soon after the one before, a moving average
	back     float64       // share of answered entries that were followed by a new one at once, a moving average
	landed   time.Time     // when entries were answered last
	answered int           // entries answered since back was computed
	returned int           // entries added since then, at most as many as were answered
}

const (
	// tripWeight, soonWeight and backWeight are the weights of a new observation in the moving averages.
	tripWeight, soonWeight, backWeight = 1.0 / 8, 1.0 / 16, 1.0 / 4
	// company is the share of calls of Add that come within half of a wait if their mean distance is half of that wait
	// and they are independent of each other: 1 - 1/e. With a larger share, a wait is likely to bring two more entries.
	company = 0.63
	// closed is the share of answered entries followed by a new one at once from which the callers are assumed to run
	// in a loop: each adds again when it is answered, so that a wait lowers their rate.
	closed = 0.6
	// openShare and closedShare are the divisors of a call's duration that bound how long an entry waits. An entry
	// waits for a half if no caller's rate depends on the answers, and for a sixteenth if callers run in a loop. These
	// then keep 16/17 of the rate that they would have without the wait.
	openShare, closedShare = 2, 16
	// sample is how many answered entries are enough to compute back when answers come without a pause.
	sample = 32
)

func newTempo(linger, longest time.Duration) *tempo {
	return &tempo{linger: linger, longest: longest, soon: 0.5}
}

// came is called for a call of Add with n entries.
func (t *tempo) came(n int, now time.Time) {
	hit := 0.0
	if !t.last.IsZero() && now.Sub(t.last) <= t.wait()/2 {
		hit = 1
	}
	t.soon += soonWeight * (hit - t.soon)
	t.last = now
	if t.fresh(now) {
		t.returned = min(t.answered, t.returned+n)
	}
}

// took is called with the duration of a call that succeeded.
func (t *tempo) took(d time.Duration) {
	if t.trip == 0 {
		t.trip = d
		return
	}
	t.trip += time.Duration(tripWeight * float64(d-t.trip))
}

// land is called when n entries were answered.
func (t *tempo) land(n int, now time.Time) {
	if t.answered > 0 && (!t.fresh(now) || t.answered >= sample) {
		t.back += backWeight * (float64(t.returned)/float64(t.answered) - t.back)
		t.answered, t.returned = 0, 0
	}
	t.answered += n
	t.landed = now
}

// fresh reports whether the last answers are so recent that their callers may still add again.
func (t *tempo) fresh(now time.Time) bool { return !t.landed.IsZero() && now.Sub(t.landed) <= t.linger }

// awaited reports whether callers in a loop have been answered and have not added again yet.
func (t *tempo) awaited(now time.Time) bool {
	return t.loops() && t.returned < t.answered && t.fresh(now)
}

// loops reports whether the callers run in a loop.
func (t *tempo) loops() bool { return t.back > closed }

// wait is how long an entry waits for others, if others are likely. Before the first answer the duration of a call is
// unknown; the wait is then long enough for callers that start at the same time.
func (t *tempo) wait() time.Duration {
	switch {
	case t.trip == 0:
		return min(t.linger/4, t.longest)
	case t.loops():
		return min(t.trip/closedShare, t.longest)
	}
	return min(t.trip/openShare, t.longest)
}

// until is the time at which entries that do not fill a batch are sent. The first of them came at since, and away
// batches are in flight.
func (t *tempo) until(since, now time.Time, away int) time.Time {
	awaited := t.awaited(now)
	end := since
	// Entries that waited for another one of their key become queued without a call of Add. They say nothing about what
	// comes next.
	coming := now.Sub(t.last) <= t.wait()
	if coming && t.soon > company && (away > 0 || awaited || !t.loops()) {
		end = since.Add(t.wait())
	}
	if back := t.landed.Add(t.linger); awaited && back.After(end) {
		end = back
	}
	return end
}

package batch

import "time"

// tempo is what an adaptive Batcher has learned of those who add entries and of the service: whether waiting brings company,
// and what it costs. Its methods take the time, and its owner guards it.
type tempo struct {
	linger, longest time.Duration // Options.Linger and Options.Longest

	trip     time.Duration // how long a call takes, the mean of late; 0: none has succeeded yet
	last     time.Time     // when Add was called last
	soon     float64       // part of the calls of Add that came soon after the one before
	back     float64       // part of the answered entries that were followed by another one at once
	landed   time.Time     // when entries were answered last
	answered int           // entries answered, since back was computed last
	returned int           // entries added since then, at most as many
}

const (
	// tripWeight, soonWeight and backWeight are what one more observation counts for in a mean.
	tripWeight, soonWeight, backWeight = 1.0 / 8, 1.0 / 16, 1.0 / 4
	// company is the part of calls of Add that come within half of a wait if their mean distance is half of that wait, and
	// they come independently of each other: 1 - 1/e. Beyond it, a wait is likely to bring two others or more.
	company = 0.63
	// closed is the part of entries that are followed by another one at once beyond which it is the answers that make the
	// entries come: callers in a loop, whose rate is what a wait costs.
	closed = 0.6
	// openShare and closedShare are how long an entry waits for company at most, as a part of a call's time: a half
	// where no caller's rate depends on it, and a sixteenth where it does, which leaves callers in a loop 16/17 of the rate
	// that they would have alone.
	openShare, closedShare = 2, 16
	// sample is how many answered entries are enough to compute back, where the answers never pause.
	sample = 32
)

func newTempo(linger, longest time.Duration) *tempo {
	return &tempo{linger: linger, longest: longest, soon: 0.5}
}

// came notes a call of Add with n entries.
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

// took notes how long a call took that succeeded.
func (t *tempo) took(d time.Duration) {
	if t.trip == 0 {
		t.trip = d
		return
	}
	t.trip += time.Duration(tripWeight * float64(d-t.trip))
}

// land notes that n entries were answered.
func (t *tempo) land(n int, now time.Time) {
	if t.answered > 0 && (!t.fresh(now) || t.answered >= sample) {
		t.back += backWeight * (float64(t.returned)/float64(t.answered) - t.back)
		t.answered, t.returned = 0, 0
	}
	t.answered += n
	t.landed = now
}

// fresh says whether those who were answered last may still be about to come back.
func (t *tempo) fresh(now time.Time) bool { return !t.landed.IsZero() && now.Sub(t.landed) <= t.linger }

// awaited says whether callers in a loop have been answered and are not back yet.
func (t *tempo) awaited(now time.Time) bool {
	return t.loops() && t.returned < t.answered && t.fresh(now)
}

// loops says whether the entries are those of callers in a loop.
func (t *tempo) loops() bool { return t.back > closed }

// wait is how long an entry waits for company, where company is likely. Before the first answer nothing is known of
// the service: then it is long enough for those who begin together.
func (t *tempo) wait() time.Duration {
	switch {
	case t.trip == 0:
		return min(t.linger/4, t.longest)
	case t.loops():
		return min(t.trip/closedShare, t.longest)
	}
	return min(t.trip/openShare, t.longest)
}

// until is when entries that do not fill a batch leave, the first of which came at since, with so many batches under way.
func (t *tempo) until(since, now time.Time, away int) time.Time {
	awaited := t.awaited(now)
	end := since
	coming := now.Sub(t.last) <= t.wait() // entries may also come from behind one of their key, and then prove nothing
	if coming && t.soon > company && (away > 0 || awaited || !t.loops()) {
		end = since.Add(t.wait())
	}
	if back := t.landed.Add(t.linger); awaited && back.After(end) {
		end = back
	}
	return end
}

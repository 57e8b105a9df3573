package pace

import (
	"math"
	"time"
)

const (
	enough = 4           // handlers before a gauge can be compared; the comparison accounts for small numbers
	window = time.Minute // after this time, the older part of a gauge counts half
	// trial is how long a growth is observed, or four service times if longer, because problems may appear late.
	trial      = time.Minute
	tooMany    = 0.2  // share of failures from which the pool may be the cause
	worth      = 0.25 // part of the growth that must appear as growth of throughput
	muchSlower = 1.5  // slower than before the growth by this factor: measure first
	errorBars  = 2    // standard deviations by which a difference must exceed noise

	firstPause = 30 * time.Second
	longest    = 30 * time.Minute // the longest pause; after that time a pause is also forgotten
)

// gauge is the performance of one size of the pool while all its workers were busy.
type gauge struct {
	size   int
	took   time.Duration
	ended  float64 // handlers
	failed float64
	spent  time.Duration // in handlers that ended
}

// rate returns the number of successful handlers per second.
func (g gauge) rate() float64 { return (g.ended - g.failed) / g.took.Seconds() }

// failures returns the share of failures.
func (g gauge) failures() float64 { return g.failed / g.ended }

// service returns the mean duration of a handler, in seconds.
func (g gauge) service() float64 { return g.spent.Seconds() / g.ended }

type verdict int

const (
	unclear verdict = iota
	better
	worse
)

// against compares a larger size with the smaller one that it grew from. It is worse if failures rose above a relevant
// share, or if handlers became slower and the throughput hardly grew. It is better if the throughput clearly grew. The
// comparison allows for the noise of small numbers. If all handlers fail at both sizes, the result is unclear.
func (g gauge) against(b gauge) verdict {
	if b.ended < enough || g.ended < enough {
		return unclear
	}
	noise := math.Sqrt(1/b.ended + 1/g.ended)
	gain, needed := g.gain(b), g.needed(b)
	switch {
	case g.failures() >= max(tooMany, b.failures()+tooMany/2+noise):
		return worse
	case gain*(1+errorBars*noise) < needed && g.service() > min(needed, muchSlower)*b.service():
		return worse
	case gain*(1-errorBars*noise) >= needed:
		return better
	}
	return unclear
}

// gain returns the throughput relative to that of the smaller size.
func (g gauge) gain(b gauge) float64 { return g.rate() / b.rate() }

// needed returns the smallest gain that justifies the larger size.
func (g gauge) needed(b gauge) float64 { return 1 + worth*(float64(g.size)/float64(b.size)-1) }

// measure adds a tick to the gauge of the current size if all workers were busy during it; only then the throughput
// shows what the size can do. For two service times after a change, the handlers that end may have started at the old
// size.
func (p *Pacer) measure(s Sample, took time.Duration) {
	full := s.Waiting && s.Busy >= fullFrom && s.Workers == p.size
	settled := !s.Now.Add(-took * 4 / 5).Before(p.changed.Add(2 * p.service))
	if !full || !settled {
		return
	}
	if g := &p.now; g.took >= window {
		g.took, g.ended, g.failed, g.spent = g.took/2, g.ended/2, g.failed/2, g.spent/2
	}
	p.now.took += took
	p.now.ended += float64(s.Ended)
	p.now.failed += float64(s.Failed)
	p.now.spent += time.Duration(s.Ended) * s.Service
}

// judge ends the trial of the last growth if the comparison is clear or its time is over, and reports whether the
// growth was reverted. Above a limit that was too high before, a growth without a clear improvement is reverted, too.
func (p *Pacer) judge(now time.Time) (takenBack bool) {
	if p.pause > 0 && now.Sub(p.until) > longest {
		p.pause = 0
	}
	if p.before.size == 0 {
		return false
	}
	v := p.now.against(p.before)
	over := now.Sub(p.changed) >= max(trial, 4*p.service)
	idle := p.pause > 0 && p.now.ended >= enough && p.now.gain(p.before) < p.now.needed(p.before)
	switch {
	case v == worse, over && idle:
		p.retreat(now)
		return true
	case over:
		p.vindicate(v)
		p.before = gauge{}
	}
	return false
}

// vindicate clears the pauses if a growth beyond the limit was a clear improvement.
func (p *Pacer) vindicate(v verdict) {
	if v == better && p.size > p.limit {
		p.pause = 0
	}
}

// retreat goes back to the last size that was as good. If several steps were taken before they could be compared, this
// size may lie between them: it is the size with the same throughput at the smaller size's throughput per worker.
func (p *Pacer) retreat(now time.Time) {
	size := float64(p.before.size)
	if gain := p.now.gain(p.before); gain > 1+worth {
		size *= gain
	}
	p.limit = max(min(roundUp(size), p.size-1), p.opts.Floor)
	p.pause = min(max(2*p.pause, firstPause), longest)
	p.until = now.Add(p.pause)
	p.resize(p.limit, now)
	p.before = gauge{}
	p.calm, p.peak = 0, 0
}

// top returns the largest size that may be tried now. After a growth was reverted, it is the limit until the pause is
// over; from below the limit, one step never passes it.
func (p *Pacer) top(now time.Time) int {
	if p.pause > 0 && (now.Before(p.until) || p.size < p.limit) {
		return min(p.limit, p.opts.Ceiling)
	}
	return p.opts.Ceiling
}

// ready reports whether another growth may follow. The last one should have been measured, unless this takes too long
// or handlers are not much slower since. Above a limit that was too high before, each step is compared before the next
// one.
func (p *Pacer) ready(now time.Time) bool {
	if p.pause > 0 && p.size >= p.limit {
		return p.now.ended >= enough && (p.before.size == 0 || p.now.against(p.before) == better)
	}
	slower := p.before.ended > 0 && p.service.Seconds() > muchSlower*p.before.service()
	return p.now.took > 0 || !slower && now.Sub(p.changed) >= patience
}

// try grows on trial. The growth is compared with the size it starts from, or with an older one while the steps since
// then are not known to be improvements.
func (p *Pacer) try(size int, now time.Time) {
	v := better
	if p.before.size > 0 {
		v = p.now.against(p.before)
		p.vindicate(v)
	}
	if v == better {
		p.before = gauge{}
		if p.now.ended >= enough {
			p.before = p.now
		}
	}
	p.resize(size, now)
}

package pace

import (
	"math"
	"time"
)

const (
	enough     = 4           // handlers before a gauge is worth comparing; the comparison allows for how few they are
	window     = time.Minute // after which what a gauge saw counts half
	trial      = time.Minute // that a growth is watched for, or four services if longer: trouble may come late
	tooMany    = 0.2         // share of failures from which they may be the pool's fault
	worth      = 0.25        // of the growth that must come out as growth of throughput
	muchSlower = 1.5         // than before the growth: reason to measure first
	errorBars  = 2           // deviations by which a measurement must be clear

	firstPause = 30 * time.Second
	longest    = 30 * time.Minute // pause; also after that long it is forgotten
)

// gauge is what one size of the pool achieved while it was full.
type gauge struct {
	size   int
	took   time.Duration
	ended  float64 // handlers
	failed float64
	spent  time.Duration // in those that ended
}

// rate is how many handlers succeeded in a second.
func (g gauge) rate() float64 { return (g.ended - g.failed) / g.took.Seconds() }

// failures is their share.
func (g gauge) failures() float64 { return g.failed / g.ended }

// service is the mean time of a handler, in seconds.
func (g gauge) service() float64 { return g.spent.Seconds() / g.ended }

type verdict int

const (
	unclear verdict = iota
	better
	worse
)

// against judges a larger size by the smaller one it grew from. It is worse when failures rose to a height that
// matters, or when handlers became slower and almost no more of them succeed. It is better when clearly more succeed.
// Counts of few handlers are noise, which is allowed for; what is all failures at both sizes stays unclear.
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

// gain is how many times as many handlers succeed as with the smaller size.
func (g gauge) gain(b gauge) float64 { return g.rate() / b.rate() }

// needed is the least gain that makes the larger size worth its workers.
func (g gauge) needed(b gauge) float64 { return 1 + worth*(float64(g.size)/float64(b.size)-1) }

// measure adds a tick to the gauge of the present size, if the pool was full all along: only then does what ended tell
// what the size can do. Until two services after a change, what ends was begun at the old size, or its like was.
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

// judge ends the trial of the last growth if there is something to say or its time is over, and says whether it was
// taken back. Beyond a limit that once was too much, a growth that has nothing to show for itself goes back too.
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

// vindicate forgets the pauses when a growth beyond the limit was clearly good.
func (p *Pacer) vindicate(v verdict) {
	if v == better && p.size > p.limit {
		p.pause = 0
	}
}

// retreat goes back to the last size that was as good. Where several steps were taken before they could be judged,
// that may lie between them: the size that gives the same at the rate of the smaller one's workers.
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

// top is the largest size that may be tried now: once burnt, up to the limit until the pause is over, and from below
// never past it in one step.
func (p *Pacer) top(now time.Time) int {
	if p.pause > 0 && (now.Before(p.until) || p.size < p.limit) {
		return min(p.limit, p.opts.Ceiling)
	}
	return p.opts.Ceiling
}

// ready says whether another growth may follow. The last one should have been measured, if that does not take too
// long or handlers are much slower since; beyond a limit that once was too much, each step is judged before the next.
func (p *Pacer) ready(now time.Time) bool {
	if p.pause > 0 && p.size >= p.limit {
		return p.now.ended >= enough && (p.before.size == 0 || p.now.against(p.before) == better)
	}
	slower := p.before.ended > 0 && p.service.Seconds() > muchSlower*p.before.service()
	return p.now.took > 0 || !slower && now.Sub(p.changed) >= patience
}

// try grows, on trial: by the gauge of the size it leaves, or by an older one while it is not clear that the steps
// since were any good.
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

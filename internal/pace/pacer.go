package pace

import (
	"math"
	"time"
)

const (
	// idleBelow and fullFrom are bounds of the share of time that workers spend in handlers. Below idleBelow the pool
	// has workers to spare; above fullFrom the throughput shows what the size can do. Shrinking aims between them.
	idleBelow = 0.6
	shrinkTo  = 0.75
	fullFrom  = 0.8

	interval = 5 * time.Second // expected time between ticks; a longer one counts as one
	calmFor  = 4 * interval    // calm time before the pool shrinks; a single moment between two polls means nothing
	// patience is how long a growth may be measured before the next one; with more, long and slow handlers get workers
	// too late.
	patience = 10 * time.Second
	fresh    = 0.3 // weight of the newest tick in a smoothed value: about three ticks
	// A pool grows to growth times the workers that had work, and to leap times as many while a known backlog needs
	// more and no growth was reverted lately: with twofold steps a large backlog is old before the pool is large.
	growth = 2
	leap   = 8
)

// Options are the bounds of a Pacer.
type Options struct {
	Floor, Ceiling int           // Floor below 1 means 1; a Ceiling not above Floor means a constant size
	Tolerance      time.Duration // the age at which a delivery should have started; 0: a constant size
}

// Sample is what happened since the last tick. The age of a delivery counts from the time at which it became due, so a
// waiting retry is not old.
type Sample struct {
	Now     time.Time
	Workers int // number of workers

	Started, Ended, Failed int // numbers of handlers; Ended includes Failed
	// Oldest is the greatest age at which a delivery started, or that of the oldest waiting one; 0: none.
	Oldest  time.Duration
	Service time.Duration // mean duration of the handlers that ended; 0: none ended
	Busy    float64       // share of the workers' time in handlers, 0..1
	Waiting bool          // work was waiting for a worker at the end
	Backlog int64         // deliveries in the service; 0: unknown
}

// Pacer is the controller. Its caller serializes the calls.
type Pacer struct {
	opts Options
	size int // the last result

	last     time.Time     // time of the last tick
	oldest   time.Duration // at the last tick
	arrivals float64       // per second, smoothed
	service  time.Duration // smoothed; 0: no handler has ended yet

	calm time.Duration // how long the load has been calm without interruption
	peak float64       // busy workers in the busiest tick of this time

	changed     time.Time // when size changed
	now, before gauge     // of this size, and of the one it grew from while the growth is on trial

	limit int           // size to which a growth was reverted
	until time.Time     // when a larger size may be tried
	pause time.Duration // the last pause; 0: no growth was reverted recently
}

// New returns a Pacer that begins with the floor.
func New(o Options) *Pacer {
	o.Floor = max(o.Floor, 1)
	if o.Ceiling < o.Floor || o.Tolerance <= 0 {
		o.Ceiling = o.Floor
	}
	return &Pacer{opts: o, size: o.Floor, now: gauge{size: o.Floor}}
}

// Tick evaluates a sample and returns how many workers there should be until the next tick, which is expected five
// seconds later. The first sample only sets the time from which the second one counts.
func (p *Pacer) Tick(s Sample) (workers int) {
	took := s.Now.Sub(p.last)
	first := p.last.IsZero()
	p.last = s.Now
	if first || took <= 0 {
		p.oldest = s.Oldest
		return p.size
	}
	p.learn(s, took)
	if p.opts.Ceiling > p.opts.Floor {
		p.decide(s, took)
	}
	return p.size
}

// Wanted returns how many workers would finish a backlog in the remaining part of the tolerance, and at least the
// number that arrivals need. It applies neither floor nor ceiling, so it may be more than one process has. Beyond what
// arrivals need, it is never more than one per waiting delivery. If no tolerance remains, a quarter of it is assumed.
// While no handler has ended, the current size is returned, at most the backlog. 0 means that no delivery waits or
// arrives.
func (p *Pacer) Wanted(backlog int64, oldest time.Duration) (workers int) {
	if backlog > 0 && p.service == 0 {
		return int(min(backlog, int64(p.size)))
	}
	var n float64
	if backlog > 0 {
		left := max(p.opts.Tolerance-max(oldest, 0), p.opts.Tolerance/4)
		n = min(float64(backlog)*p.service.Seconds()/left.Seconds(), float64(backlog))
	}
	return roundUp(max(n, p.steady()))
}

// Quiet records that there were no ticks since the last one: the arrivals decrease as if each omitted tick had seen
// none.
func (p *Pacer) Quiet(now time.Time) {
	if took := now.Sub(p.last); !p.last.IsZero() && took > 2*interval {
		p.arrivals *= math.Pow(1-fresh, took.Seconds()/interval.Seconds())
		p.last = now
	}
}

// learn updates the arrivals and the service time. Deliveries start in about the order in which they came, so those
// that started in a tick came within its duration minus the growth of their age. If the age grows as fast as the clock,
// they came all at once; therefore the estimate is limited to four times the number that started.
func (p *Pacer) learn(s Sample, took time.Duration) {
	within := max(took-(s.Oldest-p.oldest), took/4)
	p.oldest = s.Oldest
	p.arrivals += fresh * (float64(s.Started)/within.Seconds() - p.arrivals)
	switch {
	case s.Ended == 0 || s.Service <= 0:
	case p.service == 0:
		p.service = s.Service
	default:
		p.service += time.Duration(fresh * float64(s.Service-p.service))
	}
}

// steady returns the number of workers that arrivals keep busy.
func (p *Pacer) steady() float64 { return p.arrivals * p.service.Seconds() }

func (p *Pacer) decide(s Sample, took time.Duration) {
	p.measure(s, took)
	if p.judge(s.Now) {
		return
	}
	if s.Waiting && (s.Oldest >= p.opts.Tolerance/2 || p.early(s) > float64(p.size)) {
		p.grow(s)
	}
	p.rest(s, took)
}

// early returns how many workers a known backlog needs, whatever its current age. They have half of the tolerance for
// it, because the pool grows in steps.
func (p *Pacer) early(s Sample) float64 {
	return min(float64(s.Backlog)*p.service.Seconds()/(p.opts.Tolerance/2).Seconds(), float64(s.Backlog))
}

// grow adds the workers that the backlog needs, in addition to those that arrivals keep busy. The backlog is known or,
// once it is old, follows from age and arrivals. The pool grows by a multiple of the workers that had work: if workers
// are idle although work waits, the bottleneck is elsewhere. While most handlers fail, it does not grow.
func (p *Pacer) grow(s Sample) {
	if 2*s.Failed > s.Ended {
		return
	}
	aim := growth * p.working(s)
	if p.service > 0 {
		wanted := p.early(s)
		if wanted > aim && p.pause == 0 {
			aim = leap * p.working(s)
		}
		if s.Oldest >= p.opts.Tolerance/2 {
			wanted = max(wanted, float64(p.Wanted(int64(p.arrivals*s.Oldest.Seconds()), s.Oldest))+p.steady())
		}
		aim = min(aim, wanted)
	}
	size := min(roundUp(aim), p.top(s.Now))
	if size > p.size && p.ready(s.Now) {
		p.try(size, s.Now)
	}
}

// rest removes a quarter of the workers after several calm ticks, but keeps as many as the busiest of these ticks
// needed. Slow handlers make slow load changes, so the calm must last at least two service times.
func (p *Pacer) rest(s Sample, took time.Duration) {
	if s.Busy >= idleBelow || s.Oldest >= p.opts.Tolerance/4 {
		p.calm, p.peak = 0, 0
		return
	}
	p.calm += min(took, interval)
	p.peak = max(p.peak, p.working(s))
	if p.calm < calmFor || p.peak > 0 && p.calm < 2*p.service {
		return
	}
	size := max(p.size-max(p.size/4, 1), roundUp(p.peak/shrinkTo), p.opts.Floor)
	if size < p.size {
		p.resize(size, s.Now)
		p.before = gauge{}
	}
	p.calm, p.peak = 0, 0
}

// working returns how many workers had work, on average.
func (p *Pacer) working(s Sample) float64 {
	return min(max(s.Busy, 0), 1) * float64(min(s.Workers, p.size))
}

func (p *Pacer) resize(size int, now time.Time) {
	p.size, p.changed, p.now = size, now, gauge{size: size}
}

// roundUp returns a whole number of workers; less than a hundredth of a worker counts as zero. The upper bound prevents
// an overflow.
func roundUp(workers float64) int {
	return int(min(max(math.Ceil(workers-0.01), 0), math.MaxInt32))
}

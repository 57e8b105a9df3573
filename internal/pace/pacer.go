package pace

import (
	"math"
	"time"
)

const (
	// idleBelow and fullFrom bound the share of time that workers spend in handlers: a pool below the one has workers
	// to spare, one above the other shows what its size can do. Shrinking aims between them.
	idleBelow = 0.6
	shrinkTo  = 0.75
	fullFrom  = 0.8

	interval = 5 * time.Second  // between ticks; a longer one still counts as one
	calmFor  = 4 * interval     // in a row before it shrinks: one quiet moment between two polls means nothing
	patience = 10 * time.Second // that a growth gets to be measured before the next; longer and slow handlers come too late
	fresh    = 0.3              // weight of the newest tick in a smoothed value: about three ticks
)

// Options bound a Pacer.
type Options struct {
	Floor, Ceiling int           // Floor below 1 means 1; a Ceiling not above it means a constant size
	Tolerance      time.Duration // the age at which a delivery should have started; 0: a constant size
}

// Sample is what was seen since the last tick. Ages count from when a delivery became due, so that a retry that was
// told to wait is not old.
type Sample struct {
	Now     time.Time
	Workers int // there were

	Started, Ended, Failed int           // handlers; Failed are among Ended
	Oldest                 time.Duration // greatest age at which a delivery started, or of the oldest that waits; 0: none
	Service                time.Duration // mean time that a handler took; 0: none ended
	Busy                   float64       // share of the workers' time in handlers, 0..1
	Waiting                bool          // work was waiting for a worker at the end
	Backlog                int64         // deliveries that the service still has, as far as is known; 0: unknown
}

// Pacer is the controller. Its caller serializes the calls.
type Pacer struct {
	opts Options
	size int // the last answer

	last     time.Time     // tick
	oldest   time.Duration // at the last tick
	arrivals float64       // per second, smoothed
	service  time.Duration // smoothed; 0: no handler has ended yet

	calm time.Duration // in a row
	peak float64       // workers that were busy in the busiest tick of it

	changed     time.Time // when size did
	now, before gauge     // of this size; of the one it grew from, while the growth is on trial

	limit int           // size that was gone back to
	until time.Time     // when a larger one may be tried
	pause time.Duration // the last one; 0: nothing was taken back lately
}

// New makes a Pacer that begins at the floor.
func New(o Options) *Pacer {
	o.Floor = max(o.Floor, 1)
	if o.Ceiling < o.Floor || o.Tolerance <= 0 {
		o.Ceiling = o.Floor
	}
	return &Pacer{opts: o, size: o.Floor, now: gauge{size: o.Floor}}
}

// Tick takes a sample in and says how many workers there should be until the next, which is expected five seconds
// later. The first sample only tells the time from which the second one counts.
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

// Wanted is how many workers would work a backlog off in what is left of the tolerance, and at least what arrivals
// need. It knows no floor and no ceiling: it may be more than one process has. It is never more than one for each
// waiting delivery, beyond what arrivals need; where nothing is left of the tolerance, a quarter of it is taken
// instead; while no handler has ended yet, the present number is as good as any. 0 means that nothing waits or comes.
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

// Quiet takes in that there was nothing to tick for since the last tick: arrivals are forgotten as if each tick left
// out had seen none.
func (p *Pacer) Quiet(now time.Time) {
	if took := now.Sub(p.last); !p.last.IsZero() && took > 2*interval {
		p.arrivals *= math.Pow(1-fresh, took.Seconds()/interval.Seconds())
		p.last = now
	}
}

// learn follows the arrivals and the service time. Deliveries start in about the order in which they came, so those
// that started in a tick came within its length less what their age grew by; an age that grows like the clock means
// that they came all at once, which bounds the estimate to four times what was started.
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

// steady is the number of workers that arrivals keep busy.
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

// early is how many workers a backlog that is known wants, whatever its age is by now. They have half of the tolerance
// for it: the pool at most doubles from one tick to the next.
func (p *Pacer) early(s Sample) float64 {
	return min(float64(s.Backlog)*p.service.Seconds()/(p.opts.Tolerance/2).Seconds(), float64(s.Backlog))
}

// grow adds the workers that the backlog wants, which is known, or follows well enough from age and arrivals once
// that is old, on top of those that new arrivals keep busy; at most one for each that had work: where workers idle
// although work waits, something else is the bottleneck. While most handlers fail, more of them are no help.
func (p *Pacer) grow(s Sample) {
	if 2*s.Failed > s.Ended {
		return
	}
	aim := 2 * p.working(s)
	if p.service > 0 {
		wanted := p.early(s)
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

// rest gives a quarter of the workers up after several calm ticks, but keeps what the busiest of them needed. Slow
// handlers make slow waves: while any run, two of their times must be calm.
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

// working is how many of the workers had work, on average.
func (p *Pacer) working(s Sample) float64 {
	return min(max(s.Busy, 0), 1) * float64(min(s.Workers, p.size))
}

func (p *Pacer) resize(size int, now time.Time) {
	p.size, p.changed, p.now = size, now, gauge{size: size}
}

// roundUp makes whole workers; less than a hundredth of one is none, and no machine has as many as the bound.
func roundUp(workers float64) int {
	return int(min(max(math.Ceil(workers-0.01), 0), math.MaxInt32))
}

package pace_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/godwitmq/godwit/internal/pace"
)

var seeds = flag.Uint64("pace.seeds", 5, "play each world so many times, each with its seed; a failure names it")

const tolerance = 2 * time.Minute

func options() pace.Options { return pace.Options{Floor: 4, Ceiling: 64, Tolerance: tolerance} }

// If the ceiling allows it, no delivery starts too late, the size changes its direction rarely, and a quarter of an
// hour after the last delivery the pool is as small as in the beginning.
func TestAgesStayWithinTheTolerance(t *testing.T) {
	stepUp := func(now time.Duration) float64 {
		switch {
		case now < 5*time.Minute:
			return 20
		case now < 25*time.Minute:
			return 200
		}
		return 0
	}
	rising := func(now time.Duration) float64 {
		if now < 25*time.Minute {
			return 20 + now.Minutes()*8
		}
		return 0
	}
	slow := func(now time.Duration) float64 { return stepUp(now) / 100 }
	for name, w := range map[string]world{
		"a step":        {rate: stepUp, maxRate: 200, handle: even(200 * time.Millisecond)},
		"a rise":        {rate: rising, maxRate: 220, handle: uneven(200 * time.Millisecond)},
		"bad readings":  {rate: stepUp, maxRate: 200, handle: uneven(200 * time.Millisecond), noisy: true},
		"slow handlers": {rate: slow, maxRate: 2, handle: uneven(20 * time.Second), noisy: true},
		"a burst":       {burst: 25_000, burstAt: time.Minute, handle: even(100 * time.Millisecond)},
		"burst upon a day": {
			rate: stepUp, maxRate: 200, burst: 5_000, burstAt: 10 * time.Minute,
			handle: uneven(150 * time.Millisecond),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.opts, w.lastsFor = options(), 40*time.Minute
			for w.seed = range *seeds {
				trace := w.run()
				w.checkBounds(t, trace)
				if age := oldest(trace); age > tolerance || age < tolerance/4 {
					t.Fatalf("seed %d: the oldest start was at %v%s", w.seed, age, picture(trace))
				}
				if n := turns(trace); n > 3 {
					t.Fatalf("seed %d: %d turns%s", w.seed, n, picture(trace))
				}
				if end := trace[len(trace)-1].size; end != w.opts.Floor {
					t.Fatalf("seed %d: ends with %d workers%s", w.seed, end, picture(trace))
				}
			}
		})
	}
}

// A backlog of a hundred thousand is finished within the tolerance if the ceiling allows it.
func TestAHundredThousandAtOnce(t *testing.T) {
	t.Parallel()
	o := options()
	o.Ceiling = 300
	w := world{
		opts: o, burst: 100_000, burstAt: time.Minute, handle: even(100 * time.Millisecond),
		lastsFor: 15 * time.Minute,
	}
	for w.seed = range uint64(3) {
		trace := w.run()
		w.checkBounds(t, trace)
		if age, end := oldest(trace), trace[len(trace)-1].size; age > tolerance || end != o.Floor {
			t.Fatalf("seed %d: the oldest start was at %v, ends with %d workers%s", w.seed, age, end, picture(trace))
		}
	}
}

// Under a constant load the size is constant, and not far above what the load needs.
func TestASteadyLoadSettles(t *testing.T) {
	t.Parallel()
	w := world{
		opts: options(), rate: constant(150), maxRate: 150, handle: uneven(200 * time.Millisecond), noisy: true,
		lastsFor: 40 * time.Minute,
	}
	const need = 30
	for w.seed = range *seeds {
		trace := w.run()
		tail := between(trace, 10*time.Minute, 40*time.Minute)
		low, high := math.MaxInt, 0
		for _, m := range tail {
			low, high = min(low, m.size), max(high, m.size)
		}
		if low < need || high > 2*need || high-low > need/2 || turns(trace) > 1 {
			t.Fatalf("seed %d: between %d and %d workers, %d turns, where %d are needed%s", w.seed, low, high,
				turns(trace), need, picture(trace))
		}
	}
}

// The pool shrinks in small steps with time between them, so a pause in the traffic does not remove the whole pool.
func TestShrinkingIsSlow(t *testing.T) {
	w := world{
		opts: options(), burst: 25_000, burstAt: time.Minute, handle: even(100 * time.Millisecond),
		lastsFor: 20 * time.Minute,
	}
	trace := w.run()
	last, at := 0, time.Duration(0)
	for _, m := range trace {
		if m.size < last {
			if m.at-at < 4*tick || 4*m.size < 3*last {
				t.Fatalf("from %d to %d workers at %v, %v after the last change%s", last, m.size, m.at, m.at-at,
					picture(trace))
			}
		}
		if m.size != last {
			last, at = m.size, m.at
		}
	}
}

// saturated is a tick in which all workers were busy and work waited; each worker ran handlers of this duration.
func saturated(workers int, service time.Duration) pace.Sample {
	done := int(time.Duration(workers) * tick / service)
	return pace.Sample{
		Workers: workers, Started: done, Ended: done, Oldest: 100 * time.Second, Service: service,
		Busy: 1, Waiting: true,
	}
}

// ticks plays samples, each for the size before it, and returns the last size.
func ticks(p *pace.Pacer, from time.Time, n, size int, sample func(workers int) pace.Sample) (int, time.Time) {
	for range n {
		s := sample(size)
		from = from.Add(tick)
		s.Now = from
		size = p.Tick(s)
	}
	return size, from
}

// The pool does not grow if no work waits, or work is young, or workers are idle, or nearly every handler fails.
func TestNoReasonToGrow(t *testing.T) {
	for name, change := range map[string]func(*pace.Sample){
		"nothing waits":     func(s *pace.Sample) { s.Waiting = false },
		"young":             func(s *pace.Sample) { s.Oldest = 20 * time.Second },
		"one lane is busy":  func(s *pace.Sample) { s.Busy = 0.25 },
		"everything fails":  func(s *pace.Sample) { s.Failed = s.Ended },
		"instant, by clock": func(s *pace.Sample) { s.Busy, s.Service = 0, 0 },
	} {
		p := pace.New(options())
		size, _ := ticks(p, time.Unix(0, 0), 50, 4, func(workers int) pace.Sample {
			s := saturated(workers, time.Second)
			change(&s)
			return s
		})
		if size != 4 {
			t.Errorf("%s: %d workers", name, size)
		}
	}
	p := pace.New(options())
	if size, _ := ticks(p, time.Unix(0, 0), 50, 4,
		func(n int) pace.Sample { return saturated(n, time.Second) }); size != 64 {
		t.Errorf("with every reason: %d workers, want 64", size)
	}
}

// A backlog that falls fast enough needs no more workers, although it is old; one that does not needs as many as it
// takes, not the ceiling.
func TestGrowsAsMuchAsIsWanted(t *testing.T) {
	for _, c := range []struct {
		falls     time.Duration // of the age, per tick
		low, high int
	}{
		{10 * time.Second, 40, 40},
		{tick, 40, 50},
		{0, 70, 130}, // forty for arrivals, forty and more for the backlog
	} {
		p := pace.New(pace.Options{Floor: 40, Ceiling: 1000, Tolerance: tolerance})
		now, size := time.Unix(0, 0), 40
		for age := 75 * time.Second; age > 55*time.Second && now.Unix() < 60; age -= c.falls {
			size, now = ticks(p, now, 1, size, func(int) pace.Sample { // ten per second, whatever the size
				return pace.Sample{
					Workers: 40, Started: 50, Ended: 50, Service: 4 * time.Second, Oldest: age, Busy: 1,
					Waiting: true,
				}
			})
		}
		if size < c.low || size > c.high {
			t.Errorf("an age that falls by %v a tick: %d workers, want %d to %d", c.falls, size, c.low, c.high)
		}
	}
}

// While handlers take so long that none has ended yet, the pool grows if work waits and ages.
func TestGrowsBeforeAnyHandlerEnded(t *testing.T) {
	p := pace.New(options())
	size, _ := ticks(p, time.Unix(0, 0), 30, 4, func(workers int) pace.Sample {
		return pace.Sample{Workers: workers, Oldest: 100 * time.Second, Busy: 1, Waiting: true}
	})
	if size != 64 {
		t.Errorf("%d workers, want 64", size)
	}
}

func TestConstantSize(t *testing.T) {
	for _, o := range []pace.Options{
		{Floor: 8, Ceiling: 8, Tolerance: tolerance},
		{Floor: 8, Tolerance: tolerance},
		{Floor: 8, Ceiling: 100},
	} {
		p := pace.New(o)
		if size, _ := ticks(p, time.Unix(0, 0), 30, 8,
			func(n int) pace.Sample { return saturated(n, time.Second) }); size != 8 {
			t.Errorf("%+v: %d workers", o, size)
		}
		if size, _ := ticks(p, time.Unix(1000, 0), 30, 8,
			func(n int) pace.Sample { return pace.Sample{Workers: n} }); size != 8 {
			t.Errorf("%+v: idle with %d workers", o, size)
		}
	}
	if size := pace.New(pace.Options{}).Tick(pace.Sample{}); size != 1 {
		t.Errorf("no options: %d workers, want 1", size)
	}
}

// A tick at the same time as the last one, or before it, has no effect.
func TestAClockThatStands(t *testing.T) {
	p, twin := pace.New(options()), pace.New(options())
	now, size := time.Unix(0, 0), 4
	for i := range 60 {
		now = now.Add(tick)
		s := saturated(size, time.Second)
		s.Now, s.Oldest = now, 65*time.Second-time.Duration(i)*time.Second
		size = p.Tick(s)
		if again := p.Tick(s); again != size {
			t.Fatalf("tick %d, repeated: from %d to %d workers", i, size, again)
		}
		if want := twin.Tick(s); size != want {
			t.Fatalf("tick %d: %d workers, want %d", i, size, want)
		}
	}
}

func TestWanted(t *testing.T) {
	p := pace.New(options())
	for _, c := range []struct {
		backlog int64
		want    int
	}{{0, 0}, {-1, 0}, {3, 3}, {100, 4}} {
		if got := p.Wanted(c.backlog, time.Minute); got != c.want {
			t.Errorf("before anything ended, a backlog of %d wants %d, want %d", c.backlog, got, c.want)
		}
	}
	ticks(p, time.Unix(0, 0), 100, 4, func(n int) pace.Sample { // two per second, of 1.5 s each
		return pace.Sample{Workers: n, Started: 10, Ended: 10, Service: 1500 * time.Millisecond, Busy: 0.75}
	})
	for _, c := range []struct {
		backlog int64
		oldest  time.Duration
		want    int
	}{
		{0, 0, 3},                             // what arrivals need
		{-5, -time.Second, 3},                 // invalid values count as zero
		{80, 0, 3},                            // less than arrivals need
		{1000, 0, 13},                         // 1500 s of work in 120 s
		{1000, time.Minute, 25},               // in 60 s
		{1000, 80 * time.Second, 38},          // in 40 s
		{1000, tolerance, 50},                 // nothing remains: a quarter, 30 s
		{1000, 1000 * tolerance, 50},          // far too old
		{math.MaxInt64, 0, math.MaxInt32},     // bounded
		{100_000, 90 * time.Second, 5000},     // above any ceiling, because it is for all processes together
		{1000, -time.Hour, 13},                // not more time than the tolerance
		{math.MinInt64, math.MaxInt64, 3},     // nothing
		{math.MaxInt64, tolerance, 1<<31 - 1}, // bounded
	} {
		if got := p.Wanted(c.backlog, c.oldest); got != c.want {
			t.Errorf("a backlog of %d, the oldest of %v, wants %d, want %d", c.backlog, c.oldest, got, c.want)
		}
	}
	ticks(p, time.Unix(10000, 0), 100, 4, func(n int) pace.Sample { // handlers of an hour
		return pace.Sample{Workers: n, Started: 0, Ended: 1, Service: time.Hour, Busy: 1}
	})
	if got := p.Wanted(5, 0); got != 5 {
		t.Errorf("five deliveries want %d workers, want one each", got)
	}
	if got := p.Wanted(0, 0); got != 0 {
		t.Errorf("nothing waits, nothing comes: %d workers", got)
	}
}

// For any sample the result is within the bounds, and at most twice the last size.
func TestBoundsHoldForAnySample(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 2))
		o := pace.Options{
			Floor: random.IntN(20), Ceiling: random.IntN(300),
			Tolerance: time.Duration(random.Int64N(int64(time.Hour))),
		}
		p := pace.New(o)
		floor := max(o.Floor, 1)
		last, now := floor, time.Unix(0, 0)
		for range 500 {
			now = now.Add(time.Duration(random.Int64N(int64(time.Minute))) - time.Second)
			s := pace.Sample{
				Now: now, Workers: last + random.IntN(7) - 3, Started: random.IntN(1000), Ended: random.IntN(1000),
				Oldest:  time.Duration(random.Int64N(int64(time.Hour))),
				Service: time.Duration(random.Int64N(int64(time.Minute))),
				Busy:    random.Float64()*1.4 - 0.2, Waiting: random.IntN(4) > 0,
			}
			s.Failed = random.IntN(s.Ended + 1)
			if random.IntN(10) == 0 {
				s.Started, s.Ended, s.Failed, s.Service, s.Oldest = 0, 0, 0, 0, 0
			}
			size := p.Tick(s)
			if size < floor || size > max(floor, o.Ceiling) || size > 2*last {
				t.Fatalf("seed %d: %+v: from %d to %d workers", seed, o, last, size)
			}
			last = size
		}
	}
}

// A known backlog that is too large for the pool is a reason to grow before it is old. A smaller one, or an unknown
// one, is none.
func TestGrowsWithAKnownBacklog(t *testing.T) {
	for _, c := range []struct {
		backlog int64
		want    int
	}{{0, 4}, {200, 4}, {1200, 20}} { // of one second each, in half of two minutes
		p := pace.New(options())
		size, _ := ticks(p, time.Unix(0, 0), 12, 4, func(n int) pace.Sample {
			return pace.Sample{
				Workers: n, Started: 5 * n, Ended: 5 * n, Service: time.Second, Oldest: 20 * time.Second,
				Busy: 1, Waiting: true, Backlog: c.backlog,
			}
		})
		if size != c.want {
			t.Errorf("a backlog of %d: %d workers, want %d", c.backlog, size, c.want)
		}
	}
}

// Arrivals before a quiet time are forgotten, however often Quiet is called meanwhile.
func TestQuietForgets(t *testing.T) {
	for _, every := range []time.Duration{time.Second, time.Minute, time.Hour} {
		p := pace.New(options())
		_, now := ticks(p, time.Unix(0, 0), 100, 4, func(n int) pace.Sample {
			return pace.Sample{Workers: n, Started: 10, Ended: 10, Service: 1500 * time.Millisecond, Busy: 0.75}
		})
		if got := p.Wanted(0, 0); got != 3 {
			t.Errorf("%d workers, want 3", got)
		}
		for end := now.Add(3 * time.Minute); now.Before(end); {
			now = now.Add(every)
			p.Quiet(now)
		}
		if got := p.Wanted(0, 0); got != 0 {
			t.Errorf("asked every %v: %d workers after a quiet time, want 0", every, got)
		}
	}
}

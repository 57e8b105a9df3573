package pace_test

import (
	"testing"
	"time"

	"github.com/godwitmq/godwit/internal/pace"
)

// hour is a world in which the load is far above the dependency's capacity for an hour.
func hour(h handler, rate float64) world {
	return world{
		opts: pace.Options{Floor: 4, Ceiling: 256, Tolerance: tolerance}, rate: constant(rate), maxRate: rate,
		handle: h, lastsFor: time.Hour,
	}
}

// above counts the ticks with more workers than size.
func above(trace []moment, size int) (n int) {
	for _, m := range trace {
		if m.size > size {
			n++
		}
	}
	return n
}

// succeeded returns the number of successful handlers per second.
func succeeded(trace []moment) float64 {
	n := 0
	for _, m := range trace {
		n += m.sample.Ended - m.sample.Failed
	}
	return float64(n) / (float64(len(trace)) * tick.Seconds())
}

// For a dependency that serves twenty calls at a time the pool gets about twenty workers, not the ceiling. Larger sizes
// are tried rarely: with doubling pauses, seven times in an hour. The throughput is near the dependency's capacity.
func TestADependencyThatGetsSlower(t *testing.T) {
	for name, c := range map[string]struct {
		service time.Duration
		rate    float64
		most    int // workers, in the second half of the hour
		trials  int // ticks with more than that
	}{
		"quick": {400 * time.Millisecond, 100, 40, 2},
		"slow":  {3 * time.Second, 20, 60, 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := hour(crowded(c.service, 20), c.rate)
			wild := uint64(0)
			for w.seed = range *seeds {
				trace := w.run()
				w.checkBounds(t, trace)
				half := between(trace, 30*time.Minute, time.Hour)
				if m := mean(half); m < 16 || m > float64(c.most) || above(half, c.most) > c.trials {
					t.Fatalf("seed %d: on average %.1f workers, %d ticks with more than %d%s", w.seed, m,
						above(half, c.most), c.most, picture(trace))
				}
				if above(trace, 128) > 0 {
					wild++
				}
				if n := turns(trace); n > 15 || n < 3 {
					t.Fatalf("seed %d: %d turns%s", w.seed, n, picture(trace))
				}
				if can := 20 / c.service.Seconds(); succeeded(half) < 0.8*can {
					t.Fatalf("seed %d: %.1f a second, of %.1f%s", w.seed, succeeded(half), can, picture(trace))
				}
			}
			if wild > *seeds/10 {
				t.Errorf("%d of %d worlds came above 128 workers before it was noticed", wild, *seeds)
			}
		})
	}
}

// For a dependency that refuses more than thirty calls at a time the pool gets about thirty workers.
func TestADependencyThatRefuses(t *testing.T) {
	t.Parallel()
	w := hour(strict(300*time.Millisecond, 30), 150)
	w.retryWait = 5 * time.Second
	for w.seed = range *seeds {
		trace := w.run()
		w.checkBounds(t, trace)
		half := between(trace, 30*time.Minute, time.Hour)
		if m := mean(half); m < 24 || m > 40 || above(half, 40) > 2 {
			t.Fatalf("seed %d: on average %.1f workers, %d ticks with more than 40%s", w.seed, m, above(half, 40),
				picture(trace))
		}
		if n := turns(trace); n > 15 || n < 3 {
			t.Fatalf("seed %d: %d turns%s", w.seed, n, picture(trace))
		}
	}
}

// When the dependency recovers, the next trial succeeds, the pool grows as far as necessary, and the long pauses are
// cleared.
func TestADependencyThatRecovers(t *testing.T) {
	for name, bad := range map[string]handler{
		"slow":    crowded(400*time.Millisecond, 20),
		"refuses": strict(400*time.Millisecond, 20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := hour(relieved(6*time.Minute, bad, even(400*time.Millisecond)), 100)
			w.retryWait = 5 * time.Second
			for w.seed = range *seeds {
				trace := w.run()
				if early := above(between(trace, 3*time.Minute, 6*time.Minute), 64); early > 2 {
					t.Fatalf("seed %d: %d ticks with more than 64 workers before it recovered%s", w.seed, early,
						picture(trace))
				}
				if age := oldest(between(trace, 25*time.Minute, time.Hour)); age > tolerance/2 {
					t.Fatalf("seed %d: starts at %v long after it recovered%s", w.seed, age, picture(trace))
				}
			}
		})
	}
}

// try doubles the size again and again, against a dependency with a capacity of eight workers, and returns the times.
func try(t *testing.T, p *pace.Pacer, now time.Time, until time.Duration,
	capacity func(at time.Duration) int,
) (tries []time.Duration) {
	t.Helper()
	size, start := 4, now
	for at := time.Duration(0); at < until; at += tick {
		service := time.Duration(float64(100*time.Millisecond) * max(1, float64(size)/float64(capacity(at))))
		last := size
		size, now = ticks(p, now, 1, size, func(n int) pace.Sample { return saturated(n, service) })
		if size > last && last >= 8 {
			tries = append(tries, now.Sub(start))
		}
	}
	return tries
}

// The pauses between trials double up to half an hour; a successful trial makes the next pause short again.
func TestPausesGrow(t *testing.T) {
	eight := func(time.Duration) int { return 8 }
	tries := try(t, pace.New(options()), time.Unix(0, 0), 4*time.Hour, eight)
	want := []time.Duration{
		30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute,
		16 * time.Minute, 30 * time.Minute, 30 * time.Minute,
	}
	if len(tries) < len(want)+1 {
		t.Fatalf("tries at %v", tries)
	}
	for i, pause := range want {
		if got := tries[i+1] - tries[i]; got < pause || got > pause+4*tick {
			t.Errorf("pause %d is %v, want about %v", i+1, got, pause)
		}
	}

	// For an hour the capacity is sixteen: that size is kept, and beyond it the pauses start again with the shortest.
	tries = try(t, pace.New(options()), time.Unix(0, 0), 3*time.Hour, func(at time.Duration) int {
		if at < time.Hour {
			return 8
		}
		return 16
	})
	n := 0
	for _, at := range tries {
		if at > time.Hour && at < time.Hour+12*time.Minute {
			n++
		}
	}
	if n < 5 {
		t.Errorf("%d trials soon after it recovered; tries at %v", n, tries)
	}
}

// Failures that existed before the pool grew do not prevent growth.
func TestFailuresFromBefore(t *testing.T) {
	p := pace.New(options())
	size, _ := ticks(p, time.Unix(0, 0), 40, 4, func(n int) pace.Sample {
		s := saturated(n, 100*time.Millisecond)
		s.Failed = s.Ended * 4 / 10
		return s
	})
	if size != 64 {
		t.Errorf("%d workers, want 64", size)
	}
}

// Slowness that existed before the growth, and a throughput that is limited by slow polls, do not prevent growth.
func TestSlownessFromBefore(t *testing.T) {
	p := pace.New(options())
	_, now := ticks(p, time.Unix(0, 0), 40, 4, func(n int) pace.Sample {
		s := saturated(n, 100*time.Millisecond)
		s.Oldest = 10 * time.Second
		return s
	})
	size, _ := ticks(p, now, 40, 4, func(n int) pace.Sample { return saturated(n, time.Second) })
	if size != 64 {
		t.Errorf("%d workers, want 64", size)
	}
}

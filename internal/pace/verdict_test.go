package pace_test

import (
	"slices"
	"testing"
	"time"

	"github.com/godwitmq/godwit/internal/pace"
)

// grown returns a Pacer with handlers of this duration that has grown to its ceiling of 64.
func grown(t *testing.T, service time.Duration) (p *pace.Pacer, now time.Time) {
	t.Helper()
	p = pace.New(options())
	size, now := ticks(p, time.Unix(0, 0), 60, 4, func(n int) pace.Sample { return saturated(n, service) })
	if size != 64 {
		t.Fatalf("%d workers, want 64", size)
	}
	return p, now
}

// working is a tick with a number of busy workers and an age of the oldest start.
func working(busy float64, oldest time.Duration) func(int) pace.Sample {
	return func(n int) pace.Sample {
		return pace.Sample{
			Workers: n, Started: 50, Ended: 50, Service: tick / 50, Oldest: oldest,
			Busy: busy / float64(n),
		}
	}
}

func TestWhatItShrinksTo(t *testing.T) {
	for name, c := range map[string]struct {
		busy   float64
		oldest time.Duration
		want   int
	}{
		"busy":         {45, time.Second, 64},
		"old":          {20, 40 * time.Second, 64},
		"hardly calm":  {37.8, time.Second, 51},
		"half of it":   {30, time.Second, 48},
		"a few":        {6, time.Second, 9},
		"nothing does": {0, 0, 4},
	} {
		p, now := grown(t, 100*time.Millisecond)
		if size, _ := ticks(p, now, 100, 64, working(c.busy, c.oldest)); size != c.want {
			t.Errorf("%s: %d workers, want %d", name, size, c.want)
		}
	}
}

// Slow handlers cause slow load changes: half a minute of low load is no reason to shrink if a handler takes as long.
func TestSlowWaves(t *testing.T) {
	p, now := grown(t, 30*time.Second)
	size := 64
	for range 20 {
		size, now = ticks(p, now, 6, size, func(n int) pace.Sample {
			return pace.Sample{Workers: n, Started: 5, Ended: 5, Service: 30 * time.Second, Busy: 0.5}
		})
		size, now = ticks(p, now, 6, size, func(n int) pace.Sample {
			return pace.Sample{Workers: n, Started: 15, Ended: 15, Service: 30 * time.Second, Busy: 0.9}
		})
	}
	if size != 64 {
		t.Errorf("%d workers, want 64", size)
	}
}

// If handlers are not slower and do not fail, a constant throughput does not prevent growth.
func TestNoSlowerAndNoMore(t *testing.T) {
	p := pace.New(options())
	size, _ := ticks(p, time.Unix(0, 0), 30, 4, func(n int) pace.Sample {
		s := saturated(n, time.Second)
		s.Started, s.Ended = 100, 100
		return s
	})
	if size != 64 {
		t.Errorf("%d workers, want 64", size)
	}
}

// A few handlers prove nothing, even if they are slow and few of them end.
func TestFewHandlersAreNoise(t *testing.T) {
	o := options()
	o.Ceiling = 8
	p := pace.New(o)
	_, now := ticks(p, time.Unix(0, 0), 20, 4, young(3*time.Second))
	size, unlucky := 4, 3
	for range 20 {
		last := size
		size, now = ticks(p, now, 1, size, func(n int) pace.Sample {
			if n == 8 && unlucky > 0 {
				unlucky--
				s := saturated(n, 5*time.Second)
				s.Ended = 7
				return s
			}
			return saturated(n, 3*time.Second)
		})
		if size < last {
			t.Fatalf("from %d to %d workers", last, size)
		}
	}
	if size != 8 || unlucky != 0 {
		t.Errorf("%d workers, want 8, and %d unlucky ticks to come", size, unlucky)
	}
}

// The performance of a pool with idle workers does not show what its size can do.
func TestIdleHoursAreNoMeasure(t *testing.T) {
	p := pace.New(options())
	_, now := ticks(p, time.Unix(0, 0), 100, 4, func(n int) pace.Sample {
		return pace.Sample{Workers: n, Started: 2, Ended: 2, Service: time.Second, Oldest: time.Second, Busy: 0.1}
	})
	size := 4
	for range 20 {
		size, now = ticks(p, now, 1, size, func(n int) pace.Sample {
			return saturated(n, time.Duration(n)*time.Second/4) // a capacity of four
		})
	}
	if size > 8 {
		t.Errorf("%d workers, want about 4", size)
	}
}

// Above a limit that was too high before, a step with a tenth more throughput is not kept, because with few handlers it
// may be chance.
func TestOnceBurntUnclearIsNotEnough(t *testing.T) {
	p := pace.New(options())
	sample := func(n int) pace.Sample {
		good := float64(min(n, 8))
		if n > 8 {
			good = 8.8
		}
		return saturated(n, time.Duration(3*float64(time.Second)*float64(n)/good))
	}
	size, now := ticks(p, time.Unix(0, 0), 360, 4, sample)
	larger := 0
	for range 360 {
		if size, now = ticks(p, now, 1, size, sample); size > 10 {
			larger++
		}
	}
	if larger > 60 {
		t.Errorf("%d of 360 ticks with more than ten workers", larger)
	}
}

// young is the same as saturated with young deliveries, so that there is no reason to grow.
func young(service time.Duration) func(int) pace.Sample {
	return func(n int) pace.Sample {
		s := saturated(n, service)
		s.Oldest = 10 * time.Second
		return s
	}
}

// A growth is not compared with old measurements.
func TestOldMeasurementsFade(t *testing.T) {
	p := pace.New(options())
	_, now := ticks(p, time.Unix(0, 0), 700, 4, young(100*time.Millisecond))
	_, now = ticks(p, now, 60, 4, young(500*time.Millisecond))
	size := 4
	for range 20 {
		last := size
		size, now = ticks(p, now, 1, size, func(n int) pace.Sample { return saturated(n, 500*time.Millisecond) })
		if size < last {
			t.Fatalf("from %d to %d workers", last, size)
		}
	}
}

// eight is a dependency with a capacity of eight workers.
func eight(n int) pace.Sample {
	return saturated(n, time.Duration(float64(100*time.Millisecond)*max(1, float64(n)/8)))
}

// The first step from below a limit ends at the limit.
func TestUpToTheLimitFirst(t *testing.T) {
	o := options()
	o.Floor = 5
	p := pace.New(o)
	_, now := ticks(p, time.Unix(0, 0), 20, 5, young(100*time.Millisecond))
	size, now := ticks(p, now, 4, 5, eight)
	if size != 10 {
		t.Fatalf("%d workers, want the limit of 10", size)
	}
	size, now = ticks(p, now, 40, size, working(4.2, time.Second))
	if size != 6 {
		t.Fatalf("%d workers, want 6", size)
	}
	for size < 10 {
		size, now = ticks(p, now, 1, size, eight)
	}
	if size != 10 {
		t.Errorf("%d workers, want the limit of 10", size)
	}
}

// A long time after the last reverted growth, the long pauses are cleared.
func TestTroubleIsForgotten(t *testing.T) {
	for rest, want := range map[time.Duration]int{20 * time.Minute: 1, 90 * time.Minute: 5} {
		p := pace.New(options())
		size, now := ticks(p, time.Unix(0, 0), int(20*time.Minute/tick), 4, eight)
		size, now = ticks(p, now, int(rest/tick), size, working(0, 0))
		tries := 0
		for range 10 * time.Minute / tick {
			last := size
			if size, now = ticks(p, now, 1, size, eight); size > 8 && size > last {
				tries++
			}
		}
		if tries != want {
			t.Errorf("after %v of rest %d trials in ten minutes, want %d", rest, tries, want)
		}
	}
}

// A growth with more failures is reverted by at least one worker, even if more handlers succeed.
func TestMoreFailuresAndMoreSuccesses(t *testing.T) {
	p := pace.New(options())
	_, now := ticks(p, time.Unix(0, 0), 20, 4, young(time.Second))
	sizes := []int{4}
	for len(sizes) < 4 {
		var size int
		size, now = ticks(p, now, 1, sizes[len(sizes)-1], func(n int) pace.Sample {
			s := saturated(n, time.Second)
			if n > 4 {
				s.Ended, s.Failed = 108, 44
			}
			return s
		})
		sizes = append(sizes, size)
	}
	if want := []int{4, 8, 8, 7}; !slices.Equal(sizes, want) {
		t.Errorf("sizes %v, want %v", sizes, want)
	}
}

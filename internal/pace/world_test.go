package pace_test

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/internal/pace"
)

const tick = 5 * time.Second

// world is a queue, the workers that a Pacer asks for, and the dependency of their handlers.
type world struct {
	seed      uint64
	opts      pace.Options
	rate      func(at time.Duration) float64 // of arrivals per second, at most maxRate
	maxRate   float64
	burst     int // that arrive at burstAt
	burstAt   time.Duration
	handle    handler
	noisy     bool // the samples are inaccurate
	lastsFor  time.Duration
	retryWait time.Duration // after a failure; 0: failures are not retried
}

// moment is one tick of a trace.
type moment struct {
	at     time.Duration
	size   int // the result
	oldest time.Duration
	sample pace.Sample
}

// event is the end of a handler or the end of a retry's wait.
type event struct {
	at, took time.Duration
	failed   bool
	retry    bool
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// run simulates the world from its start and returns one moment per tick.
func (w world) run() []moment {
	random := rand.New(rand.NewPCG(w.seed, 1))
	p := pace.New(w.opts)
	var (
		trace   []moment
		due     []time.Duration // when the waiting deliveries arrived, in order
		pending events
		running int
		size    = w.opts.Floor
		busy    time.Duration // of all workers since the last tick
		now     time.Duration
		s       pace.Sample
		spent   time.Duration
	)
	burst := w.burst
	epoch := time.Unix(0, 0)
	p.Tick(pace.Sample{Now: epoch, Workers: size})
	arrival := w.next(random, 0)
	for nextTick := tick; nextTick <= w.lastsFor; {
		at := min(nextTick, arrival)
		if burst > 0 {
			at = min(at, w.burstAt)
		}
		if len(pending) > 0 {
			at = min(at, pending[0].at)
		}
		busy += time.Duration(running) * (at - now)
		now = at
		if burst > 0 && now == w.burstAt {
			for range burst {
				due = append(due, now)
			}
			burst = 0
		}
		if now == arrival {
			due = append(due, now)
			arrival = w.next(random, now)
		}
		for len(pending) > 0 && pending[0].at == now {
			e := heap.Pop(&pending).(event)
			if e.retry {
				due = append(due, now)
				continue
			}
			running--
			s.Ended++
			spent += e.took
			if e.failed {
				s.Failed++
				if w.retryWait > 0 {
					heap.Push(&pending, event{at: now + w.retryWait, retry: true})
				}
			}
		}
		if now == nextTick {
			if len(due) > 0 {
				s.Oldest = max(s.Oldest, now-due[0])
			}
			s.Now, s.Workers, s.Waiting = epoch.Add(now), size, len(due) > 0 && running >= size
			s.Busy = min(busy.Seconds()/(float64(size)*tick.Seconds()), 1)
			if s.Ended > 0 {
				s.Service = spent / time.Duration(s.Ended)
			}
			oldest := s.Oldest
			if w.noisy {
				s.Oldest = time.Duration(float64(s.Oldest) * (0.85 + 0.3*random.Float64()))
				s.Busy = min(s.Busy*(0.95+0.1*random.Float64()), 1)
			}
			size = p.Tick(s)
			trace = append(trace, moment{now, size, oldest, s})
			s, busy, spent = pace.Sample{}, 0, 0
			nextTick += tick
		}
		for running < size && len(due) > 0 {
			s.Started++
			s.Oldest = max(s.Oldest, now-due[0])
			due = due[1:]
			running++
			took, failed := w.handle(random, now, running)
			heap.Push(&pending, event{at: now + took, took: took, failed: failed})
		}
	}
	return trace
}

// next returns when the next delivery arrives: a Poisson process, thinned to the current rate.
func (w world) next(random *rand.Rand, now time.Duration) time.Duration {
	if w.maxRate == 0 {
		return math.MaxInt64
	}
	for {
		now += time.Duration(random.ExpFloat64() / w.maxRate * float64(time.Second))
		if now > w.lastsFor || random.Float64()*w.maxRate < w.rate(now) {
			return now
		}
	}
}

// handler simulates a handler that starts at a time while a number of handlers run.
type handler func(random *rand.Rand, at time.Duration, running int) (took time.Duration, failed bool)

// even takes about the same time, whatever the number of handlers.
func even(mean time.Duration) handler {
	return func(random *rand.Rand, _ time.Duration, _ int) (time.Duration, bool) {
		return time.Duration((0.5 + random.Float64()) * float64(mean)), false
	}
}

// uneven usually takes less than the mean, and sometimes many times as long.
func uneven(mean time.Duration) handler {
	return func(random *rand.Rand, _ time.Duration, _ int) (time.Duration, bool) {
		return time.Duration(random.ExpFloat64() * float64(mean)), false
	}
}

// crowded serves a number of calls at a time; with more, all of them take longer.
func crowded(mean time.Duration, capacity int) handler {
	return func(random *rand.Rand, at time.Duration, running int) (time.Duration, bool) {
		took, _ := even(mean)(random, at, running)
		return time.Duration(float64(took) * max(1, float64(running)/float64(capacity))), false
	}
}

// strict refuses calls above its limit, as fast as it serves the others.
func strict(mean time.Duration, limit int) handler {
	return func(random *rand.Rand, at time.Duration, running int) (time.Duration, bool) {
		took, _ := even(mean)(random, at, running)
		return took, random.Float64() < 1-float64(limit)/float64(max(running, limit))
	}
}

// relieved is one handler before a time and another from then on.
func relieved(at time.Duration, before, after handler) handler {
	return func(random *rand.Rand, now time.Duration, running int) (time.Duration, bool) {
		if now < at {
			return before(random, now, running)
		}
		return after(random, now, running)
	}
}

func constant(rate float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return rate }
}

// turns counts how often the size changed its direction.
func turns(trace []moment) (n int) {
	up := true
	for i := 1; i < len(trace); i++ {
		if d := trace[i].size - trace[i-1].size; d != 0 && (d > 0) != up {
			up = !up
			n++
		}
	}
	return n
}

func oldest(trace []moment) (age time.Duration) {
	for _, m := range trace {
		age = max(age, m.oldest)
	}
	return age
}

// between returns the moments of a trace from one time to another.
func between(trace []moment, from, to time.Duration) []moment {
	return trace[int(from/tick):int(to/tick)]
}

// mean returns the average size.
func mean(trace []moment) float64 {
	sum := 0
	for _, m := range trace {
		sum += m.size
	}
	return float64(sum) / float64(len(trace))
}

// checkBounds checks what must hold in every world.
func (w world) checkBounds(t *testing.T, trace []moment) {
	t.Helper()
	last := w.opts.Floor
	for _, m := range trace {
		if m.size < w.opts.Floor || m.size > max(w.opts.Ceiling, w.opts.Floor) || m.size > 2*last {
			t.Fatalf("seed %d: at %v from %d workers to %d, with a floor of %d and a ceiling of %d%s",
				w.seed, m.at, last, m.size, w.opts.Floor, w.opts.Ceiling, picture(trace))
		}
		last = m.size
	}
}

// picture shows a trace at the times when its size changed.
func picture(trace []moment) string {
	var b strings.Builder
	last := 0
	for _, m := range trace {
		if m.size != last {
			fmt.Fprintf(&b,
				"\n  %8v: %4d workers, age %5.1fs, busy %.2f, waiting %-5v ended %5d, failed %5d, service %v", m.at,
				m.size,
				m.oldest.Seconds(), m.sample.Busy, m.sample.Waiting, m.sample.Ended, m.sample.Failed,
				m.sample.Service.Round(time.Millisecond))
			last = m.size
		}
	}
	return b.String()
}

//go:build unix

package kafka_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var rounds = flag.Int("speed.rounds", 0,
	"how often each contender is measured, in turn; 0: only check that everything runs")

// all is how many records a topic has.
const all = 1_000_000

// scene is a job with its contenders.
type scene struct {
	title       string
	partitions  int
	concurrency int
	handler     time.Duration
	records     int // records that each contender handles
	warm        int // of these, how many are handled before the counted ones
	slow        int // records for contenders that handle one after another, instead of records
	straggler   time.Duration
	every       int // one of so many records takes as long as straggler; 0: none
	contenders  []contender
	only        string // the only broker; "": all brokers
}

func scenes() (ss []scene) {
	for _, handler := range []time.Duration{time.Millisecond, 10 * time.Millisecond} {
		for _, partitions := range []int{1, 8, 64} {
			ss = append(ss, scene{
				title:      fmt.Sprintf("handler %v, partitions %d, concurrency 100", handler, partitions),
				partitions: partitions, concurrency: 100,
				handler: handler, records: int(3 * 100 * time.Second / handler),
				contenders: []contender{viaGodwit, viaPool},
			})
		}
	}
	for _, partitions := range []int{1, 8} {
		ss = append(ss, scene{
			title: fmt.Sprintf("handler 0, partitions %d", partitions), partitions: partitions,
			concurrency: 2,
			records:     all, contenders: []contender{viaGodwit, viaLoop},
		})
	}
	for _, partitions := range []int{1, 8} {
		for _, handler := range []time.Duration{0, time.Millisecond} {
			s := scene{
				title: fmt.Sprintf("exactly once, handler %v, partitions %d, concurrency 100", handler,
					partitions),
				partitions: partitions, concurrency: 100, handler: handler, records: 200_000,
				contenders: []contender{viaTransform, viaSession},
			}
			if handler > 0 {
				s.slow = 5000
			}
			ss = append(ss, s)
		}
	}
	for _, concurrency := range []int{100, 1000} {
		s := scene{partitions: 1, concurrency: concurrency, handler: time.Millisecond, records: 400_000, slow: 2000}
		what := fmt.Sprintf("handler 1ms, partitions 1, keys %d, concurrency %d", keys, concurrency)
		s.title, s.contenders = "peers, "+what, []contender{viaGodwit, viaFranz, viaSarama, viaWatermill, viaSegmentio}
		ss = append(ss, s)
		if os.Getenv(parallelPath) != "" {
			// The JIT compiler needs many records before it has compiled everything, and all contenders get the same
			// number. The pool's CPU is the handlers' share.
			s.title, s.contenders, s.only = "java, "+what, []contender{viaGodwit, viaParallel, viaPool}, realBroker
			s.warm, s.slow = 100_000, 0
			ss = append(ss, s)
		}
	}
	return ss
}

// TestSpeed prints the tables of docs/benchmarks.md. It fails if a contender does not handle all records. It does not
// fail because of a slow rate, because other programs may use the machine, too.
func TestSpeed(t *testing.T) {
	brokers := brokers(t)
	for _, s := range append(scenes(), shareScenes()...) {
		t.Run(s.title, func(t *testing.T) {
			n := *rounds
			if n == 0 {
				n, s.records, s.warm, s.slow = 1, min(s.records, 2000), min(s.warm, 200), min(s.slow, 200)
			}
			if s.warm == 0 && s.handler > 0 {
				s.warm = -1 // a tenth of the records
			}
			s.play(t, brokers, n)
		})
	}
}

// play measures the contenders of a scene in turn on each broker, and prints the result.
func (s *scene) play(t *testing.T, brokers []*broker, rounds int) {
	t.Helper()
	for _, b := range brokers {
		if s.only != "" && s.only != b.name {
			continue
		}
		topic := b.topic(t, s.partitions)
		figures := make([][]figure, len(s.contenders))
		for round := range rounds {
			for i, c := range s.contenders {
				j := s.job(c)
				j.broker, j.topic, j.group = b.addr, topic, fmt.Sprintf("g%d-%d-%d", round, i, time.Now().UnixNano())
				figures[i] = append(figures[i], measure(t, c, j))
			}
		}
		report(s, b.name, figures)
	}
}

// job returns the job of a contender. The time to join the group is not part of the comparison, so counting begins
// after a tenth of the records. If the handler does nothing, counting begins at the start, because most of the work is
// then done before the first record is handled: fetching.
func (s *scene) job(c contender) job {
	j := job{
		partitions: s.partitions, concurrency: s.concurrency, handler: s.handler, warm: s.warm, records: s.records,
		straggler: s.straggler, every: s.every,
	}
	if s.slow > 0 && c.name != viaGodwit.name && c.name != viaTransform.name {
		j.records = s.slow
	}
	if j.warm < 0 {
		j.warm = j.records / 10
	}
	j.records -= j.warm
	return j
}

// measure runs a contender and returns its figure.
func measure(t *testing.T, c contender, j job) (f figure) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	start := time.Now()
	var err error
	if c.alone != nil {
		f, err = c.alone(ctx, j)
	} else {
		f, err = count(ctx, c, j)
	}
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	t.Logf("%s, group %s: %.0f records/s, %v a record, %v in all", c.name, j.group, f.rate, f.cpu,
		time.Since(start).Round(time.Millisecond))
	return f
}

// count runs a contender in this process until it has handled all records of the job.
func count(ctx context.Context, c contender, j job) (figure, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var handled atomic.Int64
	var began, ended time.Time
	var from, to time.Duration
	warm, last := int64(j.warm), int64(j.warm+j.records)
	if warm == 0 {
		began, from = time.Now(), used()
	}
	var begun atomic.Int64
	j.handle = func() {
		switch {
		case j.every > 0 && begun.Add(1)%int64(j.every) == 0:
			time.Sleep(j.straggler)
		case j.handler > 0:
			time.Sleep(j.handler)
		}
		switch handled.Add(1) {
		case warm:
			began, from = time.Now(), used()
		case last:
			ended, to = time.Now(), used()
			cancel()
		}
	}
	if err := c.run(ctx, j); err != nil && ctx.Err() == nil {
		return figure{}, err
	}
	if n := handled.Load(); n < last {
		return figure{}, fmt.Errorf("%d of %d records of %s were handled", n, last, j.topic)
	}
	return figure{rate: float64(j.records) / ended.Sub(began).Seconds(), cpu: (to - from) / time.Duration(j.records)},
		nil
}

// used is the CPU time that this process has used.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // cannot fail for the own process
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

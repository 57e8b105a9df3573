//go:build unix

package kafka_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var rounds = flag.Int("speed.rounds", 0, "how often everything is measured, one after another in turn; 0: a short look that everything runs")

// all is how many records a topic has.
const all = 1_000_000

// figure is what one contender needed for one job.
type figure struct {
	rate float64       // records a second
	cpu  time.Duration // a record
}

// scene is a job and who competes in it.
type scene struct {
	title       string
	partitions  int
	concurrency int
	handler     time.Duration
	records     int // that a contender handles; those that handle one after another, far fewer
	slow        int
	contenders  []contender
}

func scenes() (ss []scene) {
	for _, handler := range []time.Duration{time.Millisecond, 10 * time.Millisecond} {
		for _, partitions := range []int{1, 8, 64} {
			records := int(3 * 100 * time.Second / handler)
			ss = append(ss, scene{fmt.Sprintf("handler %v, partitions %d, concurrency 100", handler, partitions), partitions, 100, handler, records, 0,
				[]contender{viaGodwit, viaPool}})
		}
	}
	for _, partitions := range []int{1, 8} {
		ss = append(ss, scene{fmt.Sprintf("handler 0, partitions %d", partitions), partitions, 2, 0, all, 0, []contender{viaGodwit, viaLoop}})
	}
	for _, concurrency := range []int{100, 1000} {
		ss = append(ss, scene{fmt.Sprintf("peers, handler 1ms, partitions 1, keys %d, concurrency %d", keys, concurrency), 1, concurrency, time.Millisecond, 400_000, 2000,
			[]contender{viaGodwit, viaFranz, viaSarama, viaWatermill, viaSegmentio}})
	}
	return ss
}

// TestSpeed prints the table of docs/benchmarks.md. It fails where a contender does not handle what is there; how fast it is on
// a machine that others use too is no reason to fail.
func TestSpeed(t *testing.T) {
	addr := broker(t)
	topics := map[int]string{}
	for _, s := range scenes() {
		t.Run(s.title, func(t *testing.T) {
			n, total := *rounds, all
			if n == 0 {
				n, total, s.records, s.slow = 1, 10_000, min(s.records, 2000), min(s.slow, 200)
			}
			if topics[s.partitions] == "" {
				topics[s.partitions] = fill(t, addr, s.partitions, total)
			}
			report(s, s.play(t, addr, topics[s.partitions], n))
		})
	}
}

// play lets the contenders of a scene take turns, and returns each one's figures.
func (s *scene) play(t *testing.T, addr, topic string, rounds int) [][]figure {
	t.Helper()
	figures := make([][]figure, len(s.contenders))
	for round := range rounds {
		for i, c := range s.contenders {
			records := s.records
			if s.slow > 0 && c.name != viaGodwit.name {
				records = s.slow
			}
			j := job{broker: addr, topic: topic, group: fmt.Sprintf("g%d-%d-%d", round, i, time.Now().UnixNano()), partitions: s.partitions, concurrency: s.concurrency}
			figures[i] = append(figures[i], measure(t, c, j, s.handler, records))
		}
	}
	return figures
}

// measure lets a contender handle so many records, and counts from a tenth of them on: joining a group is not what is compared.
// Where the handler does nothing it counts from the start: what has been fetched before the first record is handled is most of
// the work then.
func measure(t *testing.T, c contender, j job, handler time.Duration, records int) figure {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	start := time.Now()
	var count atomic.Int64
	var began, ended time.Time
	var from, to time.Duration
	warm := int64(records / 10)
	if handler == 0 {
		warm, began, from = 0, time.Now(), used(t)
	}
	j.handle = func() {
		if handler > 0 {
			time.Sleep(handler)
		}
		switch count.Add(1) {
		case warm:
			began, from = time.Now(), used(t)
		case int64(records):
			ended, to = time.Now(), used(t)
			cancel()
		}
	}
	if err := c.run(ctx, j); err != nil && ctx.Err() == nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	t.Logf("%s, group %s: %v in all", c.name, j.group, time.Since(start).Round(time.Millisecond))
	n := count.Load()
	if n < int64(records) {
		t.Fatalf("%s handled %d of %d records of %s", c.name, n, records, j.topic)
	}
	counted := int64(records) - warm
	return figure{rate: float64(counted) / ended.Sub(began).Seconds(), cpu: (to - from) / time.Duration(counted)}
}

// used is the CPU that this process has had.
func used(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Error(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// report prints the medians of a scene as rows of a table, each beside the first contender's.
func report(s scene, figures [][]figure) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n\n| | records/s | CPU a record | its records/s : godwit's | its CPU : godwit's |\n|---|---|---|---|---|\n", s.title)
	var first figure
	for i, c := range s.contenders {
		m := median(figures[i])
		if i == 0 {
			first = m
		}
		fmt.Fprintf(&b, "| %s | %.0f | %.2f µs | %.2f | %.2f |\n", c.name, m.rate, float64(m.cpu.Nanoseconds())/1000, m.rate/first.rate, float64(m.cpu)/float64(first.cpu))
	}
	if s.handler > 0 && len(s.contenders) == 2 {
		most := float64(s.concurrency) / s.handler.Seconds()
		fmt.Fprintf(&b, "\ngodwit reaches %.0f %% of concurrency ÷ handler time, %.0f %% of the pool.\n", 100*first.rate/most, 100*first.rate/median(figures[1]).rate)
	}
	fmt.Fprintln(os.Stdout, b.String())
}

func median(fs []figure) (m figure) {
	rates, cpus := make([]float64, len(fs)), make([]time.Duration, len(fs))
	for i, f := range fs {
		rates[i], cpus[i] = f.rate, f.cpu
	}
	slices.Sort(rates)
	slices.Sort(cpus)
	return figure{rates[len(fs)/2], cpus[len(fs)/2]}
}

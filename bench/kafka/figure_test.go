//go:build unix

package kafka_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// figure is the result of one contender for one job.
type figure struct {
	rate float64       // records a second
	cpu  time.Duration // a record
}

// report prints the medians of a scene on one broker as a table, with a row for each contender, compared with the first
// contender.
func report(s *scene, broker string, figures [][]figure) {
	var b strings.Builder
	fmt.Fprintf(&b,
		"\n### %s, on %s\n\n| | records/s | least to most | CPU a record | least to most | its records/s : godwit's | its CPU : godwit's |\n|---|---|---|---|---|---|---|\n", s.title, broker)
	first := median(figures[0])
	for i, c := range s.contenders {
		m, rates, cpus := median(figures[i]), rates(figures[i]), cpus(figures[i])
		fmt.Fprintf(&b, "| %s | %.0f | %.0f–%.0f | %.2f µs | %.2f–%.2f | %.2f | %.2f |\n", c.name, m.rate, rates[0],
			rates[len(rates)-1], micros(m.cpu), micros(cpus[0]), micros(cpus[len(cpus)-1]), m.rate/first.rate,
			float64(m.cpu)/float64(first.cpu))
	}
	if s.contenders[1].name == viaPool.name {
		most := float64(s.concurrency) / s.handler.Seconds()
		fmt.Fprintf(&b, "\ngodwit reaches %.0f %% of concurrency ÷ handler time, %.0f %% of the pool.\n",
			100*first.rate/most, 100*first.rate/median(figures[1]).rate)
	}
	fmt.Fprintln(os.Stdout, b.String())
}

func median(fs []figure) figure { return figure{rates(fs)[len(fs)/2], cpus(fs)[len(fs)/2]} }

// rates returns the rates in ascending order.
func rates(fs []figure) (rs []float64) {
	for _, f := range fs {
		rs = append(rs, f.rate)
	}
	slices.Sort(rs)
	return rs
}

// cpus returns the CPU times in ascending order.
func cpus(fs []figure) (cs []time.Duration) {
	for _, f := range fs {
		cs = append(cs, f.cpu)
	}
	slices.Sort(cs)
	return cs
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

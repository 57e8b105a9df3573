package queue_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// cycle sends, receives and deletes one message.
func cycle(b *testing.B, q *queue.Queue, m *queue.Message) {
	if _, err := q.Put(queue.Put{Message: m, Delay: queue.Default}); err != nil {
		b.Fatal(err)
	}
	got, err := q.Receive(b.Context(), queue.Receive{Max: 1, Visibility: queue.Default})
	if err != nil || len(got) != 1 {
		b.Fatal(len(got), err)
	}
	if err := q.DeleteMessage(got[0].Handle); err != nil {
		b.Fatal(err)
	}
}

func report(b *testing.B) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "cycles/s")
}

// BenchmarkStandard measures the model with a number of messages already queued.
func BenchmarkStandard(b *testing.B) {
	for _, backlog := range []int{0, 1_000, 1_000_000} {
		b.Run(fmt.Sprintf("backlog=%d", backlog), func(b *testing.B) {
			q := newQueue(b)
			for i := range backlog {
				put(b, q, message(fmt.Sprint(i), ""))
			}
			m := &queue.Message{ID: "x", Body: "x"}
			runtime.GC() // so that collecting the garbage of the set-up is not measured
			b.ReportAllocs()
			for b.Loop() {
				cycle(b, q, m)
			}
			report(b)
		})
	}
}

// BenchmarkFIFO measures a queue of many groups, and one with many messages in one group.
func BenchmarkFIFO(b *testing.B) {
	for _, shape := range []struct{ groups, each int }{{1_000, 1}, {1_000_000, 1}, {1, 1_000}, {1, 1_000_000}} {
		b.Run(fmt.Sprintf("groups=%d/each=%d", shape.groups, shape.each), func(b *testing.B) {
			q := newQueue(b, fifo)
			for g := range shape.groups {
				for i := range shape.each {
					put(b, q, message(fmt.Sprint(g, "-", i), fmt.Sprint(g)))
				}
			}
			n := 0
			runtime.GC()
			b.ReportAllocs()
			for b.Loop() {
				n++
				cycle(b, q, &queue.Message{ID: "x", Body: "x", Given: &queue.Details{
					Group: fmt.Sprint(n % shape.groups), Dedup: fmt.Sprint("d", n),
				}})
			}
			report(b)
		})
	}
}

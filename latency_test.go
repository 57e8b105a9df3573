package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/localaws"
)

// busyShare is the share of the time in which the workers of a consumer run handlers, while it handles a backlog over a
// network with a round trip of trip.
func busyShare(w *world, workers, n int, work, trip time.Duration) float64 {
	p := w.producer("orders", nil)
	for range n / 1000 {
		w.send(p, many(1000, "")...)
	}
	w.latency(trip)
	var handled atomic.Int64
	var from, until time.Time // in the middle of the backlog
	done := make(chan struct{})
	c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: workers})
	r := w.run(c, func(context.Context, *godwit.Delivery) error {
		time.Sleep(work)
		switch handled.Add(1) {
		case int64(n / 2):
			from = time.Now()
		case int64(n * 9 / 10):
			until = time.Now()
			close(done)
		}
		return nil
	})
	<-done
	r.stop()
	return float64(n*9/10-n/2) * work.Seconds() / until.Sub(from).Seconds() / float64(workers)
}

// Workers do not wait for the network: the consumer holds as many more messages as its handlers finish during a round
// trip.
func TestWorkersAreBusyAtRealLatency(t *testing.T) {
	t.Parallel()
	for _, trip := range []time.Duration{5 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond} {
		for _, workers := range []int{10, 64} {
			t.Run(fmt.Sprint(trip, ", ", workers), func(t *testing.T) {
				inWorld(t, func(w *world) {
					if busy := busyShare(w, workers, fullrun.Pick(3000, 8000), 10*time.Millisecond, trip); busy < 0.9 {
						t.Errorf("the workers are busy for %.2f of the time", busy)
					}
				})
			})
		}
	}
}

// A consumer of an ordered backlog with long lanes holds few keys: after a kill only those wait for their leases. A
// second process that joins gets half of the work.
func TestAnOrderedBacklogIsShared(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		workers, keys := fullrun.Pick(32, 64), fullrun.Pick(500, 1000)
		p := w.producer("orders", &godwit.ProducerOptions{Ordered: true})
		for key := range keys {
			w.send(p, many(30, strconv.Itoa(key))...)
		}
		w.latency(20 * time.Millisecond)
		var handled [2]atomic.Int64
		begin := func(n int) *running {
			c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: true, Concurrency: workers})
			return w.run(c, func(context.Context, *godwit.Delivery) error {
				time.Sleep(100 * time.Millisecond)
				handled[n].Add(1)
				return nil
			})
		}
		first := begin(0)
		time.Sleep(5 * time.Second)
		held := map[string]bool{}
		inFlight := 0
		for _, m := range w.messages("orders.fifo") {
			if m.State.String() == "in flight" {
				inFlight++
				held[m.Details().Group] = true
			}
		}
		if len(held) < workers || len(held) > 2*workers || inFlight > 10*2*workers {
			t.Errorf("%d keys and %d messages are held by %d workers", len(held), inFlight, workers)
		}
		second := begin(1)
		time.Sleep(10 * time.Second)
		before := [2]int64{handled[0].Load(), handled[1].Load()}
		time.Sleep(10 * time.Second)
		for i := range handled {
			if n := handled[i].Load() - before[i]; n < int64(workers)*90 {
				t.Errorf("process %d handled %d messages in 10 s, want %d", i+1, n, workers*100)
			}
		}
		for _, r := range []*running{first, second} {
			if got := r.stop(); got.LeaseLost+got.Unsettled != 0 {
				t.Errorf("report %+v", got)
			}
		}
	})
}

// Messages that are held ahead do not stay invisible when handlers suddenly take a minute: after a lease the consumer
// holds only the deliveries of its handlers and of one receive.
func TestSlowHandlersHideFewMessages(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		const workers = 64
		p := w.producer("orders", nil)
		for range 12 {
			w.send(p, many(1000, "")...)
		}
		w.latency(20 * time.Millisecond)
		var handled atomic.Int64
		c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: workers})
		r := w.run(c, func(ctx context.Context, _ *godwit.Delivery) error {
			work := 10 * time.Millisecond
			if handled.Add(1) > 4000 {
				work = 4 * time.Minute
			}
			select {
			case <-time.After(work):
			case <-ctx.Done():
			}
			return nil
		})
		hidden := func() (n int) {
			for _, m := range w.messages("orders") {
				if m.State.String() == "in flight" {
					n++
				}
			}
			return n
		}
		time.Sleep(2 * time.Second)
		if n := hidden(); n < workers+20 {
			t.Errorf("only %d messages are invisible: nothing was held ahead, and the test checks nothing", n)
		}
		time.Sleep(45 * time.Second)
		if n := hidden(); n > workers+10 {
			t.Errorf("%d messages are invisible with %d slow handlers", n, workers)
		}
		if got := r.stop(); got.LeaseLost+got.Unsettled != 0 || got.Released == 0 {
			t.Errorf("report %+v", got)
		}
	})
}

// With its defaults a consumer keeps up with a thousand messages a second, at handlers of 5 ms and 15 ms a request.
func TestDefaultsKeepUpWithAThousandASecond(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		p := w.producer("orders", &godwit.ProducerOptions{Buffer: 10_000})
		w.latency(15 * time.Millisecond)
		var mu sync.Mutex
		var ages []time.Duration
		r := w.run(w.consumer("orders", nil), func(_ context.Context, d *godwit.Delivery) error {
			sent, err := strconv.ParseInt(string(d.Body), 10, 64)
			if err != nil {
				return err
			}
			mu.Lock()
			ages = append(ages, time.Since(time.Unix(0, sent)))
			mu.Unlock()
			time.Sleep(5 * time.Millisecond)
			return nil
		})
		n := fullrun.Pick(8000, 30_000)
		for range n {
			if _, err := p.SendAsync(w.Context(), body(strconv.FormatInt(time.Now().UnixNano(), 10))); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		if report := r.stop(); report.Handled != int64(n) {
			t.Errorf("report %+v", report)
		}
		late := ages[n/10:] // after the start
		slices.Sort(late)
		p50, p99 := late[len(late)/2], late[len(late)*99/100]
		t.Logf("from send to handler: p50 %v, p99 %v", p50, p99)
		if p99 > 60*time.Millisecond {
			t.Errorf("p99 %v, want 60 ms at most", p99)
		}
	})
}

// Rejected messages of one key stand in the dead letters in the order of their verdicts, although the next one starts
// while the copy of the one before is on its way, and although batches take different times.
func TestDeadLettersKeepTheirOrder(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		const keys, each = 10, 50
		p := w.producer("orders", &godwit.ProducerOptions{Ordered: true})
		for i := range each {
			for key := range keys {
				w.send(p, godwit.Message{OrderKey: strconv.Itoa(key), Body: fmt.Appendf(nil, "%d %d", key, i)})
			}
		}
		var calls atomic.Int64
		w.server.Control("sqs.SendMessageBatch", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Delay: time.Duration(calls.Add(1)*7%5) * 10 * time.Millisecond}
		})
		c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: true, Concurrency: 16})
		r := w.run(c, func(context.Context, *godwit.Delivery) error { return godwit.Permanent(errors.New("no")) })
		time.Sleep(time.Minute)
		if got := r.stop(); got.Rejected != keys*each {
			t.Errorf("report %+v", got)
		}
		var got [keys]int
		for _, m := range w.messages("orders--dlq.fifo") {
			var key, i int
			if _, err := fmt.Sscan(m.Body, &key, &i); err != nil || got[key] != i {
				t.Errorf("of key %d, dead letter %d follows %d (%v)", key, i, got[key]-1, err)
			}
			got[key] = i + 1
		}
	})
}

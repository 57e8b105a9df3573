package queue_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/localaws/clock"
	"github.com/godwitmq/godwit/localaws/random"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// newQueue returns a queue with AWS's defaults.
func newQueue(t testing.TB, alter ...func(*queue.Options)) *queue.Queue {
	t.Helper()
	c := clock.New()
	t.Cleanup(c.Close)
	o := queue.Options{
		ARN: "arn:aws:sqs:us-east-1:000000000000:q", Clock: c, Random: random.New(1),
		Config: queue.Config{Visibility: 30 * time.Second, Retention: 4 * 24 * time.Hour, InFlight: 120_000},
	}
	for _, f := range alter {
		f(&o)
	}
	return queue.New(o)
}

func fifo(o *queue.Options) { o.FIFO = true }

func message(id, group string) queue.Put {
	given := &queue.Details{Group: group, Dedup: id}
	return queue.Put{Message: &queue.Message{ID: id, Body: id, Given: given}, Delay: queue.Default}
}

func put(t testing.TB, q *queue.Queue, puts ...queue.Put) {
	t.Helper()
	if _, err := q.Put(puts...); err != nil {
		t.Fatal(err)
	}
}

func receive(t testing.TB, q *queue.Queue, n int) []queue.Received {
	t.Helper()
	got, err := q.Receive(t.Context(), queue.Receive{Max: n, Visibility: queue.Default})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAPollerWokenAsItWentAwayPassesOn(t *testing.T) {
	for range 300 {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(t)
			ctx, cancel := context.WithCancel(t.Context())
			poll := func(ctx context.Context, got chan<- int) {
				m, _ := q.Receive(ctx, queue.Receive{Max: 1, Visibility: queue.Default, Wait: 20 * time.Second})
				got <- len(m)
			}
			first, second := make(chan int, 1), make(chan int, 1)
			go poll(ctx, first)
			synctest.Wait()
			go poll(t.Context(), second)
			synctest.Wait()
			began := time.Now()
			cancel() // and before the poller can notice:
			put(t, q, message("m", ""))
			if n := <-first + <-second; n != 1 || time.Since(began) != 0 {
				t.Fatalf("%d messages after %v, want one at once", n, time.Since(began))
			}
		})
	}
}

func TestTheTimerRunsOnlyWhileSomebodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		put(t, q, message("m", ""))
		receive(t, q, 1)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = q.Receive(ctx, queue.Receive{Max: 1, Wait: time.Second})
		}()
		synctest.Wait()
		cancel()
		<-done
		if s := q.Stats(); s.InFlight != 1 || s.Waiters != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestInFlightLimit(t *testing.T) {
	limited := func(o *queue.Options) { o.Config.InFlight = 3 }
	for name, alter := range map[string]func(*queue.Options){
		"standard": limited,
		"FIFO":     func(o *queue.Options) { limited(o); fifo(o) },
	} {
		q := newQueue(t, alter)
		for i := range 5 {
			put(t, q, message(fmt.Sprint(i), fmt.Sprint(i)))
		}
		if got := receive(t, q, 10); len(got) != 3 {
			t.Errorf("%s: %d received, want the limit of 3", name, len(got))
		}
		got, err := q.Receive(t.Context(), queue.Receive{Max: 1})
		if wanted := name == "standard"; len(got) != 0 || (err == queue.ErrOverLimit) != wanted {
			t.Errorf("%s: a short poll beyond: %v, %v", name, got, err)
		}
		if got, err = q.Receive(t.Context(), queue.Receive{Max: 1, Wait: time.Nanosecond}); len(got) != 0 ||
			err != nil {
			t.Errorf("%s: a long poll beyond: %v, %v", name, got, err)
		}
	}
}

func TestChaosDuplicatesAndReorders(t *testing.T) {
	q := newQueue(t, func(o *queue.Options) { o.Config.Chaos = queue.Chaos{Duplicate: 0.5, Reorder: 0.5} })
	const n = 200
	for i := range n {
		put(t, q, message(fmt.Sprintf("%03d", i), ""))
	}
	seen, disorder, last := map[string]int{}, 0, ""
	for len(seen) < n || q.Stats().Visible > 0 {
		for _, m := range receive(t, q, 10) {
			seen[m.ID]++
			if m.ID < last {
				disorder++
			}
			last = m.ID
		}
	}
	twice := 0
	for _, times := range seen {
		if times > 1 {
			twice++
		}
	}
	if twice == 0 || disorder == 0 {
		t.Errorf("%d of %d delivered twice, %d out of order: want some of each", twice, n, disorder)
	}
}

func TestInspectionReceivesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, fifo)
		put(t, q, message("a1", "a"), message("a2", "a"), message("b1", "b"))
		got := receive(t, q, 1)
		views := q.Messages()
		if len(views) != 3 || views[0].State != queue.InFlight || views[1].State != queue.Visible ||
			views[0].Handle != got[0].Handle ||
			len(views[0].Receives) != 1 || time.Until(views[0].Until) != 30*time.Second || views[1].Count != 0 {
			t.Errorf("views %+v", views)
		}
		locks := q.Locks()
		if len(locks) != 1 || locks[0] != (queue.Lock{Group: "a", InFlight: 1, Behind: 1}) {
			t.Errorf("locks %+v", locks)
		}
		known := q.Dedup()
		if len(known) != 3 || known[0].MessageID != "a1" || time.Until(known[0].Until) != queue.DedupWindow {
			t.Errorf("dedup %+v", known)
		}
		time.Sleep(queue.DedupWindow)
		if known = q.Dedup(); len(known) != 0 {
			t.Errorf("dedup after its window %+v", known)
		}
	})
}

func TestAwaitLooksWhenSomethingChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		put(t, q, message("m", ""))
		receive(t, q, 1)
		began, looks := time.Now(), 0
		err := q.Await(t.Context(), func(s queue.Stats) bool {
			looks++
			return s.Visible == 1
		})
		if err != nil || time.Since(began) != 30*time.Second || looks != 2 {
			t.Errorf("after %v with %d looks: %v", time.Since(began), looks, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := q.Await(ctx, func(queue.Stats) bool { return false }); err != context.DeadlineExceeded {
			t.Errorf("an endless wait ended with %v", err)
		}
	})
}

func TestHandlesOfOthersAndForgedOnes(t *testing.T) {
	a, b := newQueue(t), newQueue(t, func(o *queue.Options) { o.Random = random.New(2) })
	put(t, a, message("m", ""))
	h := receive(t, a, 1)[0].Handle
	if err := b.DeleteMessage(h); err != queue.ErrHandle {
		t.Errorf("another queue's handle: %v", err)
	}
	for i := range h {
		forged := []byte(h)
		forged[i] ^= 1
		if err := a.DeleteMessage(string(forged)); err != queue.ErrHandle {
			t.Errorf("forged at %d: %v", i, err)
		}
	}
	if err := a.DeleteMessage(h); err != nil || a.Stats().Total() != 0 {
		t.Errorf("the right one: %v", err)
	}
}

package engine

import (
	"slices"
	"strings"
	"testing"
)

// Workers are woken one after another: one when items come, and another one by each that starts an item, while there
// are more items.
func TestWorkersWakeOneAfterAnother(t *testing.T) {
	f := &Fleet{alone: true, idle: 3}
	q := &queue{weight: 1, limit: 100, alone: true}
	f.bus.join(q)
	wakes := func(when string, want int) {
		t.Helper()
		if n := f.toWake(); n != want {
			t.Errorf("%s: %d are woken, want %d", when, n, want)
		}
	}
	wakes("without items", 0)
	for range 3 {
		q.push(&Item{})
	}
	wakes("three items came", 1)
	wakes("nothing new, and one is waking", 0)
	q.push(&Item{})
	wakes("one more came, and one is waking", 0)
	start := func() {
		q.remove(q.head)
		f.began = true
	}
	f.idle, f.waking = 2, false // the worker looks
	start()
	wakes("it started an item", 1)
	start()
	wakes("a busy worker started one, and one is waking", 0)
	f.idle, f.waking = 1, false
	start()
	wakes("the second started one", 1)
	f.idle, f.waking = 0, false
	start()
	wakes("the third took the last item", 0)
	f.idle = 3
	f.wakeAll()
	wakes("when all must look", -1)
	q.push(&Item{})
	q.push(&Item{})
	wakes("two came", 1)
	f.waking = false
	start()
	q.gathering = true // a signal for one could wake the worker that gathers, and no other would ever be woken
	wakes("one was started beside a worker that gathers", -1)
}

// A worker that leaves although it was woken passes the signal on.
func TestAWorkerThatLeavesWakesAnother(t *testing.T) {
	f := &Fleet{alone: true, idle: 1}
	f.some.L = &f.mu
	q := &queue{weight: 1, limit: 100, alone: true}
	f.bus.join(q)
	q.push(&Item{})
	f.seen = 1
	if it := f.next(&stint{}, func() bool { return true }); it != nil || !f.waking {
		t.Errorf("it took %v; another worker is woken: %v", it, f.waking)
	}
}

// A fleet has as many workers as its size says, also while handlers were abandoned.
func TestTheSizeOfAFleet(t *testing.T) {
	f := NewFleet(3, 1, true)
	count := func(want int) {
		t.Helper()
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.there != want {
			t.Errorf("there are %d workers, want %d", f.there, want)
		}
	}
	count(3)
	f.Resize(5)
	count(5)
	w := &worker{fleet: f} // one of them, whose handler does not return
	f.wg.Add(1)
	f.mu.Lock()
	f.retire(w)
	f.mu.Unlock()
	f.refill(w)
	f.mu.Lock()
	f.retire(w)
	f.mu.Unlock()
	f.refill(w)
	count(5)
	f.Close()
}

// filled returns a bus with a queue for each word, whose letters are the items. A "-" before the word freezes the
// queue.
func filled(words ...string) (*bus, map[*queue]string) {
	b, names := &bus{}, map[*queue]string{}
	for _, word := range words {
		q := &queue{weight: 1, limit: 100}
		b.join(q)
		word, q.frozen = strings.TrimPrefix(word, "-"), strings.HasPrefix(word, "-")
		for _, r := range word {
			q.push(&Item{use: use{ID: string(r)}})
		}
		names[q] = word
	}
	return b, names
}

// drain takes items as workers do, at most most.
func drain(b *bus, most int) string {
	var taken []string
	for range most {
		q := b.next()
		if q == nil {
			break
		}
		it := q.head
		taken = append(taken, it.ID)
		q.remove(it)
		q.seat()
	}
	return strings.Join(taken, "")
}

func TestTheBusTakesInTurn(t *testing.T) {
	for _, c := range []struct {
		name    string
		words   []string
		prepare func(qs []*queue)
		want    string
	}{
		{"one queue is first in, first out", []string{"abc"}, nil, "abc"},
		{"a flooded queue does not starve a quiet one", []string{"aaaa", "b"}, nil, "abaaa"},
		{"weights", []string{"aaaa", "bbbb"}, func(qs []*queue) { qs[0].weight = 3 }, "aaababbb"},
		{"priority is strict", []string{"aaa", "bb"}, func(qs []*queue) { qs[1].priority = 1 }, "bbaaa"},
		{"a cap", []string{"aaa", "bb"}, func(qs []*queue) { qs[0].limit = 1 }, "abb"},
		{"frozen", []string{"-aa", "b"}, nil, "b"},
		{"one of a frozen queue is granted", []string{"-aa", "b"}, func(qs []*queue) { qs[0].granted = true }, "ab"},
		{"nobody takes while a batch gathers", []string{"aa", "b"}, func(qs []*queue) { qs[0].batches = true }, "ab"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, _ := filled(c.words...)
			if c.prepare != nil {
				c.prepare(b.queues)
			}
			if got := drain(b, 20); got != c.want {
				t.Errorf("the order is %q, want %q", got, c.want)
			}
		})
	}
}

// An item can be removed from any position, and the rest stays in order.
func TestAnItemLeavesItsQueue(t *testing.T) {
	for _, leaves := range []string{"a", "b", "c", "ac", "abc", ""} {
		b, _ := filled("abc")
		q := b.queues[0]
		var all []*Item
		for it := q.head; it != nil; it = it.lineNext {
			all = append(all, it)
		}
		for _, it := range all {
			if strings.Contains(leaves, it.ID) {
				q.remove(it)
			}
		}
		want := strings.Map(func(r rune) rune {
			if strings.ContainsRune(leaves, r) {
				return -1
			}
			return r
		}, "abc")
		if n := q.n; n != len(want) || b.n != n {
			t.Errorf("without %q: %d on the queue and %d on the bus, want %d", leaves, n, b.n, len(want))
		}
		if got := drain(b, 5); got != want {
			t.Errorf("without %q: %q, want %q", leaves, got, want)
		}
	}
}

func TestAVacatedSeatOfAFullQueue(t *testing.T) {
	b, _ := filled("abc")
	q := b.queues[0]
	q.limit = 1
	if got := drain(b, 5); got != "a" {
		t.Fatalf("started %q with a limit of 1", got)
	}
	if !q.vacate() || q.active != 0 {
		t.Errorf("vacate does not report that another worker may begin (%d active)", q.active)
	}
	b.leave(q)
	if b.next() != nil {
		t.Error("an item of a queue that has left was started")
	}
}

func TestSurplusIsTheNewest(t *testing.T) {
	b, _ := filled("abcd")
	var ids []string
	for _, it := range b.queues[0].surplus(3) {
		ids = append(ids, it.ID)
	}
	if !slices.Equal(ids, []string{"d"}) {
		t.Errorf("beyond 3 of abcd: %v", ids)
	}
}

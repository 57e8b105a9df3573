package engine

import "testing"

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

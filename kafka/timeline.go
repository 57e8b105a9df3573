package kafka

import (
	"container/heap"
	"time"
)

// timeline is what waits here until a time, the earliest first. Guarded by receiver.mu.
type timeline struct{ all waiting }

type wait struct {
	until time.Time
	m     *message
}

func (t *timeline) add(m *message, until time.Time) {
	m.epoch.hold(m, 1)
	heap.Push(&t.all, wait{until, m})
}

// take returns one that is due; nil: none is. What belongs to a lost epoch is dropped on the way.
func (t *timeline) take(now time.Time) *message {
	for len(t.all) > 0 {
		first := t.all[0]
		if !first.m.epoch.gone && first.until.After(now) {
			return nil
		}
		heap.Pop(&t.all)
		first.m.epoch.hold(first.m, -1)
		if first.m.epoch.wants() {
			return first.m
		}
	}
	return nil
}

// next is when the next one is due; zero: nothing waits.
func (t *timeline) next() time.Time {
	if len(t.all) == 0 {
		return time.Time{}
	}
	return t.all[0].until
}

type waiting []wait

func (w waiting) Len() int           { return len(w) }
func (w waiting) Less(i, j int) bool { return w[i].until.Before(w[j].until) }
func (w waiting) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *waiting) Push(x any)        { *w = append(*w, x.(wait)) }
func (w *waiting) Pop() any {
	last := len(*w) - 1
	x := (*w)[last]
	(*w)[last] = wait{}
	*w = (*w)[:last]
	return x
}

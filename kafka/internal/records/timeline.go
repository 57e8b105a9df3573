package records

import (
	"container/heap"
	"time"
)

// timeline is the messages that wait until a time, the earliest first. Guarded by Ledger.mu.
type timeline struct{ all waits }

type wait struct {
	until time.Time
	m     *Message
}

// add adds a message; first: it is the earliest.
func (t *timeline) add(m *Message, until time.Time) (first bool) {
	heap.Push(&t.all, wait{until, m})
	return t.all[0].m == m
}

// take removes a message that is due and returns it; nil: none is due. It also removes messages whose epoch has ended.
func (t *timeline) take(now time.Time) *Message {
	for len(t.all) > 0 {
		first := t.all[0]
		open := first.m.Epoch.state == epochOpen
		if first.m.Epoch.state != epochGone && first.until.After(now) {
			return nil
		}
		heap.Pop(&t.all)
		if open {
			return first.m
		}
	}
	return nil
}

// next is when the earliest message is due; zero: none waits.
func (t *timeline) next() time.Time {
	if len(t.all) == 0 {
		return time.Time{}
	}
	return t.all[0].until
}

// waits is a heap.
type waits []wait

func (w waits) Len() int           { return len(w) }
func (w waits) Less(i, j int) bool { return w[i].until.Before(w[j].until) }
func (w waits) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *waits) Push(x any)        { *w = append(*w, x.(wait)) }
func (w *waits) Pop() any {
	last := len(*w) - 1
	x := (*w)[last]
	(*w)[last] = wait{}
	*w = (*w)[:last]
	return x
}

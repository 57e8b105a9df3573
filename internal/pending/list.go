package pending

import (
	"context"
	"sync"
	"time"
)

// Entry is the part of a value by which it is in a list.
type Entry[T any] struct {
	value      T
	until      time.Time
	prev, next *Entry[T]
	list       *List[T] // nil: in none
}

// List is the values that are not answered yet, the oldest first. Its methods may be called concurrently.
type List[T any] struct {
	entry   func(v T) *Entry[T]
	expired func(vs []T)

	mu     sync.Mutex
	first  *Entry[T]
	last   *Entry[T]
	n      int
	timer  *time.Timer
	closed bool
	empty  chan struct{} // closed when the list is closed and empty
	wg     sync.WaitGroup
}

// New returns an empty list. entry returns the entry that is a part of a value. expired is called with the values whose
// time is over, in a goroutine of its own.
func New[T any](entry func(v T) *Entry[T], expired func(vs []T)) *List[T] {
	l := &List[T]{entry: entry, expired: expired, empty: make(chan struct{})}
	l.timer = time.AfterFunc(time.Hour, l.expire)
	l.timer.Stop()
	return l
}

// Add adds values at the end, with the time at which they are given up. Values whose time is over earlier than that of
// those before them wait for them. It returns false, and adds none, if the list is closed.
func (l *List[T]) Add(until time.Time, vs ...T) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	for _, v := range vs {
		e := l.entry(v)
		e.value, e.until, e.list, e.prev = v, until, l, l.last
		if l.last == nil {
			l.first = e
			l.timer.Reset(time.Until(until))
		} else {
			l.last.next = e
		}
		l.last = e
		l.n++
	}
	return true
}

// Take removes a value that is answered. It returns false if the value was given up before.
func (l *List[T]) Take(v T) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entry(v)
	if e.list != l {
		return false
	}
	l.remove(e)
	return true
}

// remove removes an entry. The caller holds the lock.
func (l *List[T]) remove(e *Entry[T]) {
	if e.prev == nil {
		l.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next, e.list = nil, nil, nil
	if l.n--; l.n == 0 && l.closed {
		close(l.empty)
	}
}

// expire is the timer's function. The timer may be too early, because it is not stopped when the first value is taken.
func (l *List[T]) expire() {
	l.mu.Lock()
	var over []T
	for now := time.Now(); l.first != nil && !l.first.until.After(now); {
		over = append(over, l.first.value)
		l.remove(l.first)
	}
	if l.first != nil {
		l.timer.Reset(time.Until(l.first.until))
	}
	if len(over) > 0 {
		l.wg.Add(1)
		defer l.wg.Done()
	}
	l.mu.Unlock()
	if len(over) > 0 {
		l.expired(over)
	}
}

// Close refuses further values, and waits until all are taken or given up, or until ctx ends. It returns those that are
// left, which are given up then.
func (l *List[T]) Close(ctx context.Context) (left []T) {
	l.mu.Lock()
	if !l.closed {
		if l.closed = true; l.n == 0 {
			close(l.empty)
		}
	}
	l.mu.Unlock()
	select {
	case <-l.empty:
	case <-ctx.Done():
	}
	l.mu.Lock()
	for l.first != nil {
		left = append(left, l.first.value)
		l.remove(l.first)
	}
	l.timer.Stop()
	l.mu.Unlock()
	l.wg.Wait()
	return left
}

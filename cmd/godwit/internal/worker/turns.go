package worker

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
)

// turns says which worker gets a message: a free one, and for messages of one key the same one as before if that is
// free. The consumer does not run more handlers than there are workers, so a message waits only while a worker needs
// more time to end than its message had.
type turns struct {
	seed maphash.Seed

	mu    sync.Mutex
	all   int
	free  []int
	queue []chan int // each holds one
}

func newTurns(n int) *turns {
	t := &turns{seed: maphash.MakeSeed(), all: n}
	for i := range n {
		t.free = append(t.free, i)
	}
	return t
}

// take waits for a worker, which give returns.
func (t *turns) take(ctx context.Context, key string) (int, error) {
	t.mu.Lock()
	if len(t.free) > 0 {
		defer t.mu.Unlock()
		return t.pick(key), nil
	}
	got := make(chan int, 1)
	t.queue = append(t.queue, got)
	t.mu.Unlock()
	select {
	case n := <-got:
		return n, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	t.queue = slices.DeleteFunc(t.queue, func(other chan int) bool { return other == got })
	t.mu.Unlock()
	select {
	case n := <-got: // at the last moment
		t.give(n)
	default:
	}
	return 0, context.Cause(ctx)
}

// pick takes a worker from the free ones.
func (t *turns) pick(key string) int {
	at := len(t.free) - 1
	if key != "" {
		usual := int(maphash.String(t.seed, key) % uint64(t.all)) //nolint:gosec // a remainder of an int
		if i := slices.Index(t.free, usual); i >= 0 {
			at = i
		}
	}
	n := t.free[at]
	t.free = slices.Delete(t.free, at, at+1)
	return n
}

func (t *turns) give(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) > 0 {
		t.queue[0] <- n
		t.queue = t.queue[1:]
		return
	}
	t.free = append(t.free, n)
}

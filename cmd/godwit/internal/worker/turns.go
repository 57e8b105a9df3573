package worker

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/godwitmq/godwit"
)

// errBusy is why a message is held for a while: no worker was free, which is not its fault.
var errBusy = fmt.Errorf("all workers are busy: %w", godwit.ErrBusy)

// patience is how long a message waits for a worker. The consumer does not run more handlers than workers can take, so
// a message waits only while that number shrinks, or while others go first.
const patience = 100 * time.Millisecond

// turns says which worker gets a message. A free worker is first, and for messages of one key the same one as before.
// If none is free, and answers come fast, the message goes behind those that a worker has already.
type turns struct {
	seed     maphash.Seed
	patience time.Duration

	mu     sync.Mutex
	has    []int // how many messages each worker has
	window int   // how many a worker may have
	free   []int // workers without a message; the last one was used last
	queue  []turn
}

// turn is a message that waits for a worker.
type turn struct {
	alone bool
	got   chan seat // holds one
}

// seat is a place for a message at a worker.
type seat struct {
	worker int
	first  bool // the worker has no other message
}

func newTurns(n int) *turns {
	t := &turns{seed: maphash.MakeSeed(), patience: patience, has: make([]int, n), window: 1}
	for i := range n {
		t.free = append(t.free, i)
	}
	return t
}

// take waits for a worker, which give returns. alone asks for one without another message.
func (t *turns) take(ctx context.Context, key string, alone bool) (seat, error) {
	t.mu.Lock()
	if len(t.queue) == 0 {
		if s, ok := t.pick(key, alone); ok {
			t.mu.Unlock()
			return s, nil
		}
	}
	got := make(chan seat, 1)
	t.queue = append(t.queue, turn{alone, got})
	t.mu.Unlock()
	wait := time.NewTimer(t.patience)
	defer wait.Stop()
	err := errBusy
	select {
	case s := <-got:
		return s, nil
	case <-wait.C:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue = slices.DeleteFunc(t.queue, func(other turn) bool { return other.got == got })
	select {
	case s := <-got: // at the last moment
		t.back(s)
	default:
	}
	t.serve() // those behind it may want less
	return seat{}, err
}

// pick takes a worker for a message.
func (t *turns) pick(key string, alone bool) (s seat, ok bool) {
	n, usual := 0, -1
	if key != "" {
		usual = int(maphash.String(t.seed, key) % uint64(len(t.has))) //nolint:gosec // a remainder of an int
	}
	switch {
	case len(t.free) > 0:
		n = t.free[len(t.free)-1]
		if usual >= 0 && t.has[usual] == 0 {
			n = usual
		}
	case alone:
		return seat{}, false
	default:
		for i, has := range t.has {
			if has < t.has[n] {
				n = i
			}
		}
		if usual >= 0 && t.has[usual] < t.window {
			n = usual
		}
		if t.has[n] >= t.window {
			return seat{}, false
		}
	}
	if t.has[n]++; t.has[n] == 1 {
		t.free = slices.DeleteFunc(t.free, func(i int) bool { return i == n })
	}
	return seat{n, t.has[n] == 1}, true
}

// give ends what take began.
func (t *turns) give(s seat) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.back(s)
	t.serve()
}

func (t *turns) back(s seat) {
	if t.has[s.worker]--; t.has[s.worker] == 0 {
		t.free = append(t.free, s.worker)
	}
}

// serve gives workers to messages that wait, in their order.
func (t *turns) serve() {
	for len(t.queue) > 0 {
		s, ok := t.pick("", t.queue[0].alone)
		if !ok {
			return
		}
		t.queue[0].got <- s
		t.queue = t.queue[1:]
	}
}

// widen changes how many messages a worker may have.
func (t *turns) widen(window int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.window = window
	t.serve()
}

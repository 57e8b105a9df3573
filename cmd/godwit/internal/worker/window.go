package worker

import (
	"sync"
	"time"
)

const (
	// mostAhead is how many messages a worker has at most, with the one that it handles. A write and a read of so many
	// lines cost little more than those of one.
	mostAhead = 32
	// expected is how soon a message is expected to be handled that waits behind others for a worker. Handlers of a
	// millisecond gain nothing from more.
	expected = 10 * time.Millisecond
	// beginWithin is how late a worker may begin a message that waits behind others which take longer than expected.
	// Then the message goes to another worker.
	beginWithin = 100 * time.Millisecond
	// aheadBytes is how many bytes of messages a worker has at most if it has more than one. Every system's pipes hold
	// so many, so that a write does not wait for the worker.
	aheadBytes = 16 << 10
	// steady is how many answers must have come fast before the window grows.
	steady = 64
)

// window is how many messages each worker of a pool may have. It grows while answers come fast, and is one if they do
// not, or if the workers do not say that they take more.
type window struct {
	most   int
	change func(n int)   // is told of a new size
	begin  time.Duration // beginWithin

	mu     sync.Mutex
	size   int
	each   time.Duration // that a message takes, on average
	bytes  int           // of a message, on average
	streak int           // messages since the last change
}

// answered counts n messages that a worker has handled one after another, with so many bytes.
func (w *window) answered(n int, took time.Duration, bytes int) {
	if w.most == 1 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	part := min(n, 8)
	w.each += (took/time.Duration(n) - w.each) * time.Duration(part) / 16
	w.bytes += (bytes/n - w.bytes) * part / 16
	w.streak += n
	fit := min(w.most, int(expected/max(w.each, 1)), aheadBytes/max(2*w.bytes, 1))
	switch {
	case w.streak >= steady && fit >= 2*w.size:
		w.resize(2 * w.size)
	case w.size > 1 && 2*fit < w.size:
		w.resize(w.size / 2)
	}
}

// missed counts a message that no worker has begun in time.
func (w *window) missed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.size > 1 {
		w.resize(1)
	}
}

func (w *window) resize(n int) {
	w.size, w.streak = n, 0
	w.change(n)
}

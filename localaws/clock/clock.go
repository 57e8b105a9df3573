package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

// Clock is a clock with an offset. It is safe for concurrent use. The zero value is not usable; call New.
type Clock struct {
	start  time.Time
	offset atomic.Int64 // nanoseconds ahead of package time

	advancing sync.Mutex // allows one Advance at a time; no other method takes it

	mu      sync.Mutex
	closed  bool
	over    chan struct{} // closed by Close
	seq     uint64
	pending map[*alarm]struct{}
	running sync.WaitGroup
}

// alarm is a function that waits for its time.
type alarm struct {
	due   time.Time
	seq   uint64 // breaks ties: the first to be scheduled fires first
	f     func()
	timer *time.Timer
}

// New returns a clock that shows package time.
func New() *Clock {
	return &Clock{start: time.Now(), pending: make(map[*alarm]struct{}), over: make(chan struct{})}
}

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	return time.Now().Add(time.Duration(c.offset.Load()))
}

// Elapsed returns the clock's time since New. It is cheaper than Now, and not affected by changes of the machine's wall
// clock.
func (c *Clock) Elapsed() time.Duration {
	return time.Since(c.start) + time.Duration(c.offset.Load())
}

// At returns the time of day at which Elapsed was d.
func (c *Clock) At(d time.Duration) time.Time {
	return c.start.Add(d)
}

// Offset returns how far Advance has moved the clock in total.
func (c *Clock) Offset() time.Duration {
	return time.Duration(c.offset.Load())
}

// Restore sets the offset to that of an earlier clock, at most Furthest. It may be called before anything else uses the
// clock.
func (c *Clock) Restore(offset time.Duration) { c.offset.Store(int64(min(offset, Furthest))) }

// AfterFunc runs f in its own goroutine when the clock has advanced by d; a zero or negative d means at once. The
// returned stop may be called more than once. After stop has returned, f has either begun or will never run. A closed
// clock does not run f.
func (c *Clock) AfterFunc(d time.Duration, f func()) (stop func()) {
	d = max(d, 0)
	a := &alarm{f: f}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return func() {}
	}
	c.seq++
	a.seq, a.due = c.seq, c.Now().Add(d)
	c.pending[a] = struct{}{}
	a.timer = time.AfterFunc(d, func() { c.fire(a) })
	return func() { c.stop(a) }
}

// Furthest is how far Advance moves the clock in total: far enough for every retention, and far from the end of
// time.Duration, where sums of times would turn negative.
const Furthest = 100 * 365 * 24 * time.Hour

// Advance moves the clock by d, but not beyond Furthest, and runs, in the caller's goroutine, every function that
// becomes due, in order of due time. While a function runs, Now returns the time at which it was due, so functions that
// it schedules are placed correctly. A negative d is ignored.
func (c *Clock) Advance(d time.Duration) {
	if d <= 0 {
		return
	}
	c.advancing.Lock()
	defer c.advancing.Unlock()
	before := time.Duration(c.offset.Load())
	target := before + min(d, max(Furthest-before, 0))
	for {
		a := c.takeDue(target)
		if a == nil {
			break
		}
		a.f()
		c.running.Done()
	}
	c.rearm()
}

// Close stops all pending functions and waits for those that run. It must not be called from one of them.
func (c *Clock) Close() {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		close(c.over)
	}
	for a := range c.pending {
		a.timer.Stop()
		delete(c.pending, a)
	}
	c.mu.Unlock()
	c.running.Wait()
}

// Closed returns a channel that Close closes, for goroutines that wait for a function that will not run any more.
func (c *Clock) Closed() <-chan struct{} { return c.over }

// fire is the function of the real timer.
func (c *Clock) fire(a *alarm) {
	c.mu.Lock()
	if _, waiting := c.pending[a]; !waiting {
		c.mu.Unlock()
		return
	}
	delete(c.pending, a)
	c.running.Add(1)
	c.mu.Unlock()
	defer c.running.Done()
	a.f()
}

func (c *Clock) stop(a *alarm) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, a)
	a.timer.Stop()
}

// takeDue removes and returns the earliest alarm that is due within the target offset, and moves the clock to its time.
// If there is none, it moves the clock to target.
func (c *Clock) takeDue(target time.Duration) *alarm {
	c.mu.Lock()
	defer c.mu.Unlock()
	real := time.Now()
	var first *alarm
	for a := range c.pending {
		if !a.due.After(real.Add(target)) && (first == nil || a.before(first)) {
			first = a
		}
	}
	if first == nil {
		c.offset.Store(int64(target))
		return nil
	}
	at := first.due.Sub(real)
	if at > time.Duration(c.offset.Load()) {
		c.offset.Store(int64(at))
	}
	delete(c.pending, first)
	first.timer.Stop()
	c.running.Add(1)
	return first
}

func (a *alarm) before(b *alarm) bool {
	if a.due.Equal(b.due) {
		return a.seq < b.seq
	}
	return a.due.Before(b.due)
}

// rearm sets the real timers again after the offset has changed.
func (c *Clock) rearm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Now()
	for a := range c.pending {
		a.timer.Reset(a.due.Sub(now))
	}
}

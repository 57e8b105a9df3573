package console

import (
	"context"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

const (
	// watchLasts is how long the channels are looked at after a page was shown, so that its reader, who has no script,
	// finds the charts complete at the next click.
	watchLasts = 10 * time.Minute
	// firstLook is how long the first page waits for the first look.
	firstLook = 200 * time.Millisecond
)

// watch keeps the last view of the sampler, and looks while somebody reads pages.
type watch struct {
	sampler *ops.Sampler
	always  bool
	beside  func(ctx context.Context, v *ops.View) // finds out what is not in a view, beside the looks

	finding sync.Mutex // held by beside
	mu      sync.Mutex
	view    *ops.View // nil: none yet
	changed chan struct{}
	until   time.Time
	looking bool
	closed  bool
	ctx     context.Context //nolint:containedctx // of the goroutine; close ends it
	stop    context.CancelFunc
	work    sync.WaitGroup
}

func newWatch(s *ops.Sampler, always bool, beside func(ctx context.Context, v *ops.View)) *watch {
	w := &watch{sampler: s, always: always, beside: beside, changed: make(chan struct{})}
	w.ctx, w.stop = context.WithCancel(context.Background())
	if always {
		w.wanted()
	}
	return w
}

// close ends the looks.
func (w *watch) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.stop()
	w.work.Wait()
}

// wanted goes on with the looks for a while.
func (w *watch) wanted() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = time.Now().Add(watchLasts)
	if w.looking || w.closed {
		return
	}
	w.looking = true
	w.work.Go(func() {
		for v := range w.sampler.Watch(w.ctx) {
			if w.publish(&v) {
				return
			}
			w.work.Go(func() { w.find(&v) })
		}
	})
}

// find finds out what is not in a view, unless that is still under way for the one before, and wakes the pages.
func (w *watch) find(v *ops.View) {
	if !w.finding.TryLock() {
		return
	}
	defer w.finding.Unlock()
	w.beside(w.ctx, v)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wake()
}

// wake tells the pages that something has changed.
func (w *watch) wake() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// publish keeps a view, and reports whether nobody is interested any more.
func (w *watch) publish(v *ops.View) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.view = v
	w.wake()
	if w.always || time.Now().Before(w.until) {
		return false
	}
	w.looking = false
	return true
}

// last returns the last view, and a channel that is closed when there is another one. A view is nil before the first
// look, for which last waits a moment.
func (w *watch) last(ctx context.Context) (*ops.View, <-chan struct{}) {
	w.wanted()
	view, changed := w.now()
	if view != nil {
		return view, changed
	}
	timer := time.NewTimer(firstLook)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
	}
	return w.now()
}

func (w *watch) now() (*ops.View, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.view, w.changed
}

// find returns what was seen of a channel; nil: nothing.
func find(v *ops.View, name string) *ops.Watched {
	if v == nil {
		return nil
	}
	for i := range v.Channels {
		if v.Channels[i].Channel.String() == name {
			return &v.Channels[i]
		}
	}
	return nil
}

// index finds what was seen of a channel.
type index map[driver.Channel]*ops.Watched

// indexOf makes the index of a view, which may be nil.
func indexOf(v *ops.View) index {
	x := index{}
	if v == nil {
		return x
	}
	for i := range v.Channels {
		x[v.Channels[i].Channel] = &v.Channels[i]
	}
	return x
}

// named finds a channel by its name; nil: it was not seen.
func (x index) named(name string) *ops.Watched {
	for ch, w := range x {
		if ch.String() == name {
			return w
		}
	}
	return nil
}

// letters are the dead letters of a channel.
func letters(ch driver.Channel) driver.Channel {
	ch.DeadLetter = true
	return ch
}

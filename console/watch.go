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

func newWatch(s *ops.Sampler, always bool) *watch {
	w := &watch{sampler: s, always: always, changed: make(chan struct{})}
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
		}
	})
}

// publish keeps a view, and reports whether nobody is interested any more.
func (w *watch) publish(v *ops.View) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.view = v
	close(w.changed)
	w.changed = make(chan struct{})
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

// letters are the dead letters of a channel.
func letters(ch driver.Channel) driver.Channel {
	ch.DeadLetter = true
	return ch
}

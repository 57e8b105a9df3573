package ops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
)

const (
	// walkWait is how long a poll waits. A poll that waits asks all servers of SQS, so an empty answer means that the
	// queue is empty.
	walkWait = time.Second
	// walkersMost is how many polls run at once, where the service allows several.
	walkersMost = 8
	// emptiesMost is how many polls in a row may return nothing although messages are missing, in a queue. A log may
	// take longer, because it gathers a group first.
	emptiesMost     = 3
	emptiesMostLogs = 30
)

// walk receives every message of a channel once. Messages that stay are held until the end, so that they are not
// delivered again, and are then released. Where they are too many, the walk goes by windows: it releases them at the
// end of each, and recognizes those that it has looked at before.
type walk struct {
	recv    driver.Receiver
	lim     driver.ReceiveLimits
	waiting int64 // messages that there were at the beginning; approximate
	hold    int   // the most messages that are held
	rate    rate
	// visit looks at messages, and returns those that stay. An error ends the walk.
	visit func(ctx context.Context, ds []driver.Delivery) (stay []driver.Delivery, err error)
	// enough reports whether the walk can end early; nil: never.
	enough func() bool

	held     held
	mu       sync.Mutex
	looked   int64 // messages
	empties  int   // polls in a row that returned nothing, while no messages were in hand
	inHand   int   // receives whose messages are being treated
	receives int64 // that returned messages, and those whose messages are treated: it tells whether a poll was alone
	windows  int
	fresh    int64               // messages of this window that had not been looked at before
	before   map[string]struct{} // ids of the messages that stay
	over     bool
}

// newWalk opens a walk through a channel.
func newWalk(ctx context.Context, b driver.Backend, from driver.Channel, hold int) (*walk, error) {
	w := &walk{hold: hold, windows: 1, before: map[string]struct{}{}}
	if in, ok := b.(driver.Inspector); ok {
		depth, err := in.Inspect(ctx, from)
		if err != nil {
			return nil, fmt.Errorf("ops: look at %s: %w", from, err)
		}
		w.waiting = depth.Waiting
	}
	var err error
	w.recv, err = b.Receiver(ctx, from, driver.ReceiverOptions{
		Window: hold, Concurrency: 10 * walkersMost, Wait: walkWait, Lease: shortLease,
	})
	if err != nil {
		return nil, fmt.Errorf("ops: open %s: %w", from, err)
	}
	w.lim = w.recv.Limits()
	w.held = held{recv: w.recv, lim: w.lim}
	return w, nil
}

// run walks, releases what stays, and closes the receiver. When ctx ends, the messages in hand are still treated.
func (w *walk) run(ctx context.Context) error {
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	walking, cancel := context.WithCancel(ctx)
	defer cancel()
	var keeper, walkers sync.WaitGroup
	keeper.Go(func() { w.held.keep(keeping) })
	n := 1
	if !w.lim.Keeps {
		n = max(1, min(w.lim.Polls, walkersMost))
	}
	errs := make([]error, n)
	for i := range n {
		walkers.Go(func() {
			if errs[i] = w.walk(walking); errs[i] != nil {
				cancel()
			}
		})
	}
	walkers.Wait()
	stop()
	keeper.Wait()
	err := errors.Join(errs...)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = w.stalled()
	}
	closing, done := context.WithTimeout(context.WithoutCancel(ctx), releasePatience)
	defer done()
	return errors.Join(err, w.held.release(ctx, w.held.take()), w.recv.Close(closing))
}

// stalled returns an error if the walk ended early, because a log cannot note more finished messages behind those that
// stay.
func (w *walk) stalled() error {
	s, ok := w.recv.(driver.Staller)
	if !ok || w.unlooked() == 0 || w.enough != nil && w.enough() {
		return nil
	}
	_, complaints := s.Stalls(time.Now().Add(driver.StallLasts)) // also of a stall that has just begun
	if len(complaints) == 0 {
		return nil
	}
	return fmt.Errorf("ops: too many messages stay for those between them to be noted as finished: select more of them, "+
		"or those at the beginning first (%s)", strings.Join(complaints, "; "))
}

// walk receives until the channel is empty.
func (w *walk) walk(ctx context.Context) error {
	for try, failing := 1, (time.Time{}); ; {
		most, _ := w.rate.take(ctx, w.lim.Batch) // its error is that of ctx
		if over(ctx) || w.ended() {
			return nil
		}
		before := w.events()
		ds, err := w.recv.Receive(ctx, driver.Ask{Max: most}, nil)
		w.rate.giveBack(most - len(ds))
		if len(ds) > 0 {
			try, failing = 1, time.Time{}
			if err := w.treat(ctx, ds); err != nil {
				return err
			}
			continue
		}
		switch {
		case over(ctx):
			return nil
		case err == nil:
			if w.empty(before) {
				return nil
			}
			continue
		case failing.IsZero():
			failing = time.Now()
		}
		if !driver.ClassOf(err).Passing() || time.Since(failing) > patience {
			return fmt.Errorf("receive: %w", err)
		}
		_ = backoff.Sleep(ctx, pauses.Jittered(try)) // the next receive looks at ctx
		try++
	}
}

// over reports whether ctx has ended, which is no failure of what runs under it.
func over(ctx context.Context) bool { return ctx.Err() != nil }

// treat lets the visitor look at messages, and holds those that stay.
func (w *walk) treat(ctx context.Context, ds []driver.Delivery) error {
	ds = w.unseen(ds)
	defer w.treated()
	if ctx.Err() != nil { // they came after the end
		w.held.add(ds...)
		return nil
	}
	stay, err := w.visit(context.WithoutCancel(ctx), ds)
	w.held.add(stay...)
	w.mu.Lock()
	for i := range stay {
		w.before[stay[i].ID] = struct{}{}
	}
	w.mu.Unlock()
	if err != nil {
		return err
	}
	return w.held.release(ctx, w.window())
}

// unseen counts messages, and holds those of earlier windows.
func (w *walk) unseen(ds []driver.Delivery) []driver.Delivery {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.empties = 0
	w.inHand++
	w.receives++
	rest := ds[:0:0]
	for i := range ds {
		if _, again := w.before[ds[i].ID]; again {
			w.held.add(ds[i])
			continue
		}
		rest = append(rest, ds[i])
	}
	w.looked += int64(len(rest))
	w.fresh += int64(len(rest))
	return rest
}

// treated counts the messages of a receive as treated.
func (w *walk) treated() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inHand--
	w.receives++
}

// events returns what empty compares: it changes whenever messages come or are treated.
func (w *walk) events() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.receives
}

// window ends a window if it is full, and returns the messages that are then released, and are delivered again. The
// walk ends if the window had only messages of earlier ones.
func (w *walk) window() []*holding {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held.count() < w.hold {
		return nil
	}
	w.over = w.over || w.fresh == 0 || w.lim.Keeps // a log would not send them again
	w.fresh = 0
	if w.over {
		return nil
	}
	w.windows++
	return w.held.take()
}

// ended reports whether the walk is over.
func (w *walk) ended() bool {
	if w.enough != nil && w.enough() {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// empty counts a poll that returned nothing, and reports whether the walk is over. A poll does not count if another one
// had messages in hand meanwhile: on an ordered queue, they hide the later ones of their keys.
func (w *walk) empty(before int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.inHand > 0 || w.receives != before {
		return w.over
	}
	w.empties++
	most := emptiesMost
	if w.lim.Keeps {
		most = emptiesMostLogs
	}
	w.over = w.over || w.looked >= w.waiting || w.empties >= most
	return w.over
}

// unlooked returns how many of the messages at the beginning were not looked at, approximately.
func (w *walk) unlooked() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(0, w.waiting-w.looked)
}

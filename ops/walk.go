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
	// emptiesMost is how many polls in a row may return nothing although messages are missing, in a queue.
	emptiesMost = 3
	// latesMost is how many receives in a row may return only messages of after the beginning although others are
	// missing.
	latesMost = 30
	// quietMost is how long a log may return nothing although messages are missing, after the time that it needs to
	// take partitions from a dead consumer.
	quietMost = 30 * time.Second
)

// walk receives every message of a channel once. Messages that stay are held until the end, so that they are not
// delivered again, and are then released. Where they are too many, the walk goes by windows: it releases them at the
// end of each, and recognizes those that it has looked at before.
type walk struct {
	b        driver.Backend
	from     driver.Channel
	recv     driver.Receiver
	lim      driver.ReceiveLimits
	waiting  int64 // messages that there were at the beginning; approximate
	inFlight int64 // those that others held at the beginning; approximate
	hold     int   // the most messages that stay and are held
	rate     rate
	// visit looks at messages, and returns those that stay. An error ends the walk.
	visit func(ctx context.Context, ds []driver.Delivery) (stay []driver.Delivery, err error)
	// again finishes messages once more that visit had finished, and that were delivered again all the same. Set it if
	// visit finishes messages.
	again func(ctx context.Context, ds []driver.Delivery) error
	// late reports whether a message was not there at the beginning. It stays. nil: none is late. It is called with the
	// walk's lock.
	late func(d *driver.Delivery) bool
	// enough reports whether the walk can end early; nil: never.
	enough func() bool

	held     *held
	mu       sync.Mutex
	looked   int64 // messages
	later    int64 // late messages
	empties  int   // polls in a row that returned nothing, while no messages were in hand
	lates    int   // receives in a row that returned only late messages
	came     time.Time
	inHand   int   // receives whose messages are being treated
	receives int64 // that returned messages, and those whose messages are treated: it tells whether a poll was alone
	windows  int
	fresh    int64 // messages of this window that had not been looked at before
	seen     idSet // ids of the messages that were looked at
	before   idSet // those of them that stay
	over     bool
}

// newWalk opens a walk through a channel.
func newWalk(ctx context.Context, b driver.Backend, from driver.Channel, hold int) (*walk, error) {
	w := &walk{b: b, from: from, hold: hold, windows: 1, seen: idSet{}, before: idSet{}, came: time.Now()}
	depth, err := w.depth(ctx)
	if err != nil {
		return nil, err
	}
	w.waiting, w.inFlight = depth.Waiting, depth.InFlight
	w.recv, err = b.Receiver(ctx, from, driver.ReceiverOptions{
		Window: hold, Concurrency: 10 * walkersMost, Wait: walkWait, Lease: shortLease,
	})
	if err != nil {
		return nil, fmt.Errorf("ops: open %s: %w", from, err)
	}
	w.lim, w.held = w.recv.Limits(), newHeld(w.recv)
	return w, nil
}

// depth returns how many messages there are; nothing, if the service does not tell.
func (w *walk) depth(ctx context.Context) (d driver.Depth, err error) {
	if in, ok := w.b.(driver.Inspector); ok {
		if d, err = in.Inspect(ctx, w.from); err != nil {
			err = fmt.Errorf("ops: look at %s: %w", w.from, err)
		}
	}
	return d, err
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
	return errors.Join(err, w.held.release(ctx, w.held.giveUp()), w.recv.Close(closing))
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
	ds, finished := w.sort(w.held.take(ds))
	defer w.treated()
	if len(finished) > 0 {
		if err := w.again(context.WithoutCancel(ctx), finished); err != nil {
			w.held.stay(ds...)
			return err
		}
	}
	if ctx.Err() != nil { // they came after the end
		w.held.stay(ds...)
		return nil
	}
	w.see(ds)
	stay, err := w.visit(context.WithoutCancel(ctx), ds)
	w.stay(stay)
	if err != nil {
		return err
	}
	return w.held.release(ctx, w.window())
}

// stay holds messages until the end of the window, and notes that they were looked at.
func (w *walk) stay(ds []driver.Delivery) {
	w.held.stay(ds...)
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range ds {
		w.before.add(ds[i].ID)
	}
}

// see counts messages that are looked at.
func (w *walk) see(ds []driver.Delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looked += int64(len(ds))
	w.fresh += int64(len(ds))
	for i := range ds {
		w.seen.add(ds[i].ID)
	}
}

// sort holds messages of earlier windows and late ones, and returns the others: new ones, and those that are finished.
func (w *walk) sort(ds []driver.Delivery) (fresh, finished []driver.Delivery) {
	var late []driver.Delivery
	w.mu.Lock()
	w.inHand++
	w.receives++
	w.empties, w.came = 0, time.Now()
	for i := range ds {
		switch {
		case w.before.has(ds[i].ID):
			w.held.stay(ds[i])
		case w.seen.has(ds[i].ID):
			finished = append(finished, ds[i])
		case w.late != nil && w.late(&ds[i]):
			late = append(late, ds[i])
		default:
			fresh = append(fresh, ds[i])
		}
	}
	w.later += int64(len(late))
	switch {
	case len(fresh) > 0:
		w.lates = 0
	case len(late) > 0:
		w.lates++
		w.over = w.over || w.lates >= latesMost || w.lates >= emptiesMost && w.looked >= w.waiting
	}
	w.mu.Unlock()
	w.stay(late)
	return fresh, finished
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
	return w.held.giveUp()
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
	switch {
	case w.looked >= w.waiting:
		w.over = true
	case w.lim.Keeps: // a group is gathered first, perhaps after the death of a member
		w.over = time.Since(w.came) >= w.lim.Handover+quietMost
	default:
		w.over = w.empties >= emptiesMost
	}
	return w.over
}

// unlooked returns how many of the messages at the beginning were not looked at, approximately.
func (w *walk) unlooked() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(0, w.waiting-w.looked)
}

// unseen counts the messages of the beginning that were not looked at, and those of them that another consumer holds.
// Services count approximately and late, so a message counts only if it is missing by the counts of the beginning, and
// by those after the walk.
func (w *walk) unseen(ctx context.Context) (all, inFlight int64, err error) {
	w.mu.Lock()
	missing, staying := w.waiting+w.inFlight-w.looked, int64(len(w.before))
	w.mu.Unlock()
	if missing <= 0 {
		return 0, 0, nil
	}
	now, err := w.depth(ctx)
	if err != nil {
		return missing, 0, err
	}
	all = max(0, min(missing, now.Waiting+now.InFlight-staying))
	return all, min(all, now.InFlight), nil
}

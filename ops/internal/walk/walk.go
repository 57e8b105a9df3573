package walk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/ops/internal/calling"
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

// Plan says what a walk does.
type Plan struct {
	PerSecond float64 // messages that are looked at in a second; 0: no limit
	// Visit looks at messages, and returns those that stay. An error ends the walk.
	Visit func(ctx context.Context, ds []driver.Delivery) (stay []driver.Delivery, err error)
	// Again finishes messages once more that Visit had finished, and that were delivered again all the same.
	Again func(ctx context.Context, ds []driver.Delivery) error
	// Late reports whether a message was not there at the beginning. It stays. It is called with the walk's lock.
	Late func(d *driver.Delivery) bool
	// Enough reports whether the walk can end early.
	Enough func() bool
}

// Walk receives every message of a channel once. Messages that stay are held until the end, so that they are not
// delivered again, and are then released. Where they are too many, the walk goes by windows: it releases them at the
// end of each, and recognizes those that it has looked at before.
type Walk struct {
	b    driver.Backend
	from driver.Channel
	recv driver.Receiver
	lim  driver.ReceiveLimits
	hold int // the most messages that stay and are held
	rate calling.Rate
	plan Plan

	waiting  int64 // messages that there were at the beginning; approximate
	inFlight int64 // those that others held at the beginning; approximate

	held    *Held
	stopped <-chan struct{} // by the context of Run

	mu       sync.Mutex
	counts   Counts
	empties  int // polls in a row that returned nothing, while no messages were in hand
	lates    int // receives in a row that returned only late messages
	came     time.Time
	inHand   int   // receives whose messages are being treated
	receives int64 // that returned messages, and those whose messages are treated: it tells whether a poll was alone
	fresh    int64 // messages of this window that had not been looked at before
	seen     IDs   // of the messages that were looked at
	before   IDs   // of those of them that stay
	left     int64 // of those that stay, and that a visit has not looked at
	over     bool
}

// Counts is how far a walk is.
type Counts struct {
	Looked  int64 // messages
	Later   int64 // late messages
	Windows int   // more than 1: more messages stay than can be held
}

// Open opens a walk through a channel.
func Open(ctx context.Context, b driver.Backend, from driver.Channel, hold int) (*Walk, error) {
	w := &Walk{b: b, from: from, hold: hold, counts: Counts{Windows: 1}, seen: IDs{}, before: IDs{}, came: time.Now()}
	depth, err := w.depth(ctx)
	if err != nil {
		return nil, err
	}
	w.waiting, w.inFlight = depth.Waiting, depth.InFlight
	w.recv, err = b.Receiver(ctx, from, driver.ReceiverOptions{
		Window: hold, Concurrency: 10 * walkersMost, Wait: walkWait, Lease: ShortLease,
	})
	if err != nil {
		return nil, fmt.Errorf("ops: open %s: %w", from, err)
	}
	w.lim, w.held = w.recv.Limits(), NewHeld(w.recv)
	return w, nil
}

// depth returns how many messages there are; nothing, if the service does not tell.
func (w *Walk) depth(ctx context.Context) (d driver.Depth, err error) {
	if inspect := driver.OperationsOf(w.b).Inspect; inspect != nil {
		if d, err = inspect(ctx, w.from); err != nil {
			err = fmt.Errorf("ops: look at %s: %w", w.from, err)
		}
	}
	return d, err
}

// Receiver returns the receiver of the channel, which Run closes.
func (w *Walk) Receiver() driver.Receiver { return w.recv }

// Limits returns the receiver's limits.
func (w *Walk) Limits() driver.ReceiveLimits { return w.lim }

// Waiting returns how many messages there were at the beginning, approximately.
func (w *Walk) Waiting() int64 { return w.waiting }

// Counts returns how far the walk is.
func (w *Walk) Counts() Counts {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts
}

// Over reports whether the context of Run has ended. A visit of many messages may end early then, with [Walk.Leave].
func (w *Walk) Over() bool {
	select {
	case <-w.stopped:
		return true
	default:
		return false
	}
}

// Leave notes that a visit has not looked at the last of its messages. They stay.
func (w *Walk) Leave(messages int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts.Looked -= int64(messages)
	w.left += int64(messages)
}

// Run walks, releases what stays, and closes the receiver. When ctx ends, the messages in hand are still treated.
func (w *Walk) Run(ctx context.Context, p Plan) error {
	w.plan, w.rate.PerSecond, w.stopped = p, p.PerSecond, ctx.Done()
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
	closing, done := context.WithTimeout(context.WithoutCancel(ctx), ReleasePatience)
	defer done()
	return errors.Join(err, w.held.Release(ctx), w.recv.Close(closing))
}

// stalled returns an error if the walk ended early, because a log cannot note more finished messages behind those that
// stay.
func (w *Walk) stalled() error {
	s, ok := w.recv.(driver.Log)
	if !ok || w.unlooked() == 0 || w.plan.Enough != nil && w.plan.Enough() {
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
func (w *Walk) walk(ctx context.Context) error {
	for try, failing := 1, (time.Time{}); ; {
		most, _ := w.rate.Take(ctx, w.lim.Batch) // it fails only with ctx
		if over(ctx) || w.ended() {
			return nil
		}
		before := w.events()
		ds, err := w.recv.Receive(ctx, driver.Ask{Max: most}, nil)
		w.rate.GiveBack(most - len(ds))
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
		if !driver.ClassOf(err).Passing() || time.Since(failing) > calling.Patience {
			return fmt.Errorf("receive: %w", err)
		}
		_ = backoff.Sleep(ctx, calling.Pauses.Jittered(try)) // the next receive looks at ctx
		try++
	}
}

// over reports whether ctx has ended, which is no failure of what runs under it.
func over(ctx context.Context) bool { return ctx.Err() != nil }

// treat lets the visitor look at messages, and holds those that stay.
func (w *Walk) treat(ctx context.Context, ds []driver.Delivery) error {
	ds, finished := w.sort(w.held.Take(ds))
	defer w.treated()
	if len(finished) > 0 {
		if err := w.plan.Again(context.WithoutCancel(ctx), finished); err != nil {
			w.held.Stay(ds...)
			return err
		}
	}
	if ctx.Err() != nil { // they came after the end
		w.held.Stay(ds...)
		return nil
	}
	w.see(ds)
	stay, err := w.plan.Visit(context.WithoutCancel(ctx), ds)
	w.stay(stay)
	if err != nil {
		return err
	}
	return w.held.release(ctx, w.window())
}

// stay holds messages until the end of the window, and notes that they were looked at.
func (w *Walk) stay(ds []driver.Delivery) {
	w.held.Stay(ds...)
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range ds {
		w.before.Add(ds[i].ID)
	}
}

// see counts messages that are looked at.
func (w *Walk) see(ds []driver.Delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts.Looked += int64(len(ds))
	w.fresh += int64(len(ds))
	for i := range ds {
		w.seen.Add(ds[i].ID)
	}
}

// sort holds messages of earlier windows and late ones, and returns the others: new ones, and those that are finished.
func (w *Walk) sort(ds []driver.Delivery) (fresh, finished []driver.Delivery) {
	var late []driver.Delivery
	w.mu.Lock()
	w.inHand++
	w.receives++
	w.empties, w.came = 0, time.Now()
	for i := range ds {
		switch {
		case w.before.Has(ds[i].ID):
			w.held.Stay(ds[i])
		case w.seen.Has(ds[i].ID):
			finished = append(finished, ds[i])
		case w.plan.Late != nil && w.plan.Late(&ds[i]):
			late = append(late, ds[i])
		default:
			fresh = append(fresh, ds[i])
		}
	}
	w.counts.Later += int64(len(late))
	switch {
	case len(fresh) > 0:
		w.lates = 0
	case len(late) > 0:
		w.lates++
		w.over = w.over || w.lates >= latesMost || w.lates >= emptiesMost && w.counts.Looked >= w.waiting
	}
	w.mu.Unlock()
	w.stay(late)
	return fresh, finished
}

// treated counts the messages of a receive as treated.
func (w *Walk) treated() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inHand--
	w.receives++
}

// events returns what empty compares: it changes whenever messages come or are treated.
func (w *Walk) events() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.receives
}

// window ends a window if it is full, and returns the messages that are then released, and are delivered again. The
// walk ends if the window had only messages of earlier ones.
func (w *Walk) window() []*holding {
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
	w.counts.Windows++
	return w.held.giveUp()
}

// ended reports whether the walk is over.
func (w *Walk) ended() bool {
	if w.plan.Enough != nil && w.plan.Enough() {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// empty counts a poll that returned nothing, and reports whether the walk is over. A poll does not count if another one
// had messages in hand meanwhile: on an ordered queue, they hide the later ones of their keys.
func (w *Walk) empty(before int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.inHand > 0 || w.receives != before {
		return w.over
	}
	w.empties++
	switch {
	case w.counts.Looked >= w.waiting:
		w.over = true
	case w.lim.Keeps: // a group is gathered first, perhaps after the death of a member
		w.over = time.Since(w.came) >= w.lim.Handover+quietMost
	default:
		w.over = w.empties >= emptiesMost
	}
	return w.over
}

// unlooked returns how many of the messages at the beginning were not looked at, approximately.
func (w *Walk) unlooked() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(0, w.waiting-w.counts.Looked)
}

// Unseen counts the messages of the beginning that were not looked at, and those of them that another consumer holds.
// Services count approximately and late, so a message counts only if it is missing by the counts of the beginning, and
// by those after the walk.
func (w *Walk) Unseen(ctx context.Context) (all, inFlight int64, err error) {
	w.mu.Lock()
	missing, staying := w.waiting+w.inFlight-w.counts.Looked, int64(len(w.before))-w.left
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

// Finish settles messages that the walk holds, a batch at a time, and calls settled with the ids and the error of each;
// its own error ends it. A message that was received again meanwhile is settled with its newest handle as well: SQS
// deletes nothing with an older one.
func (w *Walk) Finish(ctx context.Context, ds []driver.Delivery, as driver.Settlement,
	settled func(ids []string, err error) error,
) error {
	open := make([]string, 0, len(ds))
	for i := range ds {
		open = append(open, ds[i].ID)
	}
	most := w.lim.SettleBatch
	if most == 0 {
		most = max(1, len(open))
	}
	for len(open) > 0 {
		some := open[:min(most, len(open))]
		open = open[len(some):]
		batch, handles := make([]driver.Settlement, len(some)), make([]driver.Handle, len(some))
		for i := range some {
			handles[i] = w.held.handle(some[i])
			batch[i] = as
			batch[i].Handle = handles[i]
		}
		if err := settled(some, calling.Settle(ctx, w.recv, batch)); err != nil {
			return err
		}
		open = append(open, w.held.drop(some, handles)...)
	}
	return nil
}

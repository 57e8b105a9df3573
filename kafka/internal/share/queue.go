package share

import (
	"context"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// queue holds deliveries until a Receive takes them, and tells the sessions how many are wanted.
type queue struct {
	arrived chan struct{} // holds one: there is something on the queue, or an error
	taken   chan struct{} // holds one: something was taken from it
	// held reports whether the receiver of the tiers still holds a delivery: its partition may have gone to another
	// process since it came. The core would handle it once more, and its verdict would have no effect.
	held func(driver.Handle) bool

	mu     sync.Mutex
	wanted int // deliveries that the Receives under way want
	all    []driver.Delivery
	failed error // of a poll, for the next Receive to return
}

func newQueue(held func(driver.Handle) bool) *queue {
	return &queue{arrived: make(chan struct{}, 1), taken: make(chan struct{}, 1), held: held}
}

// want counts the deliveries that a Receive wants, while it waits; it takes them back with a negative number.
func (q *queue) want(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wanted += n
}

// lacks is how many deliveries the Receives under way want, and how many of them are not here. The sessions request
// none while nobody receives, because a record whose lock ends on the queue would be delivered again with a higher
// count.
func (q *queue) lacks() (wanted, lacks int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.wanted, max(q.wanted-len(q.all), 0)
}

// put adds deliveries for the next Receive, or an error.
func (q *queue) put(ds []driver.Delivery, err error) {
	q.mu.Lock()
	q.all = append(q.all, ds...)
	if err != nil {
		q.failed = err
	}
	q.mu.Unlock()
	wake(q.arrived)
}

// take appends at most so many deliveries, and drops those that belong to another process now. It does not wait.
func (q *queue) take(most int, into []driver.Delivery) ([]driver.Delivery, error) {
	now := time.Now()
	q.mu.Lock()
	failed, n, had := q.failed, 0, len(into)
	q.failed = nil
	for ; n < len(q.all) && len(into)-had < most; n++ {
		if q.ours(&q.all[n], now) {
			into = append(into, q.all[n])
		}
	}
	clear(q.all[:n])
	if q.all = q.all[n:]; len(q.all) == 0 {
		q.all = nil
	}
	q.mu.Unlock()
	if n > 0 {
		wake(q.taken)
	}
	return into, failed
}

// ours reports whether the lock of a delivery lasts, or the partition of its tier is still ours.
func (q *queue) ours(d *driver.Delivery, now time.Time) bool {
	if l, shared := d.Handle.Ref.(*lock); shared {
		return d.LeaseEnds.After(now) && !l.run.lost.Load()
	}
	return q.held(d.Handle)
}

// room waits until the queue holds fewer than so many; false: ctx ended first.
func (q *queue) room(ctx context.Context, most int) bool {
	for ctx.Err() == nil {
		q.mu.Lock()
		full := len(q.all) >= most
		q.mu.Unlock()
		if !full {
			return true
		}
		select {
		case <-q.taken:
		case <-ctx.Done():
		}
	}
	return false
}

// wake leaves a token in a channel that holds one.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

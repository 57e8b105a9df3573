package share

import (
	"context"
	"sync"

	"github.com/godwitmq/godwit/driver"
)

// queue holds deliveries until a Receive takes them, and tells the members whether a Receive waits.
type queue struct {
	arrived chan struct{} // holds one: there is something on the queue, or an error
	taken   chan struct{} // holds one: something was taken from it

	mu        sync.Mutex
	receiving int           // Receives under way
	wanted    chan struct{} // closed while there is one
	all       []driver.Delivery
	failed    error // of a poll, for the next Receive to return
}

func newQueue() *queue {
	return &queue{arrived: make(chan struct{}, 1), taken: make(chan struct{}, 1), wanted: make(chan struct{})}
}

// begin says that a Receive waits. The members poll only then: a record that they fetched while nobody receives would
// be handed out again with a higher count.
func (q *queue) begin() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.receiving++; q.receiving == 1 {
		close(q.wanted)
	}
}

// end is begin's counterpart.
func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.receiving--; q.receiving == 0 {
		q.wanted = make(chan struct{})
	}
}

// await waits until there is a Receive; false: ctx ended first.
func (q *queue) await(ctx context.Context) bool {
	q.mu.Lock()
	wanted := q.wanted
	q.mu.Unlock()
	select {
	case <-wanted:
		return true
	case <-ctx.Done():
		return false
	}
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

// take appends at most so many deliveries. It does not wait.
func (q *queue) take(most int, into []driver.Delivery) ([]driver.Delivery, error) {
	q.mu.Lock()
	failed, n := q.failed, min(len(q.all), most)
	q.failed = nil
	into = append(into, q.all[:n]...)
	q.all = append(q.all[:0:0], q.all[n:]...)
	q.mu.Unlock()
	if n > 0 {
		wake(q.taken)
	}
	return into, failed
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

//go:build synctests

package acceptance

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
)

// books are what is known of records, which are numbered from 0 in the order in which they were sent.
type books struct {
	keys int // what records are of which key is known; 0: as their delivery says

	mu      sync.Mutex
	times   []int           // how often each was handled to its end
	last    map[string]int  // the newest that was handled, by key
	busy    map[string]bool // keys that are being handled
	begun   map[int]int     // how often a handler was started
	now     int             // handlers that run
	most    int             // most that ran at once
	late    []int           // handled for the first time after a newer one of their key
	overlap []string        // keys handled twice at once
}

func newBooks(n int) *books {
	return &books{times: make([]int, n), last: map[string]int{}, busy: map[string]bool{}, begun: map[int]int{}}
}

// number is the number of a record.
func number(d *godwit.Delivery) int {
	n, err := strconv.Atoi(string(d.Body))
	if err != nil {
		return -1
	}
	return n
}

// key is whose a record is.
func (b *books) key(d *godwit.Delivery) string {
	if b.keys == 0 {
		return d.OrderKey
	}
	return "k" + strconv.Itoa(number(d)%b.keys)
}

func (b *books) starts(d *godwit.Delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := b.key(d)
	b.begun[number(d)]++
	b.now++
	b.most = max(b.most, b.now)
	if b.busy[key] {
		b.overlap = append(b.overlap, key)
	}
	b.busy[key] = true
}

func (b *books) stops(d *godwit.Delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now--
	delete(b.busy, b.key(d))
}

// handled notes that a record was handled to its end.
func (b *books) handled(d *godwit.Delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, key := number(d), b.key(d)
	if last, seen := b.last[key]; seen && n < last && b.times[n] == 0 {
		b.late = append(b.late, n)
	}
	b.last[key] = max(b.last[key], n)
	b.times[n]++
}

// count is how many records were handled, and how often in all.
func (b *books) count() (records, handlings int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.times {
		if n > 0 {
			records++
		}
		handlings += n
	}
	return records, handlings
}

// all says that every record was handled.
func (b *books) all() bool {
	records, _ := b.count()
	return records == len(b.times)
}

// was says that a record was handled.
func (b *books) was(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.times[n] > 0
}

// missing are the first records that were not handled.
func (b *books) missing() (few []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n, times := range b.times {
		if times == 0 && len(few) < 10 {
			few = append(few, n)
		}
	}
	return few
}

// inOrder fails the test where the order of a key was lost.
func (b *books) inOrder(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.late) > 0 {
		t.Errorf("%d records were handled after a newer one of their key, %d the first", len(b.late), b.late[0])
	}
	if len(b.overlap) > 0 {
		t.Errorf("%d times a key was handled twice at once, %q the first time", len(b.overlap), b.overlap[0])
	}
}

// fill sends n records, numbered, of so many keys.
func (w *world) fill(n, keys int) {
	w.t.Helper()
	for i := range n {
		w.client.Produce(w.t.Context(), &kgo.Record{
			Topic: w.topic(), Key: []byte("k" + strconv.Itoa(i%keys)),
			Value: []byte(strconv.Itoa(i)),
		},
			func(_ *kgo.Record, err error) {
				if err != nil {
					w.t.Errorf("send record %d: %v", i, err)
				}
			})
	}
	if err := w.client.Flush(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// keeping is a handler that keeps books of what work does.
func keeping(b *books, work godwit.Handler) godwit.Handler {
	return func(ctx context.Context, d *godwit.Delivery) error {
		b.starts(d)
		defer b.stops(d)
		err := work(ctx, d)
		if err == nil {
			b.handled(d)
		}
		return err
	}
}

// nap works for a while, or until it is told to stop.
func nap(ctx context.Context, long time.Duration) error {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// started is how often handlers were started for a record.
func (b *books) started(n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.begun[n]
}

// running is how many handlers run.
func (b *books) running() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// errOfTest is a handler's error.
var errOfTest = errors.New("the handler does not want it")

func isOfTest(err error) bool { return errors.Is(err, errOfTest) }

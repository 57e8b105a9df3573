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

// journal notes how records were handled. The body of a record is its number; records are numbered from 0 in the order
// in which they were sent.
type journal struct {
	keys int // record n has the key n % keys; 0: the order key of its delivery counts

	mu      sync.Mutex
	times   []int           // how often each record was handled without an error
	last    map[string]int  // the newest handled record of each key
	busy    map[string]bool // keys with a running handler
	begun   map[int]int     // how often a handler started, by record
	now     int             // running handlers
	most    int             // the most handlers that ran at once
	late    []int           // records that were first handled after a newer one of their key
	overlap []string        // keys with two running handlers
}

func newJournal(n int) *journal {
	return &journal{times: make([]int, n), last: map[string]int{}, busy: map[string]bool{}, begun: map[int]int{}}
}

// number is the number of a record, or -1 if its body is not a number.
func number(d *godwit.Delivery) int {
	n, err := strconv.Atoi(string(d.Body))
	if err != nil {
		return -1
	}
	return n
}

// key is the order key of a record.
func (j *journal) key(d *godwit.Delivery) string {
	if j.keys == 0 {
		return d.OrderKey
	}
	return "k" + strconv.Itoa(number(d)%j.keys)
}

func (j *journal) starts(d *godwit.Delivery) {
	j.mu.Lock()
	defer j.mu.Unlock()
	key := j.key(d)
	j.begun[number(d)]++
	j.now++
	j.most = max(j.most, j.now)
	if j.busy[key] {
		j.overlap = append(j.overlap, key)
	}
	j.busy[key] = true
}

func (j *journal) stops(d *godwit.Delivery) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.now--
	delete(j.busy, j.key(d))
}

// handled notes that a record was handled without an error.
func (j *journal) handled(d *godwit.Delivery) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n, key := number(d), j.key(d)
	if last, seen := j.last[key]; seen && n < last && j.times[n] == 0 {
		j.late = append(j.late, n)
	}
	j.last[key] = max(j.last[key], n)
	j.times[n]++
}

// count returns how many records were handled, and the sum of how often each was.
func (j *journal) count() (records, handlings int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, n := range j.times {
		if n > 0 {
			records++
		}
		handlings += n
	}
	return records, handlings
}

// all reports whether every record was handled.
func (j *journal) all() bool {
	records, _ := j.count()
	return records == len(j.times)
}

// wasHandled reports whether a record was handled.
func (j *journal) wasHandled(n int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.times[n] > 0
}

// missing returns the first records that were not handled.
func (j *journal) missing() (few []int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for n, times := range j.times {
		if times == 0 && len(few) < 10 {
			few = append(few, n)
		}
	}
	return few
}

// inOrder fails the test if records of a key were handled out of order, or two at once.
func (j *journal) inOrder(t *testing.T) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.late) > 0 {
		t.Errorf("%d records were handled after a newer one of their key, %d the first", len(j.late), j.late[0])
	}
	if len(j.overlap) > 0 {
		t.Errorf("%d times a key was handled twice at once, %q the first time", len(j.overlap), j.overlap[0])
	}
}

// fill sends n records, numbered from 0, with this number of keys.
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

// unhandled returns the records that were not handled.
func (j *journal) unhandled(of []int) (ns []int) {
	for _, n := range of {
		if !j.wasHandled(n) {
			ns = append(ns, n)
		}
	}
	return ns
}

// noting is a handler that calls work, and notes starts, ends and successes in the journal.
func noting(j *journal, work godwit.Handler) godwit.Handler {
	return func(ctx context.Context, d *godwit.Delivery) error {
		j.starts(d)
		defer j.stops(d)
		err := work(ctx, d)
		if err == nil {
			j.handled(d)
		}
		return err
	}
}

// nap waits for a while, or until its context ends, and then returns the cause.
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

// started returns how often handlers were started for a record.
func (j *journal) started(n int) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.begun[n]
}

// running returns the number of running handlers.
func (j *journal) running() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.now
}

// errOfTest is the error of handlers that fail.
var errOfTest = errors.New("the handler fails")

func isOfTest(err error) bool { return errors.Is(err, errOfTest) }

package batch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/batch"
)

// A random run is compared with a simple model. Callers add entries, the service is slow and fails, some entries are
// not repeated, and Close gives up early or late. The test checks that
//   - every entry is answered exactly once,
//   - entries that are reported as sent were sent,
//   - no batch exceeds a limit,
//   - no two batches with the same key are in flight,
//   - the entries of a key succeed in the order in which they were added. With Together, only entries that failed may
//     be late.
func TestAgainstAModel(t *testing.T) {
	rounds := 150
	if testing.Short() {
		rounds = 20
	}
	for range rounds {
		seed := rand.Uint64()
		synctest.Test(t, func(t *testing.T) {
			newWorld(t, seed).run()
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// world is one random run. All access to its state is in locked.
type world struct {
	*testing.T
	lock    chan struct{}
	rand    *rand.Rand
	limit   int
	bytes   int
	ordered bool
	shared  bool // entries of one key may be in one batch

	added   []int          // in order
	under   map[string]int // number of batches in flight by key
	failed  map[int]bool   // entries that were repeated
	taken   []int          // entries that succeeded, in order
	answers map[int][]error
}

func newWorld(t *testing.T, seed uint64) *world {
	r := rand.New(rand.NewPCG(seed, 1))
	return &world{
		T: t, lock: make(chan struct{}, 1), rand: r, limit: 1 + r.IntN(10), bytes: 50 + r.IntN(200),
		ordered: r.IntN(3) > 0,
		shared:  r.IntN(2) == 0, failed: map[int]bool{}, under: map[string]int{}, answers: map[int][]error{},
	}
}

func (w *world) locked(f func()) {
	w.lock <- struct{}{}
	f()
	<-w.lock
}

func size(v int) int   { return v * 7 % 97 }
func key(v int) string { return fmt.Sprint(v * 31 % 5) }

func (w *world) run() {
	o := batch.Options[int]{
		Limit: w.limit, Bytes: w.bytes, Size: size, AtOnce: 1 + w.rand.IntN(4),
		Linger:  time.Duration(w.rand.IntN(3)) * time.Millisecond,
		Longest: time.Duration(w.rand.IntN(10)) * time.Millisecond,
		Send:    w.send, Done: w.done, Again: w.again, Adapt: w.rand.IntN(2) == 0,
	}
	if patience := time.Duration(w.rand.IntN(2)*w.rand.IntN(30)) * time.Millisecond; patience > 0 {
		o.Patience, o.Urgent = func() time.Duration { return patience }, func(v int) bool { return v%13 == 0 }
	}
	if w.ordered {
		o.Key, o.Together = key, w.shared
	}
	b := batch.New(o)
	for n := 0; n < 300; {
		var group []int
		var pause time.Duration
		w.locked(func() {
			for range 1 + w.rand.IntN(12) {
				group = append(group, n)
				n++
			}
			w.added = append(w.added, group...)
			pause = time.Duration(w.rand.IntN(8)) * time.Millisecond
		})
		if !b.Add(group...) {
			w.Fatal("Add refused an entry before Close")
		}
		time.Sleep(pause)
	}
	var patience time.Duration
	w.locked(func() { patience = time.Duration(w.rand.IntN(3000)) * time.Millisecond })
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	b.Close(ctx)
	w.judge()
}

var errPassing, errLasting = errors.New("passing"), errors.New("lasting")

// send is the service. It is slow, and a quarter of its calls fail or have entries that fail.
func (w *world) send(ctx context.Context, b []int) error {
	var took time.Duration
	w.locked(func() {
		w.arrived(b)
		took = time.Duration(w.rand.IntN(10)) * time.Millisecond
	})
	select {
	case <-time.After(took):
	case <-ctx.Done():
	}
	var err error
	w.locked(func() {
		for k := range keys(b) {
			w.under[k]--
		}
		err = w.outcome(b)
		if ctx.Err() != nil && err == nil {
			err = ctx.Err() // in a real service the entries may have arrived; here they have not
		}
		w.taken = append(w.taken, succeeded(b, err)...)
	})
	return err
}

func (w *world) arrived(b []int) {
	sum := 0
	for i := range b {
		sum += size(b[i])
	}
	for k, of := range keys(b) {
		if w.under[k]++; w.ordered && (w.under[k] > 1 || len(of) > 1 && !w.shared) {
			w.Errorf("two entries of key %s are under way", k)
		}
		if w.ordered && !slices.IsSorted(of) {
			w.Errorf("the entries of key %s are in a batch in the order %v", k, of)
		}
	}
	if len(b) == 0 || len(b) > w.limit || sum > w.bytes && len(b) > 1 {
		w.Errorf("a batch of %d entries and %d bytes; the limits are %d and %d", len(b), sum, w.limit, w.bytes)
	}
}

// keys returns the entries of a batch by key.
func keys(b []int) map[string][]int {
	of := map[string][]int{}
	for _, v := range b {
		of[key(v)] = append(of[key(v)], v)
	}
	return of
}

func (w *world) outcome(b []int) error {
	switch w.rand.IntN(12) {
	case 0:
		return errPassing
	case 1, 2:
		errs := map[int]error{}
		for i := range b {
			if w.rand.IntN(2) == 0 {
				errs[i] = []error{errPassing, errLasting}[w.rand.IntN(2)]
			}
		}
		if len(errs) > 0 {
			return &driver.BatchError{Errs: errs}
		}
	}
	return nil
}

func succeeded(b []int, err error) (good []int) {
	var entries *driver.BatchError
	if err != nil && !errors.As(err, &entries) {
		return nil
	}
	for i, v := range b {
		if entries == nil || entries.Errs[i] == nil {
			good = append(good, v)
		}
	}
	return good
}

func (w *world) again(v int, err error, try int) time.Duration {
	w.locked(func() { w.failed[v] = true })
	if errors.Is(err, errPassing) && try < 4 {
		return time.Duration(try) * 10 * time.Millisecond
	}
	return -1
}

func (w *world) done(v int, err error) {
	w.locked(func() { w.answers[v] = append(w.answers[v], err) })
}

func (w *world) judge() {
	taken := map[int]int{}
	last := map[string]int{}
	for _, v := range w.taken {
		taken[v]++
		k := key(v)
		if before, some := last[k]; w.ordered && some && before > v && !(w.shared && w.failed[v]) {
			w.Errorf("key %s: %d was taken after %d", k, v, before)
		}
		last[k] = max(v, last[k])
	}
	for _, v := range w.added {
		a := w.answers[v]
		if len(a) != 1 {
			w.Errorf("entry %d was answered %d times: %v", v, len(a), a)
			continue
		}
		if want := a[0] == nil; taken[v] > 1 || want != (taken[v] == 1) {
			w.Errorf("entry %d was answered %v and taken %d times", v, a[0], taken[v])
		}
	}
	if len(w.answers) != len(w.added) {
		w.Errorf("%d answers for %d entries", len(w.answers), len(w.added))
	}
}

package pending_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/internal/pending"
)

type value struct {
	pending.Entry[*value]
	n int
}

func entry(v *value) *pending.Entry[*value] { return &v.Entry }

// A value that is not taken in time is given up at its time, and then cannot be taken.
func TestValuesAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var given []int
		l := pending.New(entry, func(vs []*value) {
			mu.Lock()
			defer mu.Unlock()
			for _, v := range vs {
				given = append(given, v.n)
			}
		})
		all := make([]value, 5)
		for i := range all {
			all[i].n = i
			l.Add(time.Now().Add(time.Duration(1+i)*time.Second), &all[i])
		}
		for _, i := range []int{1, 0} {
			if !l.Take(&all[i]) || l.Take(&all[i]) {
				t.Errorf("value %d cannot be taken once", i)
			}
		}
		time.Sleep(4500 * time.Millisecond)
		synctest.Wait()
		mu.Lock()
		if !slices.Equal(given, []int{2, 3}) || l.Take(&all[2]) || !l.Take(&all[4]) {
			t.Errorf("given up: %v", given)
		}
		mu.Unlock()
		l.Add(time.Now().Add(time.Second), &all[0])
		time.Sleep(2 * time.Second)
		mu.Lock()
		if !slices.Equal(given, []int{2, 3, 0}) {
			t.Errorf("given up: %v", given)
		}
		mu.Unlock()
		if left := l.Close(t.Context()); len(left) > 0 {
			t.Errorf("%d are left", len(left))
		}
	})
}

// Close waits for the answers, returns with its context, and refuses what comes later.
func TestCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct{ taken, patience, took time.Duration }{
			"all taken": {2 * time.Second, time.Minute, 2 * time.Second},
			"given up":  {time.Minute, 10 * time.Second, 3 * time.Second},
			"left":      {time.Minute, time.Second, time.Second},
		} {
			l := pending.New(entry, func([]*value) {})
			v := &value{}
			l.Add(time.Now().Add(3*time.Second), v)
			took := time.AfterFunc(c.taken, func() { l.Take(v) })
			begun := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), c.patience)
			left := l.Close(ctx)
			if time.Since(begun) != c.took || (len(left) == 1) != (name == "left") {
				t.Errorf("%s: %d left after %v", name, len(left), time.Since(begun))
			}
			if l.Add(time.Now(), v) {
				t.Errorf("%s: a closed list takes a value", name)
			}
			took.Stop()
			cancel()
		}
	})
}

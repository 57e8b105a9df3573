package worker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// A key goes to its usual worker if that is free, and to another one if not. Messages that wait get workers in their
// order, and one whose context ends takes none.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(3)
		take := func(key string) int {
			n, err := turns.take(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		usual := take("k")
		if other := take("k"); other == usual {
			t.Fatalf("worker %d twice", usual)
		}
		last := take("")
		got := make(chan string, 2)
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := turns.take(ctx, "")
			gone <- err
		}()
		synctest.Wait()
		for _, name := range []string{"first", "second"} {
			go func() {
				if _, err := turns.take(t.Context(), "k"); err != nil {
					t.Error(err)
				}
				got <- name
			}()
			synctest.Wait()
		}
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		turns.give(last)
		if name := <-got; name != "first" {
			t.Errorf("%s before the first", name)
		}
		turns.give(usual)
		<-got
		turns.give(usual)
		if n := take("k"); n != usual {
			t.Errorf("worker %d, and the usual one was free", n)
		}
	})
}

package worker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
)

// A key goes to its usual worker if that is free, and to another one if not. Messages that wait get workers in their
// order, and one whose context ends takes none.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(3)
		take := func(key string) seat {
			s, err := turns.take(t.Context(), key, false)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		usual := take("k")
		if other := take("k"); other == usual {
			t.Fatalf("worker %v twice", usual)
		}
		last := take("")
		got := make(chan string, 2)
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := turns.take(ctx, "", false)
			gone <- err
		}()
		synctest.Wait()
		for _, name := range []string{"first", "second"} {
			go func() {
				if _, err := turns.take(t.Context(), "k", false); err != nil {
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
			t.Errorf("worker %v, and the usual one was free", n)
		}
	})
}

// With a wider window, messages go behind others when no worker is free. Nothing overtakes a message that waits for a
// worker of its own, and none waits for long.
func TestTurnsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(2)
		turns.widen(3)
		take := func(alone bool) (seat, error) { return turns.take(t.Context(), "", alone) }
		var seats []seat
		firsts := 0
		for range 6 {
			s, err := take(false)
			if err != nil {
				t.Fatal(err)
			}
			if s.first {
				firsts++
			}
			seats = append(seats, s)
			if len(seats) == 2 && firsts != 2 {
				t.Error("a message waits for a worker, and another one is free")
			}
		}
		if turns.has[0] != 3 || turns.has[1] != 3 {
			t.Errorf("the workers have %v", turns.has)
		}
		begun := time.Now()
		if _, err := take(false); !errors.Is(err, godwit.ErrBusy) || time.Since(begun) != patience {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		order := make(chan bool, 3)
		for _, alone := range []bool{true, false} {
			go func() {
				s, err := take(alone)
				if err != nil || alone && !s.first {
					t.Errorf("%+v, %v", s, err)
				}
				order <- alone
			}()
			synctest.Wait()
		}
		turns.give(seats[0])
		go func() {
			_, _ = take(false) // behind both
			order <- false
		}()
		if synctest.Wait(); len(order) > 0 {
			t.Error("a message overtook one that waits for a worker of its own")
		}
		for _, s := range seats[1:] {
			turns.give(s)
		}
		for range 3 {
			<-order
		}
	})
}

package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// An item whose lease or source has ended does not start, and takes no handler's place.
func TestWhatDoesNotStart(t *testing.T) {
	for name, spoil := range map[string]func(it *Item){
		"its lease has ended":    func(it *Item) { it.lease.ends = it.in.flow.clock.now() },
		"its source was revoked": func(it *Item) { it.src.kill() },
		"":                       func(*Item) {},
	} {
		s, _ := bareSession(t, driver.ReceiveLimits{}, &Config{})
		s.flow.queue.alone = false
		it := kind{}.ready(s)
		spoil(it)
		st := starts(s)
		if started := it.state == running; started != (name == "") || st.seated != started ||
			len(s.flow.stints.all) != s.flow.queue.active {
			t.Errorf("%s: %v, seated %v, %d handlers", name, it.state, st.seated, len(s.flow.stints.all))
		}
	}
}

// The context that the application made is used once: a handler's goroutine may still have it afterwards.
func TestAContextIsUsedOnce(t *testing.T) {
	s, _ := bareSession(t, driver.ReceiveLimits{}, &Config{ProcessingTimeout: time.Minute})
	own := new(Context)
	it := &Item{use: use{Context: own}}
	deadline := s.flow.clock.now().plus(time.Minute)
	first := s.flow.stints.contextFor(it, deadline)
	_ = first.end()
	second := s.flow.stints.contextFor(it, deadline)
	if first != own || second == own || second != it.Context || second.Err() != nil {
		t.Errorf("the first is the application's: %v; the second is another one: %v (%v), and the item's: %v",
			first == own, second != own, second.Err(), second == it.Context)
	}
}

// After its timeout a handler is canceled, once, and later it is stuck, once. A handler that returns is neither.
func TestOverdueHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := bareSession(t, driver.ReceiveLimits{}, &Config{ProcessingTimeout: 5 * time.Second})
		f := s.flow
		it := kind{lane: 7}.ready(s)
		st := starts(s)
		kind{lane: 8}.ready(s)
		returns := starts(s)
		for _, c := range []struct {
			after   time.Duration
			state   state
			stuck   int
			timeout int64
		}{
			{5*time.Second - 1, running, 0, 0},
			{5 * time.Second, canceled, 0, 1},
			{5*time.Second + abandonAfter - 1, canceled, 0, 1},
			{5*time.Second + abandonAfter, canceled, 1, 1},
			{time.Hour, canceled, 0, 1},
		} {
			stuck := f.stints.overdue(st.begun.plus(c.after))
			if len(stuck) != c.stuck || f.count.TimedOut != c.timeout || it.state != c.state {
				t.Errorf("after %v: %d stuck, %d timed out, %v", c.after, len(stuck), f.count.TimedOut, it.state)
			}
			f.stints.returned(returns, f.clock.now())
		}
		if cause := context.Cause(st.ctx); !errors.Is(cause, ErrProcessingTimeout) || returns.ctx.Err() != nil {
			t.Errorf("the cause is %v; that of the one that returned is %v", cause, returns.ctx.Err())
		}
	})
}

// An abandoned handler frees its seat, and without order its item is rejected. With order the item keeps its lane. One
// handler too many changes nothing more: the session ends.
func TestAnAbandonedHandler(t *testing.T) {
	for name, c := range map[string]struct {
		kind    kind
		most    int
		returns bool
		out     int
		state   state
		seated  bool
	}{
		"without order": {kind{}, 1, false, 1, settling, false},
		"with order":    {kind{lane: 7}, 1, false, 1, abandoned, false},
		"too many":      {kind{}, 0, false, 1, abandoned, true},
		"it returns":    {kind{}, 1, true, 0, canceled, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, _ := bareSession(t, driver.ReceiveLimits{SettleBatch: 10}, &Config{MaxAbandoned: c.most})
			f := s.flow
			f.queue.alone, f.queue.limit = false, 5
			it := c.kind.ready(s)
			st := starts(s)
			f.lock()
			f.stints.overdue(st.deadline)
			if c.returns {
				f.stints.returned(st, f.clock.now())
			}
			out := f.stints.abandon(st, []byte("stack"))
			if out != c.out || it.state != c.state || st.seated != c.seated || f.count.Abandoned != int64(c.out) {
				t.Errorf("%s: %d abandoned, the item is %v, seated %v", name, out, it.state, st.seated)
			}
			f.stints.returned(st, f.clock.now())
			if len(f.stints.abandoned) > 0 {
				t.Errorf("%s: abandoned although it has returned", name)
			}
			f.unlock()
		})
	}
}

// The handler of a batch continues until all its items have lost their leases. Any other reason cancels it.
func TestLostLeasesOfABatch(t *testing.T) {
	st := &stint{its: make([]*Item, 2), ctx: freshContext(t)}
	if st.interrupt(ErrLeaseLost); st.ctx.Err() != nil {
		t.Error("canceled because of one of two leases")
	}
	if st.interrupt(ErrLeaseLost); !errors.Is(context.Cause(st.ctx), ErrLeaseLost) {
		t.Errorf("not canceled without leases: %v", context.Cause(st.ctx))
	}
	st = &stint{its: make([]*Item, 2), ctx: freshContext(t)}
	if st.interrupt(ErrShutdown); !errors.Is(context.Cause(st.ctx), ErrShutdown) {
		t.Errorf("not canceled by a stop: %v", context.Cause(st.ctx))
	}
}

// Handlers return in any order, and the others are still known; a second return changes nothing.
func TestHandlersReturnInAnyOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := bareSession(t, driver.ReceiveLimits{}, &Config{ProcessingTimeout: time.Minute})
		f := s.flow
		var sts []*stint
		for range 4 {
			kind{}.ready(s)
			sts = append(sts, starts(s))
			time.Sleep(time.Second)
		}
		left := map[int]bool{0: true, 1: true, 2: true, 3: true}
		for _, i := range []int{1, 0, 0, 3, 2} {
			delete(left, i)
			f.stints.returned(sts[i], f.clock.now())
			oldest, deadline := never, never
			for j, st := range sts {
				if f.stints.runs(st) != left[j] {
					t.Errorf("without %d: handler %d runs: %v", i, j, !left[j])
				}
				if left[j] {
					oldest, deadline = min(oldest, st.begun), min(deadline, st.deadline)
				}
			}
			if s.Counts().StillRunning != len(left) || f.stints.oldest() != oldest || f.stints.deadline() != deadline {
				t.Errorf("without %d: %d remain, the oldest at %v", i, s.Counts().StillRunning, f.stints.oldest())
			}
		}
		if f.stints.meter.ended != 4 {
			t.Errorf("%d ends of 4 were counted", f.stints.meter.ended)
		}
	})
}

type contextKey struct{}

func freshContext(t *testing.T) *Context {
	t.Helper()
	parent, cancel := context.WithCancel(context.WithValue(context.Background(), contextKey{}, "value"))
	t.Cleanup(cancel)
	all := &commonContext{context.WithoutCancel(parent), newClock()}
	return &Context{all: all, deadline: all.clock.now().plus(time.Hour)}
}

func isOver(c context.Context) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

// A Context behaves like one of the standard library, whether it is first used before or after its cancellation: its
// cause, derived contexts, and functions that wait for it.
func TestAHandlersContextIsAContext(t *testing.T) {
	why := errors.New("why")
	for name, look := range map[string]func(c context.Context) func() error{
		"itself": func(c context.Context) func() error {
			done := c.Done()
			return func() error { <-done; return context.Cause(c) }
		},
		"a child": func(c context.Context) func() error {
			child, cancel := context.WithTimeout(c, time.Hour)
			return func() error { defer cancel(); <-child.Done(); return context.Cause(child) }
		},
		"a grandchild with a value": func(c context.Context) func() error {
			child, cancel := context.WithCancel(context.WithValue(c, contextKey{}, 2))
			return func() error { defer cancel(); <-child.Done(); return context.Cause(child) }
		},
		"a function": func(c context.Context) func() error {
			called := make(chan struct{})
			context.AfterFunc(c, func() { close(called) })
			return func() error { <-called; return context.Cause(c) }
		},
	} {
		c := freshContext(t)
		wait := look(c)
		if c.Err() != nil || isOver(c) || context.Cause(c) != nil {
			t.Errorf("%s: canceled at the start", name)
		}
		c.interrupt(why)
		if err := wait(); !errors.Is(err, why) {
			t.Errorf("%s: cause %v", name, err)
		}
		late := freshContext(t)
		late.interrupt(why)
		late.interrupt(errors.New("too late"))
		if err := look(late)(); !errors.Is(err, why) {
			t.Errorf("%s, first used afterwards: cause %v", name, err)
		}
		if c.Err() != context.Canceled || late.end() != why {
			t.Errorf("%s: %v, ended with %v", name, c.Err(), late.end())
		}
	}
}

// Goroutines that a handler has left running see that it has returned, also if the context was not used before.
func TestTheContextEndsWithItsHandler(t *testing.T) {
	for _, before := range []bool{true, false} {
		c := freshContext(t)
		if before && isOver(c) {
			t.Fatal("canceled at the start")
		}
		if cause := c.end(); cause != nil {
			t.Errorf("ended with %v", cause)
		}
		if !isOver(c) || c.Err() == nil {
			t.Errorf("used before %v: not canceled after its handler", before)
		}
		if c.Value(contextKey{}) != "value" || c.Value(1) != nil {
			t.Error("values are lost")
		}
	}
}

// Concurrent cancellation and first use are safe, and no waiter is left.
func TestContextUnderRace(t *testing.T) {
	why := errors.New("why")
	for range 1000 {
		c := freshContext(t)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				<-c.Done()
				if !errors.Is(context.Cause(c), why) {
					t.Error("another cause")
				}
			})
		}
		all.Go(func() { c.interrupt(why) })
		all.Wait()
		_ = c.end()
	}
}

// A handler that does not use its context causes no allocation.
func TestAnUnusedContextAllocatesNothing(t *testing.T) {
	all := &commonContext{context.Background(), newClock()}
	c := new(Context)
	if n := testing.AllocsPerRun(100, func() {
		c.all, c.deadline = all, noMoment
		_ = c.end()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

type contextKey struct{}

func freshContext(t *testing.T) *Context {
	t.Helper()
	parent, cancel := context.WithCancel(context.WithValue(context.Background(), contextKey{}, "value"))
	t.Cleanup(cancel)
	c := new(Context)
	all := &commonContext{context.WithoutCancel(parent), newClock()}
	c.renew(all, all.clock.now().plus(time.Hour))
	return c
}

func isDone(c context.Context) bool {
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
		if c.Err() != nil || isDone(c) || context.Cause(c) != nil {
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
		if before && isDone(c) {
			t.Fatal("canceled at the start")
		}
		if cause := c.end(); cause != nil {
			t.Errorf("ended with %v", cause)
		}
		if !isDone(c) || c.Err() == nil {
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
		c.renew(all, noMoment)
		_ = c.end()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

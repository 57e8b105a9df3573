package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// nilError is an error whose methods panic for a nil pointer, like those of many errors.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// rudeError is an error whose Unwrap panics.
type rudeError struct{}

func (rudeError) Error() string { return "rude" }
func (rudeError) Unwrap() error { panic("do not look") }

// An error whose methods panic is handled like any other error. It ends neither the process nor the consumer, and the
// dead letter says what is wrong with it.
func TestErrorsWhoseMethodsPanic(t *testing.T) {
	var unset *nilError
	for _, bad := range []error{unset, rudeError{}, fmt.Errorf("wrapped: %w", rudeError{})} {
		t.Run(fmt.Sprintf("%T", bad), func(t *testing.T) {
			l := newLog(driver.ReceiveLimits{})
			onLog(t, l, &godwit.ConsumerOptions{MaxAttempts: 2}, func(_ context.Context, d *godwit.Delivery) error {
				if d.ID == "1" {
					return d.Reject(bad)
				}
				return bad
			}, func(*godwit.Consumer) {
				l.put(0, "a", "b")
				rest(time.Hour)
				want(t, l, "1 reject rejected", "0 reject panic")
			})
		})
		t.Run(fmt.Sprintf("%T in a batch", bad), func(t *testing.T) {
			l := newLog(driver.ReceiveLimits{})
			onLogInBatches(t, l, &godwit.ConsumerOptions{MaxAttempts: 1}, nil,
				func(context.Context, []*godwit.Delivery) error {
					return &godwit.HandleBatchError{Errs: map[int]error{1: bad}}
				}, func(*godwit.Consumer) {
					l.put(0, "a", "b", "c")
					rest(time.Hour)
					got := l.answers()
					slices.Sort(got)
					if w := []string{"0 done", "1 reject panic", "2 done"}; !slices.Equal(got, w) {
						t.Errorf("settled %v, want %v", got, w)
					}
				})
		})
	}
}

// A handler that ends its goroutine has failed like one that panics: its worker is replaced, and its key continues.
func TestAHandlerThatEndsItsGoroutine(t *testing.T) {
	for _, run := range []struct {
		name string
		do   func(l *logOf, o *godwit.ConsumerOptions, handle func(*godwit.Delivery), body func(*godwit.Consumer))
	}{
		{"single", func(l *logOf, o *godwit.ConsumerOptions, handle func(*godwit.Delivery),
			body func(*godwit.Consumer),
		) {
			onLog(t, l, o, func(_ context.Context, d *godwit.Delivery) error {
				handle(d)
				return nil
			}, body)
		}},
		{"batch", func(l *logOf, o *godwit.ConsumerOptions, handle func(*godwit.Delivery),
			body func(*godwit.Consumer),
		) {
			onLogInBatches(t, l, o, &godwit.BatchOptions{Size: 1},
				func(_ context.Context, ds []*godwit.Delivery) error {
					handle(ds[0])
					return nil
				}, body)
		}},
	} {
		t.Run(run.name, func(t *testing.T) {
			l := newLog(driver.ReceiveLimits{})
			var attempts []int
			run.do(l, &godwit.ConsumerOptions{Concurrency: 1, MaxAttempts: 2}, func(d *godwit.Delivery) {
				if d.ID == "0" {
					attempts = append(attempts, d.Attempt)
					runtime.Goexit()
				}
			}, func(*godwit.Consumer) {
				l.put(0, "a", "a", "b")
				rest(time.Hour)
				want(t, l, "2 done", "0 reject exhausted", "1 done")
				if !slices.Equal(attempts, []int{1, 2}) {
					t.Errorf("attempts %v", attempts)
				}
			})
		})
	}
}

// Panics of the caller's functions are recovered: of a policy and its backoff, and of hooks, also of the hook State.
func TestFunctionsOfTheCallerMayPanic(t *testing.T) {
	l := newLog(driver.ReceiveLimits{})
	seen := 0
	onLog(t, l, &godwit.ConsumerOptions{
		MaxAttempts: 2, Backoff: func(int) time.Duration { panic("backoff") },
		Hooks: godwit.Hooks{State: func(_, to godwit.State) {
			if seen++; to == godwit.StateInitialized || to == godwit.StateProcessing && seen < 5 {
				panic("state")
			}
		}},
	}, func(context.Context, *godwit.Delivery) error { return errors.New("no") }, func(*godwit.Consumer) {
		l.put(0, "a")
		rest(time.Hour)
		want(t, l, "0 reject exhausted")
	})
	if seen == 0 {
		t.Error("the hook State was not called")
	}
}

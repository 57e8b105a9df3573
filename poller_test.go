package godwit_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/sqs"
)

const receives = "sqs.ReceiveMessage"

// At most ten empty polls a second are made, if the endpoint ignores the wait, or if the consumer asks for polls
// without a wait. Polls with messages have no limit.
func TestAtMostTenEmptyPollsASecond(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]time.Duration{"the endpoint ignores the wait": 0, "no wait is asked for": -1} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.server.Control(receives, func(_ context.Context, r *localaws.Request) localaws.Outcome {
					r.Input.(*sqs.ReceiveMessageInput).WaitTimeSeconds = new(int32)
					return localaws.Outcome{}
				})
				c := w.consumer("orders", &godwit.ConsumerOptions{WaitTime: wait, BatchSize: 1, Concurrency: 1})
				p := w.producer("orders", nil)
				handled := make(chan struct{}, 50)
				r := w.run(c, func(context.Context, *godwit.Delivery) error {
					handled <- struct{}{}
					return nil
				})
				time.Sleep(10 * time.Second)
				if n := w.calls(receives); n < 95 || n > 101 {
					t.Errorf("%d polls in 10 s, want ten a second", n)
				}
				for range cap(handled) {
					if err := p.Send(w.Context(), body("x")); err != nil {
						t.Fatal(err)
					}
				}
				begun := time.Now()
				for range cap(handled) {
					<-handled
				}
				if took := time.Since(begun); took > 150*time.Millisecond {
					t.Errorf("%d messages waited %v for their polls", cap(handled), took)
				}
				r.stop()
			})
		})
	}
}

// The longer polls have failed, the longer are the pauses between them, within bounds. After an outage, messages wait
// for at most a quarter of its duration more, and never longer than 10 s.
func TestAfterAnOutagePollsSucceedSoon(t *testing.T) {
	t.Parallel()
	for outage, most := range map[time.Duration]time.Duration{
		time.Second: 500 * time.Millisecond, 8 * time.Second: 2 * time.Second,
		time.Minute: 10 * time.Second, 10 * time.Minute: 10 * time.Second,
	} {
		t.Run(outage.String(), func(t *testing.T) {
			inWorld(t, func(w *world) {
				c, p := w.consumer("orders", nil), w.producer("orders", nil)
				handled := make(chan time.Time)
				r := w.run(c, func(context.Context, *godwit.Delivery) error { handled <- time.Now(); return nil })
				var longest time.Duration
				before := w.calls(receives)
				for range 20 { // the pauses are random
					began := make(chan time.Time, 1)
					var end atomic.Pointer[time.Time]
					remove := w.server.Control(receives, func(context.Context, *localaws.Request) localaws.Outcome {
						now := time.Now()
						if first := now.Add(outage); end.CompareAndSwap(nil, &first) {
							began <- now
						}
						return localaws.Outcome{Drop: now.Before(*end.Load())}
					})
					over := (<-began).Add(outage)
					w.send(p, body("x"))
					longest = max(longest, (<-handled).Sub(over))
					remove()
				}
				polls := w.calls(receives) - before
				if longest > most+50*time.Millisecond || longest < most/10 {
					t.Errorf("after an outage of %v a message waited for up to %v more, want at most %v", outage,
						longest, most)
				}
				if limit := 20 * (20 + int(outage/(5*time.Second))); polls > limit {
					t.Errorf("%d polls in 20 outages, want at most %d", polls, limit)
				}
				r.stop()
			})
		})
	}
}

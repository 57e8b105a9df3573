package godwit_test

import (
	"context"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/sqs"
)

const receives = "sqs.ReceiveMessage"

// Empty polls have a floor, whether the endpoint ignores how long a poll may wait or the consumer asks it not to wait;
// polls that bring something have none.
func TestAtMostTenEmptyPollsASecond(t *testing.T) {
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

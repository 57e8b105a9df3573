package queue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// A receive with the attempt id of an open poll ends that poll without messages, also if one comes at the same moment:
// the poll's client asks again, so it is perhaps gone, and its messages would be hidden until their timeout.
func TestAnAttemptBelongsToItsLatestReceive(t *testing.T) {
	for i := range 300 {
		synctest.Test(t, func(t *testing.T) {
			q := newQueue(t, fifo)
			attempt := queue.Receive{Max: 1, Visibility: queue.Default, Attempt: "a"}
			old := make(chan int, 1)
			go func() {
				waiting := attempt
				waiting.Wait = 20 * time.Second
				got, err := q.Receive(t.Context(), waiting)
				if err != nil {
					t.Error(err)
				}
				old <- len(got)
			}()
			synctest.Wait()
			began := time.Now()
			if i%2 == 0 {
				put(t, q, message("m", "g")) // it wakes the poll, which has not looked yet
			}
			got, err := q.Receive(t.Context(), attempt)
			if err != nil {
				t.Fatal(err)
			}
			n := <-old
			if time.Since(began) != 0 || i%2 == 1 && n+len(got) > 0 {
				t.Fatalf("the open poll ended after %v with %d messages, the other got %d", time.Since(began), n, len(got))
			}
			if i%2 == 1 {
				put(t, q, message("m", "g"))
			}
			again, err := q.Receive(t.Context(), attempt)
			if err != nil || len(again) != 1 {
				t.Fatalf("the next receive got %d, %v", len(again), err)
			}
		})
	}
}

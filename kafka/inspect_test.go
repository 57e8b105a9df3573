//go:build synctests

package kafka_test

import (
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// The depth is what the group has not committed yet, and what waits in its tiers; nobody need be in the group.
func TestDepth(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{Partitions: 2, Retries: kafka.RetryAlone}, driver.Events{})
		depth := func(want driver.Depth) {
			w.Helper()
			want.Oldest = -1
			if got, err := l.b.Inspect(w.Context(), orders); err != nil || got != want {
				w.Errorf("depth %+v, %v, want %+v", got, err, want)
			}
		}
		depth(driver.Depth{})
		w.send(0, "a", "b", "c")
		w.send(1, "d")
		depth(driver.Depth{Waiting: 4})
		ds := l.get(4)
		for _, d := range ds {
			if string(d.Body) != "c" {
				l.settle(driver.Done, d)
			} else {
				l.settle(driver.Retry, d)
			}
		}
		time.Sleep(2 * time.Second)
		depth(driver.Depth{Delayed: 1})
		l.settle(driver.Reject, l.get(1)...)
		time.Sleep(2 * time.Second)
		depth(driver.Depth{})
		dead := orders
		dead.DeadLetter = true
		if got, err := l.b.Inspect(w.Context(), dead); err != nil || got.Waiting != 1 {
			w.Errorf("dead letters: depth %+v, %v, want 1 waiting", got, err)
		}
		if _, err := l.b.Inspect(w.Context(),
			driver.Channel{Queue: "nowhere"}); driver.ClassOf(err) != driver.NotFound {
			w.Errorf("what does not exist: %v", err)
		}
	})
}

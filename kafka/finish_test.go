//go:build synctests

package kafka_test

import (
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// The mistake: Finish takes no lock of the receiver, so the poll in flight does not notice it, although a message of
// the same key waits only for it. Here the message is delivered at once.
func TestFinishingEndsAWait(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{Partitions: 1, Retries: kafka.RetryPark, Tiers: []time.Duration{time.Minute}},
			driver.Events{})
		w.send(0, "k=a")
		a := l.get(1)
		w.send(0, "k=b")
		l.nothing(2500 * time.Millisecond) // the next record is in this process, but a can still fail
		const after = 300 * time.Millisecond
		time.AfterFunc(after, func() { l.recv.(driver.Finisher).Finish(a[0].Handle) })
		begun := time.Now()
		w.same(l.get(1), "b")
		if took := time.Since(begun); took > after+50*time.Millisecond {
			w.Errorf("the next record of the key was delivered %v after a was finished", took-after)
		}
	})
}

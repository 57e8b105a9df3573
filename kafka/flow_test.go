//go:build synctests

package kafka_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// Admission waits when the commit has no room for more finished records. A settlement lets admission continue, in the
// poll that already waits.
func TestAdmissionWaitsWhereTheMetadataEnds(t *testing.T) {
	inWorld(t, func(w *world) {
		const n = 60_000
		l := w.begin(kafka.Options{}, driver.Events{})
		for i := range n {
			w.client.Produce(w.Context(), &kgo.Record{Topic: "orders", Value: []byte(strconv.Itoa(i))}, nil)
		}
		if err := w.client.Flush(w.Context()); err != nil {
			w.Fatal(err)
		}
		var stuck []driver.Delivery
		got := 0
		for {
			ds := l.within(2000, 3*time.Second)
			if len(ds) == 0 {
				break
			}
			got += len(ds)
			var done []driver.Delivery
			for i, d := range ds {
				if i%2 == 0 {
					stuck = append(stuck, d)
				} else {
					done = append(done, d)
				}
			}
			l.settle(driver.Done, done...)
			time.Sleep(1100 * time.Millisecond)
			if _, metadata := w.committed(0); len(metadata) > 4096 {
				w.Fatalf("metadata of %d characters", len(metadata))
			}
		}
		if got == n || got < 5000 {
			w.Fatalf("%d of %d records were admitted while every second one is stuck", got, n)
		}
		time.Sleep(driver.StallLasts)
		times, told := l.recv.(driver.Log).Stalls(time.Now())
		if times == 0 || len(told) != 1 || !strings.Contains(told[0], "orders-0 has admitted no record") {
			w.Errorf("%d stalls, and the report is %q", times, told)
		}
		settled := make(chan time.Time, 1)
		go func() {
			time.Sleep(300 * time.Millisecond)
			settled <- time.Now()
			l.settle(driver.Done, stuck...)
		}()
		ds, err := l.recv.Receive(w.Context(), driver.Ask{Max: 2000}, nil)
		if err != nil || len(ds) == 0 || time.Since(<-settled) > 100*time.Millisecond {
			w.Errorf("the waiting poll returned %d deliveries, %v", len(ds), err)
		}
		got += len(ds)
		l.settle(driver.Done, ds...)
		for len(ds) > 0 {
			ds = l.within(2000, 3*time.Second)
			l.settle(driver.Done, ds...)
			got += len(ds)
		}
		if got != n {
			w.Errorf("%d of %d records were delivered", got, n)
		}
		if _, told := l.recv.(driver.Log).Stalls(time.Now().Add(time.Hour)); len(told) > 0 {
			w.Errorf("afterwards the report is %q", told)
		}
		time.Sleep(2 * time.Second)
		if at, metadata := w.committed(0); at != n || len(metadata) > 30 {
			w.Errorf("committed %d with metadata of %d characters, want %d and no completions", at, len(metadata), n)
		}
	})
}

//go:build synctests

package acceptance

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// The mistake: one stuck key blocks its whole partition. Here a key is stuck while the waiting times of the others are
// measured. Their 99th percentile is at most twice that without a stuck key.
func TestStuckKey(t *testing.T) {
	alone(t, func(t *testing.T, w *world) {
		w.create(1)
		w.ensure(kafka.Options{})
		undisturbed, disturbed := time.Hour, time.Hour
		for range 3 { // other work of the machine makes a run slower, never faster
			undisturbed, disturbed = min(undisturbed, w.slowest("")), min(disturbed, w.slowest("k0"))
			t.Logf("the 99th percentile is %v, and %v beside a stuck key", undisturbed, disturbed)
			if disturbed <= 2*undisturbed+5*time.Millisecond {
				return
			}
		}
		t.Errorf("the 99th percentile is %v beside a stuck key, and %v without one", disturbed, undisturbed)
	})
}

// slowest sends a record every millisecond to a consumer, and returns the 99th percentile of the time that records of
// other keys waited for their handlers. Handlers of the stuck key return only after that time is known.
func (w *world) slowest(stuck string) time.Duration {
	const records, keys = 3000, 100
	var mu sync.Mutex
	var waits []time.Duration
	late := 0
	release := make(chan struct{})
	p := w.start(kafka.Options{}, godwit.ConsumerOptions{Concurrency: 20},
		func(ctx context.Context, d *godwit.Delivery) error {
			if d.OrderKey == stuck {
				<-release
				mu.Lock()
				late++
				mu.Unlock()
				return nil
			}
			sent, _ := strconv.ParseInt(string(d.Body), 10, 64)
			mu.Lock()
			waits = append(waits, time.Since(time.Unix(0, sent)))
			mu.Unlock()
			return nap(ctx, 2*time.Millisecond)
		})
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(waits)
	}
	send := func(key int) {
		now := strconv.FormatInt(time.Now().UnixNano(), 10)
		w.client.Produce(w.t.Context(), &kgo.Record{
			Topic: w.topic(), Key: []byte("k" + strconv.Itoa(key)),
			Value: []byte(now),
		}, nil)
	}
	send(1) // the time to join the group is not measured
	w.eventually(60*time.Second, "the first record handled", func() bool { return count() == 1 })
	for i := range records {
		send(i % keys)
		time.Sleep(time.Millisecond)
	}
	want, behind := records+1, 0
	if stuck != "" {
		behind = records / keys
	}
	w.eventually(30*time.Second, "all others handled", func() bool { return count() == want-behind })
	close(release)
	w.eventually(30*time.Second, "the stuck records handled, which the next round would otherwise get", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return late == behind
	})
	if _, err := p.stop(); err != nil {
		w.t.Error(err)
	}
	slices.Sort(waits)
	return waits[len(waits)*99/100]
}

//go:build synctests

package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// The core and this backend together, while members join and leave: every record is handled, the records of a key one
// after another and in order, and a failed record is delivered again before its successors.
func TestConsumersComeAndGo(t *testing.T) {
	for name, o := range map[string]kafka.Options{
		"block": {}, "park": {ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark}},
		"broker": {ChannelOptions: kafka.ChannelOptions{GroupProtocol: kafka.GroupConsumer}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				const n, partitions, keys = 3000, 4, 40
				seed := uint64(time.Now().UnixNano())
				t.Logf("seed %d", seed)
				j := &journal{
					rng: rand.New(rand.NewPCG(seed, 1)), busy: map[string]bool{}, last: map[string]int{},
					seen: map[int]int{},
				}
				o.Partitions = partitions
				first := w.begin(o, driver.Events{})
				first.end()
				produce := func(i int) {
					w.client.Produce(w.Context(), &kgo.Record{
						Topic: "orders", Partition: int32(i % partitions),
						Key: []byte(fmt.Sprintf("k%d-%d", i%partitions, i%keys)), Value: []byte(strconv.Itoa(i)),
					}, nil)
				}
				var wg sync.WaitGroup
				wg.Go(func() {
					for i := range n {
						produce(i)
						if i > n/3 { // the remaining records are sent while others are handled
							time.Sleep(5 * time.Millisecond)
						}
					}
				})
				for i := range 5 {
					wg.Go(func() { w.consume(o, j, time.Duration(4+2*i)*time.Second) })
					time.Sleep(1500 * time.Millisecond)
				}
				wg.Go(func() { w.consume(o, j, 5*time.Minute) })
				wg.Wait()
				if len(j.seen) != n {
					w.Errorf("%d of %d records were handled", len(j.seen), n)
				}
				for _, fault := range j.faults {
					w.Error(fault)
				}
			})
		})
	}
}

// The key of a record is finished only when the record is done, and not when its handler has sent it back by a method.
func TestIdempotentRecordsSentBack(t *testing.T) {
	for name, sendBack := range map[string]func(d *godwit.Delivery) error{
		"retry": func(d *godwit.Delivery) error { return d.Retry(time.Second) }, "release": (*godwit.Delivery).Release,
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				const n = 50
				l := w.begin(kafka.Options{}, driver.Events{})
				_ = l.recv.Close(w.Context()) // the consumer opens its own
				for i := range n {
					w.client.Produce(w.Context(), &kgo.Record{Topic: "orders", Value: []byte(strconv.Itoa(i))}, nil)
				}
				var mu sync.Mutex
				starts := map[string]int{}
				c, err := godwit.NewConsumer(w.Context(), l.b, "orders", &godwit.ConsumerOptions{
					Middleware: []godwit.Middleware{godwit.Idempotent(new(godwit.MemoryStore), nil, time.Hour)},
				})
				if err != nil {
					w.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(w.Context(), 5*time.Minute)
				defer cancel()
				r, err := c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
					mu.Lock()
					defer mu.Unlock()
					if starts[d.ID]++; starts[d.ID] == 1 {
						return sendBack(d)
					}
					return d.Done()
				})
				if err != nil || r.Handled != n || len(starts) != n {
					t.Errorf("%d of %d records had a handler, report %+v, %v", len(starts), n, r, err)
				}
				for id, times := range starts {
					if times != 2 {
						t.Errorf("record %s was started %d times", id, times)
					}
				}
			})
		})
	}
}

// consume runs a consumer with a backend of its own for a while.
func (w *world) consume(o kafka.Options, j *journal, d time.Duration) {
	l := w.begin(o, driver.Events{})
	_ = l.recv.Close(w.Context())
	c, err := godwit.NewConsumer(w.Context(), l.b, "orders", &godwit.ConsumerOptions{Concurrency: 20, Policy: retryAll})
	if err != nil {
		w.Error(err)
		return
	}
	ctx, cancel := context.WithTimeout(w.Context(), d)
	defer cancel()
	if _, err := c.Run(ctx, j.handle); err != nil {
		w.Error(err)
	}
}

func retryAll(*godwit.Delivery, error) godwit.Verdict {
	return godwit.Verdict{Action: godwit.ActionRetry, After: 6 * time.Second}
}

// journal notes what the handlers did.
type journal struct {
	mu     sync.Mutex
	rng    *rand.Rand
	busy   map[string]bool
	last   map[string]int // the newest finished record of each key
	seen   map[int]int
	faults []string
}

var errOnce = errors.New("not this time")

func (j *journal) handle(ctx context.Context, d *godwit.Delivery) error {
	i, err := strconv.Atoi(string(d.Body))
	if err != nil {
		return err
	}
	j.mu.Lock()
	if j.busy[d.OrderKey] {
		j.fault("two records of key %s at once", d.OrderKey)
	}
	j.busy[d.OrderKey] = true
	pause := time.Duration(1+j.rng.IntN(20)) * time.Millisecond
	fail := j.rng.IntN(60) == 0
	j.mu.Unlock()
	time.Sleep(pause)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.busy[d.OrderKey] = false
	if fail {
		return errOnce
	}
	if j.seen[i] == 0 && i < j.last[d.OrderKey] {
		j.fault("record %d of key %s was handled after %d", i, d.OrderKey, j.last[d.OrderKey])
	}
	j.last[d.OrderKey] = max(j.last[d.OrderKey], i)
	j.seen[i]++
	return nil
}

func (j *journal) fault(format string, args ...any) {
	if len(j.faults) < 10 {
		j.faults = append(j.faults, fmt.Sprintf(format, args...))
	}
}

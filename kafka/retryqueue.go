package kafka

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
)

// RetryQueue is where a record waits if the core does not hold its retry. Several goroutines call it concurrently.
type RetryQueue interface {
	// Put takes records that are delivered again later, and returns an error or nil for each of them.
	Put(ctx context.Context, rs []Later) []error
	// Durable says who delivers the records again. True: the queue publishes them to the channel's topic, also after
	// this process has ended, and here they are finished. They are new records then, so RetryPark cannot keep their
	// order. False: this process holds them until they are due. They stay unfinished, and no commit passes them.
	Durable() bool
}

// Later is a record that is delivered again later.
type Later struct {
	Record  *kgo.Record // as received; not to be changed
	Due     time.Time
	Attempt int32 // number of starts so far
	// FirstFailure is the time of the record's first failure; zero: it has not failed, or the time is unknown.
	FirstFailure time.Time
}

// memoryRetries bounds a MemoryRetryQueue: after a crash, the records that wait in it are read from their topic again.
const memoryRetries = 10_000

// MemoryRetryQueue holds records in this process, for tests and where topics cannot be created. The zero value is ready
// to use.
type MemoryRetryQueue struct {
	mu  sync.Mutex
	due []time.Time
}

// Put takes records while there is room.
func (q *MemoryRetryQueue) Put(_ context.Context, rs []Later) []error {
	q.mu.Lock()
	defer q.mu.Unlock()
	errs := make([]error, len(rs))
	now := time.Now()
	kept := q.due[:0]
	for _, at := range q.due {
		if at.After(now) {
			kept = append(kept, at)
		}
	}
	q.due = kept
	for i := range rs {
		if len(q.due) >= memoryRetries {
			errs[i] = &driver.Error{
				Class: driver.Throttled,
				Err:   fmt.Errorf("%d records wait for their retry in memory, which is the limit", memoryRetries),
			}
			continue
		}
		q.due = append(q.due, rs[i].Due)
	}
	return errs
}

// Durable is false: the consumer holds the records itself.
func (q *MemoryRetryQueue) Durable() bool { return false }

// Waiting is the number of records that are not due yet.
func (q *MemoryRetryQueue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for now, i := time.Now(), 0; i < len(q.due); i++ {
		if q.due[i].After(now) {
			n++
		}
	}
	return n
}

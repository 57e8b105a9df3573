package kafka

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
)

// RetryQueue is where records wait whose retry the core does not hold. It is called from several goroutines at once.
type RetryQueue interface {
	// Put takes records that come back later, and answers for each; nil: taken.
	Put(ctx context.Context, rs []Later) []error
	// Durable says who brings them back. True: the queue, to the channel's topic, also after this process has ended, so
	// that they are finished here. (They are new records then, so that RetryPark cannot keep their order.) False: this
	// process holds them, unfinished, until they are due; nothing is committed past them.
	Durable() bool
}

// Later is a record that comes back.
type Later struct {
	Record  *kgo.Record // as received: not to be changed
	Due     time.Time
	Attempt int32 // starts so far
	// FirstFailure is when the record failed for the first time; zero: not yet, or nobody knows.
	FirstFailure time.Time
}

// memoryRetries bounds what a MemoryRetryQueue lets wait: what it holds can only be held once more after a crash.
const memoryRetries = 10_000

// MemoryRetryQueue lets records wait in this process: for tests, and where topics cannot be had. The zero value is
// ready.
type MemoryRetryQueue struct {
	mu  sync.Mutex
	due []time.Time
}

// Put takes records as long as there is room.
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
				Err:   fmt.Errorf("%d records wait for their retry in memory: no room for more", memoryRetries),
			}
			continue
		}
		q.due = append(q.due, rs[i].Due)
	}
	return errs
}

// Durable is false: the consumer holds the records itself.
func (q *MemoryRetryQueue) Durable() bool { return false }

// Waiting is how many records are not due yet.
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

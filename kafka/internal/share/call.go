package share

import (
	"context"
	"sync"

	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// call is a Settle or an Extend that waits for the answers of brokers. It is safe for concurrent use.
type call struct {
	mu   sync.Mutex
	left int           // answers, and one while entries are added
	errs map[int]error // by entry
	done chan struct{}
}

func newCall() *call { return &call{left: 1, errs: map[int]error{}, done: make(chan struct{})} }

// add expects so many further answers.
func (c *call) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left += n
}

// fail notes the error of an entry that no broker is told about.
func (c *call) fail(i int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errs[i] = err
}

// answer is the answer to an entry.
func (c *call) answer(i int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.errs[i] = err
	}
	if c.left--; c.left == 0 {
		close(c.done)
	}
}

// wait waits for all answers, and returns the errors of the entries.
func (c *call) wait(ctx context.Context) error {
	c.answer(-1, nil)
	select {
	case <-c.done:
	case <-ctx.Done():
		return failure.Classify(context.Cause(ctx))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return failure.Batch(c.errs)
}

package memdriver

import (
	"context"
	"fmt"

	"github.com/godwitmq/godwit/driver"
)

// Pause makes every receive of a channel fail, also those that wait.
func (b *Backend) Pause(_ context.Context, c driver.Channel, dry bool) (changes bool, err error) {
	return b.setPaused(c, true, dry)
}

// Resume ends a pause.
func (b *Backend) Resume(_ context.Context, c driver.Channel, dry bool) (changes bool, err error) {
	return b.setPaused(c, false, dry)
}

func (b *Backend) setPaused(c driver.Channel, on, dry bool) (changes bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, q, err := b.find(c)
	switch {
	case err != nil:
		return false, err
	case q == nil:
		return false, permanent("channel %s: an exchange is not received from: pause or resume its queues", c)
	}
	changes = q.paused != on
	if !dry {
		q.paused = on
		q.wake()
	}
	return changes, nil
}

// refuses returns the error of a receive while the queue is paused.
func (q *queue) refuses() error {
	if !q.paused {
		return nil
	}
	return &driver.Error{Class: driver.Transient, Err: fmt.Errorf("channel %s: %w", q.spec.Channel, driver.ErrPaused)}
}

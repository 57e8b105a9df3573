package memdriver

import (
	"context"
	"slices"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Remove deletes a queue with its messages, or an exchange without queues.
func (b *Backend) Remove(_ context.Context, c driver.Channel, dry bool) (r driver.Removed, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, q, err := b.find(c)
	if err != nil {
		return r, err
	}
	r.Resources = []string{addressIn(c)}
	switch {
	case q == nil && len(e.queues) > 0:
		return r, permanent("channel %s: %d queues get its messages: remove them first", c, len(e.queues))
	case c.DeadLetter && b.feeds(q):
		return r, permanent("channel %s: its channel still rejects messages to it: remove that first", c)
	case q != nil:
		r.Messages = q.depth(time.Now()).All()
	}
	if dry {
		return r, nil
	}
	if q != nil {
		q.purge()
		q.gone = true
		q.wake()
		delete(b.queues, nameOf(c))
		e.queues = slices.DeleteFunc(e.queues, func(x *queue) bool { return x == q })
	}
	if q == nil || c.Exchange == "" || c.DeadLetter {
		e.gone = true
		delete(b.exchanges, addressOf(c))
	}
	return r, nil
}

// feeds reports whether a queue rejects messages to dead letters.
func (b *Backend) feeds(dead *queue) bool {
	for _, q := range b.queues {
		if q.dead == dead {
			return true
		}
	}
	return false
}

// missing is the error of a sender or receiver whose channel was removed.
func missing(c driver.Channel) error {
	return notFound("channel %s was removed: provision it again", c)
}

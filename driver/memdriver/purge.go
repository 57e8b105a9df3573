package memdriver

import (
	"context"
	"time"

	"github.com/godwitmq/godwit/driver"
)

// Purge drops the messages of a queue. Settlements of its deliveries are answered with driver.ErrLost.
func (b *Backend) Purge(_ context.Context, c driver.Channel, dry bool) (driver.Purged, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, q, err := b.find(c)
	switch {
	case err != nil:
		return driver.Purged{}, err
	case q == nil:
		return driver.Purged{}, permanent("channel %s: an exchange holds nothing: purge its queues", c)
	}
	n := q.depth(time.Now()).All()
	if !dry {
		q.purge()
	}
	return driver.Purged{Messages: n}, nil
}

// purge drops all messages.
func (q *queue) purge() {
	for _, l := range q.lanes {
		for _, m := range l.messages {
			m.lane = nil
		}
	}
	q.lanes, q.byKey = nil, map[string]*lane{}
}

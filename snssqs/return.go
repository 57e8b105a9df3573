package snssqs

import (
	"context"

	"github.com/godwitmq/godwit/driver"
)

// Return implements driver.Returner: dead letters go back to the channel's own queue. No other consumer gets them, also
// on an exchange, because they do not pass the topic.
func (b *Backend) Return(ctx context.Context, dead driver.Channel, _ bool) (driver.Home, error) {
	if err := b.open(); err != nil {
		return driver.Home{}, err
	}
	home := dead
	home.DeadLetter = false
	if home.Queue == "" {
		return driver.Home{}, permanent("channel %s: an exchange has no dead letters: name one of its queues", dead)
	}
	q, err := b.queueOf(ctx, home)
	if err != nil {
		return driver.Home{}, err
	}
	return driver.Home{Forwarder: b.queueSender(home, q), Address: q.arn()}, nil
}

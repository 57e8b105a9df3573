package snssqs

import (
	"context"
	"fmt"

	"github.com/godwitmq/godwit/driver"
)

// clash says whether a channel's name exists as something else already: as the other kind, or with the other ordering.
// It only looks; where it may not look, there is nothing it could say.
func (b *Backend) clash(ctx context.Context, ch driver.Channel) error {
	if ch.DeadLetter {
		return nil
	}
	other := ch
	other.Ordered = !ch.Ordered
	if ch.Exchange == "" {
		if b.queueThere(ctx, other) {
			return disagree(ch, other, "queue", b.namespace.join([]string{ch.Queue}, other.Ordered))
		}
		for _, ordered := range []bool{false, true} {
			if as := (driver.Channel{Exchange: ch.Queue, Ordered: ordered}); b.topicThere(ctx, as) {
				return fmt.Errorf("channel %s: %s exists, so that %s is an exchange: its queues are spelled %s.NAME, and all of them %s", ch, "topic "+b.namespace.join([]string{ch.Queue}, ordered), as, ch.Queue, as)
			}
		}
		return nil
	}
	if b.topicThere(ctx, other) {
		return disagree(ch, other, "topic", b.namespace.join([]string{ch.Exchange}, other.Ordered))
	}
	for _, ordered := range []bool{false, true} {
		if as := (driver.Channel{Queue: ch.Exchange, Ordered: ordered}); b.queueThere(ctx, as) {
			return fmt.Errorf("channel %s: queue %s exists, so that %s is a one-to-one channel and %s cannot be an exchange", ch, b.namespace.join([]string{ch.Exchange}, ordered), as, exchange(ch))
		}
	}
	return nil
}

func disagree(ch, other driver.Channel, kind, name string) error {
	return fmt.Errorf("channel %s: %s %s exists, so that the channel is %s, and Ordered is %v: orderedness belongs to the channel, and all of its producers and consumers agree on it", ch, kind, name, kindOfQueue(other.Ordered), ch.Ordered)
}

func (b *Backend) queueThere(ctx context.Context, ch driver.Channel) bool {
	name, err := b.namespace.queue(ch)
	if err != nil {
		return false
	}
	_, err = b.url(ctx, name)
	return err == nil
}

func (b *Backend) topicThere(ctx context.Context, ch driver.Channel) bool {
	name, err := b.namespace.topic(ch)
	if err != nil {
		return false
	}
	_, err = b.topicNamed(ctx, name)
	return err == nil
}

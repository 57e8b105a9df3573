package snssqs

import (
	"cmp"
	"context"
	"fmt"

	"github.com/godwitmq/godwit/driver"
)

// clash says whether a channel's name exists as something else already: as the other kind, or with the other ordering.
// It only looks; where it may not look, there is nothing it could say. A look that fails in passing is an error: what was
// not seen may be there, and a second queue or topic beside it would take messages that nobody reads.
func (b *Backend) clash(ctx context.Context, ch driver.Channel) error {
	if ch.DeadLetter {
		return nil
	}
	other := ch
	other.Ordered = !ch.Ordered
	if ch.Exchange == "" {
		if there, err := b.queueThere(ctx, other); there || err != nil {
			return cmp.Or(err, disagree(ch, other, "queue", b.namespace.join([]string{ch.Queue}, other.Ordered)))
		}
		for _, ordered := range []bool{false, true} {
			as := driver.Channel{Exchange: ch.Queue, Ordered: ordered}
			if there, err := b.topicThere(ctx, as); there || err != nil {
				return cmp.Or(err, permanent("channel %s: topic %s exists, so that %s is an exchange: "+
					"its queues are spelled %s.NAME, and all of them %s",
					ch, b.namespace.join([]string{ch.Queue}, ordered), as, ch.Queue, as))
			}
		}
		return nil
	}
	if there, err := b.topicThere(ctx, other); there || err != nil {
		return cmp.Or(err, disagree(ch, other, "topic", b.namespace.join([]string{ch.Exchange}, other.Ordered)))
	}
	for _, ordered := range []bool{false, true} {
		as := driver.Channel{Queue: ch.Exchange, Ordered: ordered}
		if there, err := b.queueThere(ctx, as); there || err != nil {
			return cmp.Or(err, permanent("channel %s: queue %s exists, so that %s is a one-to-one channel "+
				"and %s cannot be an exchange", ch, b.namespace.join([]string{ch.Exchange}, ordered), as, exchange(ch)))
		}
	}
	return nil
}

func disagree(ch, other driver.Channel, kind, name string) error {
	return permanent("channel %s: %s %s exists, so that the channel is %s, and Ordered is %v: orderedness belongs to "+
		"the channel, and all of its producers and consumers agree on it",
		ch, kind, name, kindOfQueue(other.Ordered), ch.Ordered)
}

func (b *Backend) queueThere(ctx context.Context, ch driver.Channel) (bool, error) {
	name, err := b.namespace.queue(ch)
	if err != nil {
		return false, nil //nolint:nilerr // what has no name does not exist
	}
	_, err = b.url(ctx, name)
	return seen(ch, err)
}

func (b *Backend) topicThere(ctx context.Context, ch driver.Channel) (bool, error) {
	name, err := b.namespace.topic(ch)
	if err != nil {
		return false, nil //nolint:nilerr // what has no name does not exist
	}
	_, err = b.topicNamed(ctx, name)
	return seen(ch, err)
}

// seen is what a look says: it is there, it is not, or the look failed in passing. A server that refuses the question,
// or does not know it, has nothing of that name for us.
func seen(ch driver.Channel, err error) (bool, error) {
	if driver.ClassOf(err).Passing() {
		return false, fmt.Errorf("channel %s: find out whether its name is taken; try again, or set Provision to "+
			"ProvisionNever where SNS and STS cannot be reached: %w", ch, err)
	}
	return err == nil, nil
}

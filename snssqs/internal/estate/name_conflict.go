package estate

import (
	"cmp"
	"context"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// nameConflict returns an error if the channel's name already exists as the other kind, or with the other ordering. It
// only reads, and if it may not read it reports nothing. A passing failure is an error: otherwise a second queue or
// topic might be created in addition to an existing one, and its messages would never be read.
func (e *Estate) nameConflict(ctx context.Context, ch driver.Channel) error {
	if ch.DeadLetter {
		return nil
	}
	other := ch
	other.Ordered = !ch.Ordered
	queue, topic := e.Queues.Exists, e.Topics.Exists
	var lookups []lookup
	if ch.Exchange == "" {
		lookups = append(lookups, lookup{
			queue, other, disagree(ch, other, "queue", e.join([]string{ch.Queue}, other.Ordered)),
		})
	} else {
		lookups = append(lookups, lookup{
			topic, other, disagree(ch, other, "topic", e.join([]string{ch.Exchange}, other.Ordered)),
		})
	}
	for _, ordered := range []bool{false, true} {
		if ch.Exchange == "" {
			as := driver.Channel{Exchange: ch.Queue, Ordered: ordered}
			lookups = append(lookups, lookup{
				topic, as,
				client.Permanent("channel %s: topic %s exists, so %s is an exchange: "+
					"its queues are named %s.NAME, and all of them %s", ch, e.join([]string{ch.Queue},
					ordered),
					as, ch.Queue, as),
			})
		} else {
			as := driver.Channel{Queue: ch.Exchange, Ordered: ordered}
			lookups = append(lookups, lookup{
				queue, as,
				client.Permanent("channel %s: queue %s exists, so %s is a one-to-one "+
					"channel and %s cannot be an exchange", ch, e.join([]string{ch.Exchange}, ordered), as,
					ExchangeOf(ch)),
			})
		}
	}
	errs := make([]error, len(lookups))
	_ = client.Concurrently(len(lookups), len(lookups), func(i int) error {
		there, err := lookups[i].there(ctx, lookups[i].as)
		if errs[i] = err; there {
			errs[i] = lookups[i].conflict
		}
		return nil // the first one is reported, not the one that is answered first
	})
	return cmp.Or(errs...)
}

// lookup asks whether something exists that excludes a channel.
type lookup struct {
	there    func(context.Context, driver.Channel) (bool, error)
	as       driver.Channel
	conflict error // if it exists
}

func disagree(ch, other driver.Channel, kind, name string) error {
	return client.Permanent("channel %s: %s %s exists, so the channel is %s, but Ordered is %v: a channel "+
		"is ordered or not, and all its producers and consumers have to use the same setting",
		ch, kind, name, kindOfQueue(other.Ordered), ch.Ordered)
}

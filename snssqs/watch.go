package snssqs

import (
	"context"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
)

// checkEvery is how often a consumer makes sure that its queue is still subscribed, with its own filter: a topic may
// have been deleted and made again, by a producer that knows no filters.
const checkEvery = 5 * time.Minute

// watch checks the subscription of an exchange's queue for as long as the receiver is open, if a consumer of this
// process may provision it.
func (r *receiver) watch() {
	spec, ours := r.provisions()
	if !ours || r.from.Exchange == "" || r.from.DeadLetter {
		return
	}
	r.watching.Go(func() {
		for backoff.Sleep(r.life, checkEvery) == nil {
			if err := r.check(r.life, spec); err != nil && !over(r.life) {
				r.b.log.Warn("checking the subscription failed; it is tried again", "channel", r.from.String(), "error",
					err, "in", checkEvery)
			}
		}
	})
}

// provisions is what a consumer of this process wishes of the channel, if it may provision it.
func (r *receiver) provisions() (driver.ChannelSpec, bool) {
	spec, known := r.b.wish(r.from)
	_, foreign := r.b.mapped(r.from)
	return spec, known && !foreign && spec.Mode == driver.Auto
}

// check makes the subscription again if it is gone or differs; and all of the channel if the topic is gone.
func (r *receiver) check(ctx context.Context, spec driver.ChannelSpec) error {
	t, err := r.b.topicOf(ctx, r.from)
	if err == nil {
		var dead *queue
		if !spec.NoDeadLetters {
			if dead, err = r.b.known(ctx, r.dead()); err != nil {
				return err
			}
		}
		return r.b.ensureSubscription(ctx, spec, t, r.queue, dead)
	}
	if driver.ClassOf(err) == driver.NotFound {
		return r.b.Ensure(ctx, spec)
	}
	return err
}

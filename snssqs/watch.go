package snssqs

import (
	"context"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
)

// checkEvery is how often a consumer checks that its queue is subscribed with its own filter. The topic may have been
// deleted, and created again by a producer, which does not know the filters.
const checkEvery = 5 * time.Minute

// watch checks the subscription of a queue of an exchange while the receiver is open, if a consumer of this process may
// provision it.
func (r *receiver) watch() {
	spec, ours := r.provisions()
	if !ours || r.From.Exchange == "" || r.From.DeadLetter {
		return
	}
	r.watching.Go(func() {
		for backoff.Sleep(r.life, checkEvery) == nil {
			if err := r.check(r.life, spec); err != nil && r.life.Err() == nil {
				r.b.log.Warn("checking the subscription failed; the check will be repeated", "channel", r.From.String(),
					"error",
					err, "in", checkEvery)
			}
		}
	})
}

// provisions returns what a consumer of this process asked for, and whether it may provision the channel.
func (r *receiver) provisions() (driver.ChannelSpec, bool) {
	spec, known := r.b.specOf(r.From)
	_, foreign := r.b.mapped(r.From)
	return spec, known && !foreign && spec.Mode.Creates()
}

// check restores the subscription if it is missing or differs, and the whole channel if the topic is missing.
func (r *receiver) check(ctx context.Context, spec driver.ChannelSpec) error {
	t, err := r.b.topicOf(ctx, r.From)
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

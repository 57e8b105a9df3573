package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/godwitmq/godwit"
)

const (
	concurrency = 64 // handlers at once, on each branch

	// The embedded server answers at once, so the usual backoff is not needed.
	firstRetry   = 50 * time.Millisecond
	longestRetry = time.Second
)

// crew are the two consumers of a branch: of its wishes, and of its dead letters.
type crew struct {
	*branch
	seed                uint64
	wishes, deadLetters *godwit.Consumer
}

func (j *job) hire(ctx context.Context, b *branch) (*crew, error) {
	c := &crew{branch: b, seed: j.o.Seed}
	var err error
	further := func(string) (none godwit.Hooks) { return none }
	if j.o.Hooks != nil {
		further = j.o.Hooks
	}
	c.wishes, err = godwit.NewConsumer(ctx, j.backend, b.channel(), &godwit.ConsumerOptions{
		Ordered:     true,
		Filter:      b.filter,
		Concurrency: concurrency,
		Backoff:     godwit.Exponential(firstRetry, longestRetry),
		Logger:      slog.New(slog.DiscardHandler), // there are hundreds of intended failures
		Hooks: godwit.Hooks{Retried: func(d *godwit.Delivery, _ time.Duration, _ error) {
			if w, err := readWish(d.Body); err == nil {
				b.ledger.retried(w.Number)
			}
		}}.Join(further(b.channel())),
	})
	if err != nil {
		return nil, err
	}
	c.deadLetters, err = godwit.NewConsumer(ctx, j.backend, b.channel()+"@dlq",
		&godwit.ConsumerOptions{
			Ordered: true, NoDeadLetters: true, Logger: slog.New(slog.DiscardHandler),
			Hooks: further(b.channel() + "@dlq"),
		})
	return c, err
}

func (c *crew) handleWishes(ctx context.Context) error {
	_, err := c.wishes.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		w, err := readWish(d.Body)
		switch {
		case err != nil:
			return godwit.Permanent(err)
		case !c.wants(w.Item):
			return godwit.Fatal(fmt.Errorf("%s received %s, which its filter should not let pass", d.Channel, w.Item))
		}
		err = fateOf(c.seed, c.index, w.Number).meet(c.ledger.failures(w.Number))
		switch {
		case err == nil:
			c.ledger.handled(w)
		case errors.Is(err, errNoUser):
			c.ledger.failed(w.Number)
			return godwit.Permanent(err)
		default:
			c.ledger.failed(w.Number)
		}
		return err
	})
	return err
}

func (c *crew) countDead(ctx context.Context) error {
	_, err := c.deadLetters.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		w, err := readWish(d.Body)
		if err == nil {
			c.ledger.dead(w.Number)
		}
		return err
	})
	return err
}

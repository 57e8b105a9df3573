package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/godwitmq/godwit"
)

const (
	concurrency = 16 // handlers at once

	// The embedded server answers at once, so nobody has to wait for the usual backoff.
	firstRetry   = 200 * time.Millisecond
	longestRetry = time.Second
)

// consumers makes one for the orders and one for their dead letters.
func (j *job) consumers(ctx context.Context) (orders, deadLetters *godwit.Consumer, err error) {
	orders, err = godwit.NewConsumer(ctx, j.backend, channel, &godwit.ConsumerOptions{
		Concurrency: concurrency,
		Backoff:     godwit.Exponential(firstRetry, longestRetry),
		Hooks: godwit.Hooks{Retried: func(d *godwit.Delivery, _ time.Duration, _ error) {
			if number, err := numberOf(d.Body); err == nil {
				j.ledger.retried(number)
			}
		}},
	})
	if err != nil {
		return nil, nil, err
	}
	deadLetters, err = godwit.NewConsumer(ctx, j.backend, channel+"@dlq", &godwit.ConsumerOptions{NoDeadLetters: true})
	return orders, deadLetters, err
}

func (j *job) handleOrders(ctx context.Context, c *godwit.Consumer) error {
	_, err := c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		number, err := numberOf(d.Body)
		if err != nil {
			return godwit.Permanent(err)
		}
		err = fateOf(j.o.Seed, number).meet(j.ledger.failures(number))
		switch {
		case err == nil:
			j.ledger.handled(number)
		case errors.Is(err, errNoCard):
			j.ledger.failed(number)
			return godwit.Permanent(err)
		default:
			j.ledger.failed(number)
		}
		return err
	})
	return err
}

func (j *job) countDead(ctx context.Context, c *godwit.Consumer) error {
	_, err := c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		number, err := numberOf(d.Body)
		if err == nil {
			j.ledger.dead(number)
		}
		return err
	})
	return err
}

func numberOf(body []byte) (int, error) {
	var o order
	if err := json.Unmarshal(body, &o); err != nil {
		return 0, fmt.Errorf("not an order: %w", err)
	}
	return o.Number, nil
}

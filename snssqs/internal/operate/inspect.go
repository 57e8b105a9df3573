package operate

import (
	"context"
	"fmt"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
)

// Inspect counts a channel's messages, as SQS does: approximately.
func Inspect(ctx context.Context, e *estate.Estate, ch driver.Channel) (driver.Depth, error) {
	if err := e.Clients.Open(); err != nil {
		return driver.Depth{}, err
	}
	if ch.Queue == "" {
		return driver.Depth{}, &driver.Error{
			Class: driver.Permanent,
			Err:   fmt.Errorf("channel %s: an exchange holds no messages: inspect its queues", ch),
		}
	}
	q, err := e.Queues.Of(ctx, ch)
	if err != nil {
		return driver.Depth{}, err
	}
	return q.Depth()
}

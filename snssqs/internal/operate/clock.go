package operate

import (
	"context"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
)

// Clock is driver.Operations.Clock: the header Date of an answer of SQS or SNS, in whole seconds.
func Clock(ctx context.Context, e *estate.Estate, to driver.Channel) (time.Time, error) {
	if err := e.Clients.Open(); err != nil {
		return time.Time{}, err
	}
	if to.Queue == "" {
		return e.Topics.Clock(ctx, to)
	}
	return e.Queues.Clock(ctx, to)
}

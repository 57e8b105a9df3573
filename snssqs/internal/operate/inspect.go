package operate

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

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
	d := driver.Depth{Oldest: -1}
	var errs []error
	for attribute, n := range map[types.QueueAttributeName]*int64{
		types.QueueAttributeNameApproximateNumberOfMessages:           &d.Waiting,
		types.QueueAttributeNameApproximateNumberOfMessagesNotVisible: &d.InFlight,
		types.QueueAttributeNameApproximateNumberOfMessagesDelayed:    &d.Delayed,
	} {
		if *n, err = strconv.ParseInt(q.Attributes[string(attribute)], 10, 64); err != nil {
			errs = append(errs, fmt.Errorf("queue %s: %s is not a number: %w", q.Name, attribute, err))
		}
	}
	return d, errors.Join(errs...)
}

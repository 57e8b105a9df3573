package snssqs

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"
)

// answerWithin is how long one call may take, from its first byte to the last of its answer, the SDK's retries of
// provisioning calls among it. A connection that broke silently, or a service that stops in the middle of an answer,
// holds nobody up for longer; a batch of 1 MiB comes through at 100 KiB a second.
const answerWithin = 10 * time.Second

// deadlines gives each call of a client a deadline; a poll has its wait besides. A client's timeouts know nothing of
// waits, and net/http's own bounds end with the header.
func deadlines(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("godwitDeadline", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (out middleware.InitializeOutput, meta middleware.Metadata, err error) {
		limit := answerWithin
		if poll, ok := in.Parameters.(*sqs.ReceiveMessageInput); ok {
			limit += pollWait(poll)
		}
		timed, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		out, meta, err = next.HandleInitialize(timed, in)
		if err != nil && timed.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("no whole answer within %v: %w", limit, err)
		}
		return out, meta, err
	}), middleware.Before)
}

// pollWait is how long a poll may stay open. One that does not say takes what the queue's attributes say.
func pollWait(in *sqs.ReceiveMessageInput) time.Duration {
	if in.WaitTimeSeconds == 0 {
		return maxWait
	}
	return time.Duration(in.WaitTimeSeconds) * time.Second
}

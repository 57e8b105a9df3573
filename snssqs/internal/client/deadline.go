package client

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"
)

// AnswerWithin bounds one call, from the first byte of the request to the last byte of the answer, including the SDK's
// retries of provisioning calls. It limits the damage of a connection that broke silently, or of a service that stops
// in the middle of an answer. A batch of 1 MiB fits at 100 KiB a second.
const AnswerWithin = 10 * time.Second

// MaxWait is the longest long poll of SQS.
const MaxWait = 20 * time.Second

// deadlines gives each call of a client a deadline; a long poll gets its wait in addition. A client's own timeout does
// not know the wait, and net/http's timeouts end with the response header.
func deadlines(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("godwitDeadline", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (out middleware.InitializeOutput, meta middleware.Metadata, err error) {
		limit := AnswerWithin
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

// pollWait returns how long a poll may stay open. A poll without a wait uses the queue's own.
func pollWait(in *sqs.ReceiveMessageInput) time.Duration {
	if in.WaitTimeSeconds == 0 {
		return MaxWait
	}
	return time.Duration(in.WaitTimeSeconds) * time.Second
}

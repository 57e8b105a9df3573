package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
)

// purgeEvery is how long SQS refuses another purge of a queue.
const purgeEvery = time.Minute

// Purge deletes the messages of a queue; dry: it only counts them.
func Purge(ctx context.Context, e *estate.Estate, ch driver.Channel, dry bool) (p driver.Purged, err error) {
	if err := e.Clients.Open(); err != nil {
		return p, err
	}
	if ch.Queue == "" {
		return p, client.Permanent("channel %s: an exchange holds no messages: purge its queues", ch)
	}
	q, err := e.Queues.Of(ctx, ch)
	if err != nil {
		return p, err
	}
	depth, err := q.Depth()
	if p.Messages = depth.All(); err != nil || dry {
		return p, err
	}
	_, err = e.Clients.SQS.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: &q.URL}, q.At())
	var busy *types.PurgeQueueInProgress
	if errors.As(err, &busy) {
		return p, &driver.Error{Class: driver.Throttled, After: purgeEvery, Err: fmt.Errorf("queue %s: an earlier "+
			"purge began less than %v ago, and deletes only what was sent before it: try again in at most %v: %w", q.Name,
			purgeEvery, purgeEvery, err)}
	}
	if err != nil {
		return p, fmt.Errorf("purge queue %s: %w", q.Name, client.Failed(err, "sqs:PurgeQueue"))
	}
	return p, nil
}

package snssqs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// purgeEvery is how long SQS refuses another purge of a queue.
const purgeEvery = time.Minute

// Purge deletes the messages of a queue, which AWS may need a minute for. A message that is sent within that minute
// stays. Bodies in Options.Store stay until the bucket's lifecycle rule deletes them.
func (b *Backend) Purge(ctx context.Context, ch driver.Channel, dry bool) (p driver.Purged, err error) {
	if ch.Queue == "" {
		return p, client.Permanent("channel %s: an exchange holds no messages: purge its queues", ch)
	}
	depth, err := b.Inspect(ctx, ch)
	if err != nil {
		return p, err
	}
	p.Messages = depth.All()
	if dry {
		return p, nil
	}
	q, err := b.queueOf(ctx, ch)
	if err != nil {
		return p, err
	}
	_, err = b.clients.SQS.PurgeQueue(ctx, &sqs.PurgeQueueInput{QueueUrl: &q.url}, q.at())
	var busy *types.PurgeQueueInProgress
	if errors.As(err, &busy) {
		return p, &driver.Error{Class: driver.Throttled, After: purgeEvery, Err: fmt.Errorf("queue %s: an earlier "+
			"purge began less than %v ago, and deletes only what was sent before it: try again in at most %v: %w", q.name,
			purgeEvery, purgeEvery, err)}
	}
	if err != nil {
		return p, fmt.Errorf("purge queue %s: %w", q.name, client.Failed(err, "sqs:PurgeQueue"))
	}
	return p, nil
}

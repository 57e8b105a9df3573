package snssqs

import (
	"context"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/driver"
)

// Our own tags, in addition to those of a ChannelSpec.
const (
	tagManaged      = "managed-by"
	managedByGodwit = "godwit"
	tagChannel      = "channel"
	tagRole         = "role"
	tagNamespace    = "namespace" // not set without a namespace

	roleQueue       = "queue"
	roleDeadLetters = "dead-letters"
	roleExchange    = "exchange"
)

func (b *Backend) tags(s driver.ChannelSpec, role string) map[string]string {
	tags := maps.Clone(s.Tags)
	if tags == nil {
		tags = map[string]string{}
	}
	name := s.Channel.String()
	if role == roleExchange {
		name = s.Channel.Exchange // not wishlist_events.*, because the value of a tag cannot contain '*'
	}
	tags[tagManaged], tags[tagChannel], tags[tagRole] = managedByGodwit, name, role
	if b.namespace != "" {
		tags[tagNamespace] = string(b.namespace)
	}
	return tags
}

// tag sets the tags of a queue that differ, and leaves other tags alone.
func (b *Backend) tag(ctx context.Context, q *queue, wanted map[string]string) error {
	out, err := b.sqs.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: &q.url})
	if err != nil {
		return fmt.Errorf("queue %s: %w", q.name, permission(classify(err), "sqs:ListQueueTags"))
	}
	differ := map[string]string{}
	for name, value := range wanted {
		if out.Tags[name] != value {
			differ[name] = value
		}
	}
	if len(differ) == 0 {
		return nil
	}
	if _, err := b.sqs.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: &q.url, Tags: differ}); err != nil {
		return fmt.Errorf("queue %s: %w", q.name, permission(classify(err), "sqs:TagQueue"))
	}
	return nil
}

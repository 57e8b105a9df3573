package snssqs

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
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

// tagsOf returns the tags of a queue.
func tagsOf(ctx context.Context, c *sqs.Client, q *queue) (map[string]string, error) {
	out, err := c.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: &q.url})
	if err != nil {
		return nil, fmt.Errorf("queue %s: %w", q.name, client.Failed(err, "sqs:ListQueueTags"))
	}
	return out.Tags, nil
}

// tagQueue sets the tags of a queue that differ, and leaves other tags alone.
func tagQueue(ctx context.Context, c *sqs.Client, q *queue, is, wanted map[string]string) error {
	differ := differingTags(is, wanted)
	if len(differ) == 0 {
		return nil
	}
	if _, err := c.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: &q.url, Tags: differ}); err != nil {
		return fmt.Errorf("queue %s: %w", q.name, client.Failed(err, "sqs:TagQueue"))
	}
	return nil
}

// tagTopic is tagQueue of a topic.
func tagTopic(ctx context.Context, c *sns.Client, t *topic, is, wanted map[string]string) error {
	differ := differingTags(is, wanted)
	if len(differ) == 0 {
		return nil
	}
	in := &sns.TagResourceInput{ResourceArn: &t.arn}
	for _, key := range slices.Sorted(maps.Keys(differ)) {
		value := differ[key]
		in.Tags = append(in.Tags, types.Tag{Key: &key, Value: &value})
	}
	if _, err := c.TagResource(ctx, in); err != nil {
		return fmt.Errorf("topic %s: %w", t.name, client.Failed(err, "sns:TagResource"))
	}
	return nil
}

func differingTags(is, wanted map[string]string) map[string]string {
	differ := map[string]string{}
	for name, value := range wanted {
		if was, there := is[name]; !there || was != value {
			differ[name] = value
		}
	}
	return differ
}

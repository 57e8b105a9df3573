package operate

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/filterpolicy"
	"github.com/godwitmq/godwit/internal/native"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// Specs is driver.Operations.Specs.
func Specs(ctx context.Context, e *estate.Estate, cs []driver.Channel) ([]driver.ChannelSpec, error) {
	if err := e.Clients.Open(); err != nil {
		return nil, err
	}
	all := make([]driver.ChannelSpec, len(cs))
	err := client.Concurrently(len(cs), looksAtOnce, func(i int) (err error) {
		all[i] = driver.ChannelSpec{Channel: cs[i], Owner: true, Mode: driver.Declare}
		if cs[i].Queue == "" {
			return readTopicSpec(ctx, e, &all[i])
		}
		return readQueueSpec(ctx, e, &all[i])
	})
	return all, err
}

func readTopicSpec(ctx context.Context, e *estate.Estate, s *driver.ChannelSpec) error {
	t, err := e.Topics.Of(ctx, s.Channel)
	if err != nil {
		return err
	}
	s.Encryption = t.Attributes["KmsMasterKeyId"]
	s.HighThroughput = t.Attributes["FifoThroughputScope"] == "MessageGroup"
	s.Native = native.Set(native.Topic(), t.Attributes)
	tags, err := e.Topics.TagsOf(ctx, t)
	s.Tags = estate.UsersTags(tags)
	return client.Ignore(err, driver.Denied)
}

func readQueueSpec(ctx context.Context, e *estate.Estate, s *driver.ChannelSpec) error {
	q, err := e.Queues.Of(ctx, s.Channel)
	if err != nil {
		return err
	}
	s.Delay = q.Seconds(types.QueueAttributeNameDelaySeconds)
	s.Retention = unless(q.Seconds(types.QueueAttributeNameMessageRetentionPeriod), wire.MaxRetention)
	s.Lease = unless(q.Seconds(types.QueueAttributeNameVisibilityTimeout), estate.DefaultLease)
	s.Encryption = q.Attributes[string(types.QueueAttributeNameKmsMasterKeyId)]
	s.HighThroughput = q.Attributes[string(types.QueueAttributeNameFifoThroughputLimit)] == "perMessageGroupId"
	s.MaxReceives = q.MaxReceives()
	s.Native = native.Set(native.Queue(), q.Attributes)
	tags, err := e.Queues.TagsOf(ctx, q)
	if err != nil {
		return err
	}
	s.Tags = estate.UsersTags(tags)
	switch dead, err := e.Queues.Of(ctx, estate.DeadLettersOf(s.Channel)); {
	case err == nil:
		s.DeadRetention = unless(dead.Seconds(types.QueueAttributeNameMessageRetentionPeriod), wire.MaxRetention)
	case driver.ClassOf(err) == driver.NotFound:
		s.NoDeadLetters = true
	default:
		return err
	}
	return readFilter(ctx, e, s, q)
}

// readFilter reads the filter of a queue's subscription.
func readFilter(ctx context.Context, e *estate.Estate, s *driver.ChannelSpec, q *estate.Queue) error {
	t, arn, err := e.Topics.SubscriptionOf(ctx, s.Channel, q)
	if err != nil || arn == "" {
		return err
	}
	attributes, err := e.Topics.SubscriptionAttributes(ctx, t, arn)
	if err != nil {
		return err
	}
	s.Filter = filterpolicy.Parse(attributes["FilterPolicy"], e.Form(s.Channel).Routing)
	return nil
}

// unless is a duration; 0: it is the default.
func unless(d, def time.Duration) time.Duration {
	if d == def {
		return 0
	}
	return d
}

// Tag is driver.Operations.Tag.
func Tag(ctx context.Context, e *estate.Estate, ch driver.Channel, tags map[string]string) error {
	if _, foreign := e.Mapping(ch); foreign {
		return client.Permanent("channel %s: its resource is one of Options.Names, and Godwit never tags it", ch)
	}
	if ch.Queue != "" {
		q, err := e.Queues.Of(ctx, ch)
		if err != nil {
			return err
		}
		is, err := e.Queues.TagsOf(ctx, q)
		if err != nil {
			return err
		}
		if err := estate.Ours(ch, "queue "+q.Name, is); err != nil {
			return err
		}
		return e.Queues.SetTags(ctx, q, is, tags)
	}
	t, err := e.Topics.Of(ctx, ch)
	if err != nil {
		return err
	}
	is, err := e.Topics.TagsOf(ctx, t)
	if err != nil {
		return err
	}
	if err := estate.Ours(ch, "topic "+t.Name, is); err != nil {
		return err
	}
	return e.Topics.SetTags(ctx, t, is, tags)
}

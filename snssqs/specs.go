package snssqs

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// specs is driver.Operations.Specs.
func (p planner) specs(ctx context.Context, cs []driver.Channel) ([]driver.ChannelSpec, error) {
	if err := p.b.clients.Open(); err != nil {
		return nil, err
	}
	all := make([]driver.ChannelSpec, len(cs))
	err := client.Concurrently(len(cs), plansAtOnce, func(i int) (err error) {
		all[i] = driver.ChannelSpec{Channel: cs[i], Owner: true, Mode: driver.Declare}
		if cs[i].Queue == "" {
			return p.readTopicSpec(ctx, &all[i])
		}
		return p.readQueueSpec(ctx, &all[i])
	})
	return all, err
}

func (p planner) readTopicSpec(ctx context.Context, s *driver.ChannelSpec) error {
	t, err := p.b.topicOf(ctx, s.Channel)
	if err != nil {
		return err
	}
	s.Encryption = t.attributes["KmsMasterKeyId"]
	s.HighThroughput = t.attributes["FifoThroughputScope"] == "MessageGroup"
	tags, err := p.b.topicTags(ctx, t.arn)
	s.Tags = usersTags(tags)
	return err
}

func (p planner) readQueueSpec(ctx context.Context, s *driver.ChannelSpec) error {
	q, err := p.b.queueOf(ctx, s.Channel)
	if err != nil {
		return err
	}
	s.Delay = q.seconds(types.QueueAttributeNameDelaySeconds)
	s.Retention = unless(q.seconds(types.QueueAttributeNameMessageRetentionPeriod), wire.MaxRetention)
	s.Lease = unless(q.seconds(types.QueueAttributeNameVisibilityTimeout), defaultLease)
	s.Encryption = q.attributes[string(types.QueueAttributeNameKmsMasterKeyId)]
	s.HighThroughput = q.attributes[string(types.QueueAttributeNameFifoThroughputLimit)] == "perMessageGroupId"
	redrive, _ := parseRedrive(q.attributes[string(types.QueueAttributeNameRedrivePolicy)])
	s.MaxReceives = redrive.MaxReceiveCount
	tags, err := tagsOf(ctx, p.b.clients.SQS, q)
	if err != nil {
		return err
	}
	s.Tags = usersTags(tags)
	letters := s.Channel
	letters.DeadLetter = true
	switch dead, err := p.b.queueOf(ctx, letters); {
	case err == nil:
		s.DeadRetention = unless(dead.seconds(types.QueueAttributeNameMessageRetentionPeriod), wire.MaxRetention)
	case driver.ClassOf(err) == driver.NotFound:
		s.NoDeadLetters = true
	default:
		return err
	}
	return p.readFilter(ctx, s, q)
}

// readFilter reads the filter of a queue's subscription.
func (p planner) readFilter(ctx context.Context, s *driver.ChannelSpec, q *queue) error {
	t, arn, err := p.b.subscriptionOf(ctx, s.Channel, q)
	if err != nil || arn == "" {
		return err
	}
	in := &sns.GetSubscriptionAttributesInput{SubscriptionArn: &arn}
	out, err := p.b.clients.SNS.GetSubscriptionAttributes(ctx, in, t.at())
	if err != nil {
		return fmt.Errorf("subscription %s: %w", arn, client.Failed(err, "sns:GetSubscriptionAttributes"))
	}
	s.Filter = wire.ParseFilterPolicy(out.Attributes["FilterPolicy"], p.b.form(s.Channel).Routing)
	return nil
}

// usersTags are tags without those that this package sets itself.
func usersTags(tags map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range tags {
		switch name {
		case tagManaged, tagChannel, tagRole, tagNamespace:
		default:
			out[name] = value
		}
	}
	return out
}

// unless is a duration; 0: it is the default.
func unless(d, def time.Duration) time.Duration {
	if d == def {
		return 0
	}
	return d
}

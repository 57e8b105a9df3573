package conformance

import (
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/localaws"
)

// provider makes the calls that Terraform's provider for AWS makes for a queue with a policy, a topic and a
// subscription, in one region: one of several aliases of a configuration.
type provider struct {
	*world
	region   string
	sqs      *sqs.Client
	sns      *sns.Client
	queueURL *string
	topicARN *string
	subARN   *string
}

func (w *world) alias(region string) *provider {
	return &provider{
		world: w, region: region,
		sqs: sqs.New(sqs.Options{
			Region: region, BaseEndpoint: &w.endpoint, HTTPClient: w.http, Credentials: w.keys, RetryMaxAttempts: 1,
		}),
		sns: sns.New(sns.Options{
			Region: region, BaseEndpoint: &w.endpoint, HTTPClient: w.http, Credentials: w.keys, RetryMaxAttempts: 1,
		}),
	}
}

// apply creates the resources, the subscription to a queue that may be of another region.
func (p *provider) apply(queue, topic, policy, endpoint string) {
	p.Helper()
	tags := map[string]string{"alias": p.region}
	p.queueURL = must(p.sqs.CreateQueue(p.ctx, &sqs.CreateQueueInput{
		QueueName: &queue, Attributes: attrs{"VisibilityTimeout": "45"}, Tags: tags,
	}))(p.world).QueueUrl
	must(p.sqs.SetQueueAttributes(p.ctx, &sqs.SetQueueAttributesInput{
		QueueUrl: p.queueURL, Attributes: attrs{"Policy": policy},
	}))(p.world)
	key := "alias"
	p.topicARN = must(p.sns.CreateTopic(p.ctx, &sns.CreateTopicInput{
		Name: &topic, Tags: []snstypes.Tag{{Key: &key, Value: &p.region}},
	}))(p.world).TopicArn
	protocol := "sqs"
	p.subARN = must(p.sns.Subscribe(p.ctx, &sns.SubscribeInput{
		TopicArn: p.topicARN, Protocol: &protocol, Endpoint: &endpoint, ReturnSubscriptionArn: true,
		Attributes: map[string]string{"RawMessageDelivery": "true"},
	}))(p.world).SubscriptionArn
}

// refresh reads the resources. If they are not what was read before, the provider plans a change.
func (p *provider) refresh() map[string]string {
	p.Helper()
	got := map[string]string{}
	add := func(kind string, some map[string]string) {
		for name, value := range some {
			got[kind+" "+name] = value
		}
	}
	add("queue", must(p.sqs.GetQueueAttributes(p.ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: p.queueURL, AttributeNames: []types.QueueAttributeName{"All"},
	}))(p.world).Attributes)
	add("queue tag", must(p.sqs.ListQueueTags(p.ctx, &sqs.ListQueueTagsInput{QueueUrl: p.queueURL}))(p.world).Tags)
	add("topic", must(p.sns.GetTopicAttributes(p.ctx, &sns.GetTopicAttributesInput{TopicArn: p.topicARN}))(p.world).
		Attributes)
	for _, t := range must(p.sns.ListTagsForResource(p.ctx, &sns.ListTagsForResourceInput{ResourceArn: p.topicARN}))(
		p.world).Tags {
		got["topic tag "+*t.Key] = *t.Value
	}
	add("subscription", must(p.sns.GetSubscriptionAttributes(p.ctx,
		&sns.GetSubscriptionAttributesInput{SubscriptionArn: p.subARN}))(p.world).Attributes)
	return got
}

// destroy deletes the resources, and waits until they are gone.
func (p *provider) destroy() {
	p.Helper()
	must(p.sns.Unsubscribe(p.ctx, &sns.UnsubscribeInput{SubscriptionArn: p.subARN}))(p.world)
	must(p.sns.DeleteTopic(p.ctx, &sns.DeleteTopicInput{TopicArn: p.topicARN}))(p.world)
	must(p.sqs.DeleteQueue(p.ctx, &sqs.DeleteQueueInput{QueueUrl: p.queueURL}))(p.world)
	_, err := p.sqs.GetQueueAttributes(p.ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: p.queueURL, AttributeNames: []types.QueueAttributeName{"All"},
	})
	p.refused(err, noQueue, "")
}

// A configuration with two aliased providers creates a queue and a topic of one name in two regions, and a subscription
// across them. A second plan is empty, and what one alias destroys stays in the other region.
func TestTerraformWithTwoRegions(t *testing.T) {
	runWith(t, "two aliases, one name", &localaws.Options{}, func(w *world) {
		one, two := w.alias("us-east-1"), w.alias("eu-west-1")
		queue, topic := w.name("orders"), w.name("events")
		const policy = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},` +
			`"Action":"sqs:SendMessage","Resource":"*"}]}`
		endpoint := "arn:aws:sqs:eu-west-1:000000000000:" + queue
		for _, p := range []*provider{one, two} {
			p.apply(queue, topic, policy, endpoint)
		}
		before := []map[string]string{one.refresh(), two.refresh()}
		for i, p := range []*provider{one, two} {
			if diff := cmp.Diff(before[i], p.refresh()); diff != "" {
				w.Errorf("%s: the second plan is not empty:\n%s", p.region, diff)
			}
			for name, want := range map[string]string{
				"queue QueueArn": "arn:aws:sqs:" + p.region + ":000000000000:" + queue, "queue tag alias": p.region,
				"topic TopicArn": "arn:aws:sns:" + p.region + ":000000000000:" + topic, "topic tag alias": p.region,
				"subscription Endpoint": endpoint, "subscription PendingConfirmation": "false",
			} {
				if got := before[i][name]; got != want {
					w.Errorf("%s of %s is %q, want %q", name, p.region, got, want)
				}
			}
		}
		body := "m"
		must(one.sns.Publish(w.ctx, &sns.PublishInput{TopicArn: one.topicARN, Message: &body}))(w)
		if n := two.refresh()["queue ApproximateNumberOfMessages"]; n != "1" {
			w.Errorf("across the regions came %s messages", n)
		}
		one.destroy()
		left := two.refresh()
		left["queue ApproximateNumberOfMessages"] = "0"
		if diff := cmp.Diff(before[1], left); diff != "" {
			w.Errorf("the other region has changed (%v):\n%s", slices.Sorted(maps.Keys(left)), diff)
		}
		two.destroy()
	})
}

package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/godwitmq/godwit/localaws"
)

// topics is the environment of a case about SNS, in addition to the world.
type topics struct {
	*world
	sns     *sns.Client
	region  string
	account string
	made    int
}

// nowhere refuses every delivery to an http endpoint, so that no case leaves this machine.
type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

// runTopics runs one case about SNS as a subtest.
func runTopics(t *testing.T, name string, f func(f *topics)) {
	t.Helper()
	var o *localaws.Options
	if *endpoint == "" {
		o = &localaws.Options{Endpoints: nowhere{}}
	}
	runWith(t, name, o, func(w *world) {
		who := sts.New(sts.Options{
			Region: *region, BaseEndpoint: &w.endpoint, HTTPClient: w.http, Credentials: w.keys,
			RetryMaxAttempts: 1,
		})
		caller := must(who.GetCallerIdentity(w.ctx, &sts.GetCallerIdentityInput{}))(w)
		f(&topics{
			world: w, region: *region, account: *caller.Account,
			sns: sns.New(sns.Options{
				Region: *region, BaseEndpoint: &w.endpoint, HTTPClient: w.http,
				Credentials: w.keys, RetryMaxAttempts: 1,
			}),
		})
	})
}

// fresh returns an unused name.
func (f *topics) fresh() string {
	f.made++
	return f.name(fmt.Sprint("t", f.made))
}

func (f *topics) create(name string, attributes map[string]string, tags ...types.Tag) (*string, error) {
	f.Helper()
	out, err := f.sns.CreateTopic(f.ctx, &sns.CreateTopicInput{Name: &name, Attributes: attributes, Tags: tags})
	if err != nil {
		return nil, err
	}
	f.Cleanup(func() {
		if f.local == nil {
			_, _ = f.sns.DeleteTopic(context.WithoutCancel(f.ctx), &sns.DeleteTopicInput{TopicArn: out.TopicArn})
		}
	})
	return out.TopicArn, nil
}

// topic creates a standard topic, or a FIFO one.
func (f *topics) topic(fifo bool) *string {
	f.Helper()
	name, attributes := f.fresh(), map[string]string(nil)
	if fifo {
		name, attributes = name+".fifo", map[string]string{"FifoTopic": "true"}
	}
	arn, err := f.create(name, attributes)
	return got(f, arn, err)
}

// inbox is a queue that topics may send to.
type inbox struct {
	*topics
	url, arn string
}

// inbox creates a queue whose policy allows every topic of the account.
func (f *topics) inbox(fifo bool) *inbox {
	f.Helper()
	q := f.closedInbox(fifo)
	q.allow(`{"ArnLike":{"aws:SourceArn":"arn:aws:sns:` + f.region + `:` + f.account + `:*"}}`)
	return q
}

// allow sets a policy that allows SNS under a condition.
func (q *inbox) allow(condition string) {
	q.Helper()
	policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":"` + q.arn +
		`","Condition":` + condition + `}]}`
	_, err := q.world.sqs.SetQueueAttributes(q.ctx,
		&sqs.SetQueueAttributesInput{QueueUrl: &q.url, Attributes: map[string]string{"Policy": policy}})
	got(q, 0, err)
}

// closedInbox creates a queue without a policy.
func (f *topics) closedInbox(fifo bool) *inbox {
	f.Helper()
	f.made++
	name, attributes := fmt.Sprint("q", f.made), attrs(nil)
	if fifo {
		name, attributes = name+".fifo", attrs{"FifoQueue": "true"}
	}
	url := f.queue(name, attributes)
	return &inbox{topics: f, url: *url, arn: f.world.arn(url)}
}

// arrival is a received message.
type arrival struct {
	Body       string
	Attributes map[string]string // type and value, message attributes
	System     map[string]string // group, deduplication id
}

// take receives and deletes n messages, and checks that there are no more.
func (q *inbox) take(n int) []arrival {
	q.Helper()
	var all []arrival
	for len(all) < n {
		some := q.receive(10)
		if len(some) == 0 {
			q.Fatalf("%d messages came, not %d", len(all), n)
		}
		all = append(all, some...)
	}
	if more := q.receive(1); len(all) > n || len(more) > 0 {
		q.Fatalf("more than %d messages came: %v %v", n, all, more)
	}
	return all
}

func (q *inbox) receive(wait int32) []arrival {
	q.Helper()
	out, err := q.world.sqs.ReceiveMessage(q.ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &q.url, MaxNumberOfMessages: 10, WaitTimeSeconds: wait, MessageAttributeNames: []string{"All"},
		MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{sqstypes.MessageSystemAttributeNameAll},
	})
	got(q, 0, err)
	var all []arrival
	for _, m := range out.Messages {
		a := arrival{Body: *m.Body}
		for name, v := range m.MessageAttributes {
			if a.Attributes == nil {
				a.Attributes = map[string]string{}
			}
			a.Attributes[name] = *v.DataType + " " + aws.ToString(v.StringValue) + string(v.BinaryValue)
		}
		for _, name := range []string{"MessageGroupId", "MessageDeduplicationId"} {
			if v, ok := m.Attributes[name]; ok {
				if a.System == nil {
					a.System = map[string]string{}
				}
				a.System[name] = v
			}
		}
		all = append(all, a)
		_, err := q.world.sqs.DeleteMessage(q.ctx,
			&sqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: m.ReceiptHandle})
		got(q, 0, err)
	}
	return all
}

// bodies returns the bodies of n messages.
func (q *inbox) bodies(n int) []string {
	q.Helper()
	var bodies []string
	for _, a := range q.take(n) {
		bodies = append(bodies, a.Body)
	}
	return bodies
}

func (f *topics) subscribe(topic *string, q *inbox, attributes map[string]string) *string {
	f.Helper()
	out, err := f.sns.Subscribe(f.ctx,
		&sns.SubscribeInput{TopicArn: topic, Protocol: aws.String("sqs"), Endpoint: &q.arn, Attributes: attributes})
	got(f, 0, err)
	return out.SubscriptionArn
}

// asRaw returns attributes for a raw delivery, and more: names and values in turn.
func asRaw(more ...string) map[string]string {
	m := map[string]string{"RawMessageDelivery": "true"}
	for i := 0; i < len(more); i += 2 {
		m[more[i]] = more[i+1]
	}
	return m
}

func (f *topics) publish(in *sns.PublishInput) *sns.PublishOutput {
	f.Helper()
	out, err := f.sns.Publish(f.ctx, in)
	return got(f, out, err)
}

func (f *topics) topicAttributes(topic *string) map[string]string {
	f.Helper()
	out, err := f.sns.GetTopicAttributes(f.ctx, &sns.GetTopicAttributesInput{TopicArn: topic})
	return got(f, out, err).Attributes
}

func (f *topics) subscriptionAttributes(sub *string) map[string]string {
	f.Helper()
	out, err := f.sns.GetSubscriptionAttributes(f.ctx, &sns.GetSubscriptionAttributesInput{SubscriptionArn: sub})
	return got(f, out, err).Attributes
}

func (f *topics) setTopic(topic *string, name, value string) error {
	_, err := f.sns.SetTopicAttributes(f.ctx,
		&sns.SetTopicAttributesInput{TopicArn: topic, AttributeName: &name, AttributeValue: &value})
	return err
}

func (f *topics) setSubscription(sub *string, name, value string) error {
	_, err := f.sns.SetSubscriptionAttributes(f.ctx,
		&sns.SetSubscriptionAttributesInput{SubscriptionArn: sub, AttributeName: &name, AttributeValue: &value})
	return err
}

// got fails the case on an error, and returns v otherwise.
func got[T any](t interface {
	Helper()
	Fatal(...any)
}, v T, err error,
) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// invalid checks for SNS's most common error.
func (f *topics) invalid(err error, text string) {
	f.Helper()
	f.refusedAs(err, 400, "InvalidParameter", "Invalid parameter: "+text)
}

// onlyOf returns the members of m with these names.
func onlyOf(m map[string]string, names ...string) map[string]string {
	kept := maps.Clone(m)
	maps.DeleteFunc(kept, func(k, _ string) bool { return !slices.Contains(names, k) })
	return kept
}

// decodedJSON decodes JSON.
func decodedJSON(f *topics, text string) any {
	f.Helper()
	var v any
	got(f, 0, json.Unmarshal([]byte(text), &v))
	return v
}

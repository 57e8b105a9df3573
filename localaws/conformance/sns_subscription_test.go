package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/google/go-cmp/cmp"
)

// noSubscription is the ARN of a subscription of a topic that never existed.
func noSubscription(topic *string) *string {
	return aws.String(*topic + ":00000000-0000-0000-0000-000000000000")
}

func TestSNSSubscriptionOfAQueueHoldsAtOnce(t *testing.T) {
	runTopics(t, "a subscribed queue needs no confirmation", func(f *topics) {
		topic, q := f.topic(false), f.inbox(false)
		sub := f.subscribe(topic, q, nil)
		if !strings.HasPrefix(*sub, *topic+":") {
			f.Errorf("ARN %s", *sub)
		}
		shown := f.subscriptionAttributes(sub)
		if !strings.HasPrefix(shown["SubscriptionPrincipal"], "arn:aws:iam::"+f.account+":") {
			f.Errorf("principal %s", shown["SubscriptionPrincipal"])
		}
		delete(shown, "SubscriptionPrincipal")
		want := map[string]string{
			"SubscriptionArn": *sub, "TopicArn": *topic, "Protocol": "sqs", "Endpoint": q.arn, "Owner": f.account,
			"ConfirmationWasAuthenticated": "true", "PendingConfirmation": "false", "RawMessageDelivery": "false",
		}
		if diff := cmp.Diff(want, shown); diff != "" {
			f.Error(diff)
		}
	})
}

func TestSNSSubscriptionIsMadeOnce(t *testing.T) {
	runTopics(t, "subscribing again gives the same subscription, unless attributes differ", func(f *topics) {
		topic, q := f.topic(false), f.inbox(false)
		first := f.subscribe(topic, q, map[string]string{"RawMessageDelivery": "True"})
		for _, attributes := range []map[string]string{
			{"RawMessageDelivery": "true"},
			{"RawMessageDelivery": "true", "FilterPolicyScope": "MessageAttributes"},
			nil,
			{},
			{"FilterPolicyScope": "MessageAttributes"},
		} {
			if again := f.subscribe(topic, q, attributes); *again != *first {
				f.Errorf("with %v: %s, not %s", attributes, *again, *first)
			}
		}
		for _, attributes := range []map[string]string{
			{"RawMessageDelivery": "false", "FilterPolicyScope": "MessageBody"},
			{"FilterPolicy": `{"a":["b"]}`},
			{"RedrivePolicy": `{"deadLetterTargetArn":"` + q.arn + `"}`},
		} {
			_, err := f.sns.Subscribe(f.ctx,
				&sns.SubscribeInput{
					TopicArn: topic, Protocol: aws.String("sqs"), Endpoint: &q.arn,
					Attributes: attributes,
				})
			f.invalid(err, "Attributes Reason: Subscription already exists with different attributes")
		}
	})
}

func TestSNSSubscribeRefuses(t *testing.T) {
	runTopics(t, "endpoints, protocols and attributes that cannot be", func(f *topics) {
		standard, fifo, large := f.topic(false), f.topic(true), f.topic(false)
		got(f, 0, f.setTopic(large, "MaximumMessageSize", "1048576"))
		queue := "arn:aws:sqs:" + f.region + ":" + f.account + ":unknown"
		for _, c := range []struct {
			topic              *string
			protocol, endpoint string
			attributes         map[string]string
			fault              string
		}{
			{standard, "sqs", "unknown", nil, "SQS endpoint ARN"},
			{standard, "sqs", "http://aws/" + f.account + "/q", nil, "SQS endpoint ARN"},
			{
				standard, "sqs", queue + ".fifo", nil,
				"Invalid parameter: Endpoint Reason: FIFO SQS Queues can not be subscribed to standard SNS topics",
			},
			{standard, "test-protocol", "x", nil, "Amazon SNS does not support this protocol string: test-protocol"},
			{standard, "email", "example.com", nil, "Email address"},
			{standard, "lambda", "f", nil, "Lambda endpoint ARN"},
			{standard, "application", "x", nil, "ApplicationEndpoint ARN"},
			{fifo, "email", "a@example.com", nil, "Invalid protocol type: email"},
			{
				large, "email", "a@example.com", nil,
				"Protocol Reason: a topic with a MaximumMessageSize above 262144 does not support email subscriptions",
			},
			{
				standard, "firehose", "arn:aws:firehose:us-east-1:000000000000:deliverystream/s", nil,
				"Attributes Reason: a firehose subscription needs the attribute SubscriptionRoleArn",
			},
			{
				standard, "test-protocol", "x",
				map[string]string{"FilterPolicy": "[]"},
				"Attributes Reason: FilterPolicy: Filter is not an object\n at [Source: (String)\"[]\"; line: 1, column: 2]",
			},
			{standard, "http", "https://example.com/", nil, "Endpoint must match the specified protocol"},
			{standard, "https", "example.com", nil, "Endpoint must match the specified protocol"},
			{fifo, "http", "http://example.com/", nil, "Invalid protocol type: http"},
			{
				large, "http", "http://example.com/", nil,
				"Protocol Reason: a topic with a MaximumMessageSize above 262144 does not support http subscriptions",
			},
			{
				standard, "sqs", queue,
				map[string]string{"RawMessageDelivery": "wrongvalue"},
				"Attributes Reason: RawMessageDelivery: Invalid value [wrongvalue]. Must be true or false.",
			},
			{
				standard, "sqs", queue,
				map[string]string{"FilterPolicyScope": "x"},
				"Attributes Reason: FilterPolicyScope: Invalid value [x]. Please use either MessageBody or " +
					"MessageAttributes",
			},
			{
				standard, "sqs", queue,
				map[string]string{"FilterPolicy": `{"a":{"b":["c"]}}`},
				"Attributes Reason: Filter policy scope MessageAttributes does not support nested filter policy",
			},
			{
				standard, "sqs", queue,
				map[string]string{"FilterPolicy": "invalid-json"},
				"Attributes Reason: FilterPolicy: failed to parse JSON. Unrecognized token 'invalid': was expecting " +
					"(JSON String, Number, Array, Object or token 'null', 'true' or 'false')\n at [Source: REDACTED " +
					"(`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: 1, column: 8]",
			},
			{
				standard, "sqs", queue,
				map[string]string{"Nonsense": "x"},
				"Attributes Reason: Unknown attribute Nonsense",
			},
			{
				standard, "sqs", queue,
				map[string]string{"ReplayPolicy": "x"},
				"Attributes Reason: ReplayPolicy is not supported by this server",
			},
			{
				standard, "sqs", queue,
				map[string]string{"DeliveryPolicy": "{}"},
				"Attributes Reason: DeliveryPolicy is only supported for http and https subscriptions",
			},
		} {
			_, err := f.sns.Subscribe(f.ctx,
				&sns.SubscribeInput{
					TopicArn: c.topic, Protocol: &c.protocol, Endpoint: &c.endpoint,
					Attributes: c.attributes,
				})
			f.invalid(err, c.fault)
		}
		// A queue that does not exist can be subscribed.
		_, err := f.sns.Subscribe(f.ctx,
			&sns.SubscribeInput{TopicArn: standard, Protocol: aws.String("sqs"), Endpoint: &queue})
		got(f, 0, err)
		// A topic for large messages has no HTTP subscriptions, so its size cannot be raised over one.
		_, err = f.sns.Subscribe(f.ctx,
			&sns.SubscribeInput{
				TopicArn: standard, Protocol: aws.String("http"),
				Endpoint: aws.String("http://example.com/"),
			})
		got(f, 0, err)
		got(f, 0, f.setTopic(standard, "MaximumMessageSize", "262144"))
		f.invalid(f.setTopic(standard, "MaximumMessageSize", "262145"),
			"MaximumMessageSize Reason: a topic with a MaximumMessageSize above 262144 does not support http "+
				"subscriptions")
	})
}

func TestSNSSubscriptionLimits(t *testing.T) {
	runTopics(t, "a hundred subscriptions of FIFO topics and of topics for large messages, 200 filters",
		func(f *topics) {
			if f.local == nil {
				f.Skip("makes hundreds of subscriptions")
			}
			fifo, large, filtered := f.topic(true), f.topic(false), f.topic(false)
			got(f, 0, f.setTopic(large, "MaximumMessageSize", "1048576"))
			subscribe := func(topic *string, i int, attributes map[string]string) error {
				queue := fmt.Sprintf("arn:aws:sqs:%s:%s:q%d", f.region, f.account, i)
				_, err := f.sns.Subscribe(f.ctx,
					&sns.SubscribeInput{
						TopicArn: topic, Protocol: aws.String("sqs"), Endpoint: &queue,
						Attributes: attributes,
					})
				return err
			}
			for i := range 100 {
				got(f, 0, subscribe(fifo, i, nil))
				got(f, 0, subscribe(large, i, nil))
			}
			f.refusedAs(subscribe(fifo, 100, nil), 403, "SubscriptionLimitExceeded", "Subscription limit exceeded")
			f.invalid(subscribe(large, 100, nil),
				"TopicArn Reason: a topic with a MaximumMessageSize above 262144 must have 100 or fewer subscriptions")
			policy := map[string]string{"FilterPolicy": `{"a":["b"]}`}
			for i := range 200 {
				got(f, 0, subscribe(filtered, i, policy))
			}
			f.refusedAs(subscribe(filtered, 200, policy), 403, "FilterPolicyLimitExceeded",
				"Filter policy limit exceeded")
			got(f, 0, subscribe(filtered, 200, nil))
			f.invalid(f.setTopic(filtered, "MaximumMessageSize", "1048576"),
				"MaximumMessageSize Reason: a topic with a MaximumMessageSize above 262144 must have 100 or fewer "+
					"subscriptions")
		})
}

func TestSNSSubscriptionsEnd(t *testing.T) {
	runTopics(t, "unsubscribing twice succeeds, and ends deliveries", func(f *topics) {
		topic, q := f.topic(false), f.inbox(false)
		sub := f.subscribe(topic, q, asRaw())
		for range 2 {
			_, err := f.sns.Unsubscribe(f.ctx, &sns.UnsubscribeInput{SubscriptionArn: sub})
			got(f, 0, err)
		}
		f.publish(&sns.PublishInput{TopicArn: topic, Message: aws.String("m")})
		q.take(0)
		f.refusedAs(f.setSubscription(sub, "RawMessageDelivery", "true"), 404, "NotFound",
			"Subscription does not exist")
		for arn, fault := range map[string]string{
			"randomstring": "SubscriptionArn Reason: An ARN must have at least 6 " +
				"elements, not 1",
			"arn:aws:sns:us-east-1:random": "SubscriptionArn Reason: An ARN must have at least 6 " +
				"elements, not 5",
			"arn:aws:sns:us-east-1:111111111111:random": "SubscriptionId",
			*topic: "SubscriptionId",
		} {
			_, err := f.sns.Unsubscribe(f.ctx, &sns.UnsubscribeInput{SubscriptionArn: &arn})
			f.invalid(err, fault)
			_, err = f.sns.GetSubscriptionAttributes(f.ctx, &sns.GetSubscriptionAttributesInput{SubscriptionArn: &arn})
			f.invalid(err, fault)
			f.invalid(f.setSubscription(&arn, "RawMessageDelivery", "true"), fault)
		}
		_, err := f.sns.Unsubscribe(f.ctx, &sns.UnsubscribeInput{SubscriptionArn: noSubscription(topic)})
		got(f, 0, err)
		_, err = f.sns.GetSubscriptionAttributes(f.ctx,
			&sns.GetSubscriptionAttributesInput{SubscriptionArn: noSubscription(topic)})
		f.refusedAs(err, 404, "NotFound", "Subscription does not exist")
	})
}

func TestSNSSubscriptionsAreListedInPages(t *testing.T) {
	runTopics(t, "by topic and altogether, a hundred a page", func(f *topics) {
		if f.local == nil {
			f.Skip("makes a hundred subscriptions")
		}
		topic, other := f.topic(false), f.topic(false)
		subscribe := func(topic *string, i int) string {
			queue := fmt.Sprintf("arn:aws:sqs:%s:%s:q%d", f.region, f.account, i)
			out, err := f.sns.Subscribe(f.ctx,
				&sns.SubscribeInput{TopicArn: topic, Protocol: aws.String("sqs"), Endpoint: &queue})
			return *got(f, out, err).SubscriptionArn + " " + queue
		}
		var ofTopic, all []string
		for i := range 101 {
			ofTopic = append(ofTopic, subscribe(topic, i))
		}
		all = append(append(all, ofTopic...), subscribe(other, 0))
		var pages []int
		list := func(next func(token *string) (*sns.ListSubscriptionsByTopicOutput, error)) (listed []string) {
			var token *string
			for {
				out, err := next(token)
				got(f, 0, err)
				pages = append(pages, len(out.Subscriptions))
				for _, sub := range out.Subscriptions {
					listed = append(listed, *sub.SubscriptionArn+" "+*sub.Endpoint)
					if *sub.Owner != f.account || *sub.Protocol != "sqs" ||
						!strings.HasPrefix(*sub.SubscriptionArn, *sub.TopicArn+":") {
						f.Errorf("listed %v", sub)
					}
				}
				if token = out.NextToken; token == nil {
					return listed
				}
			}
		}
		byTopic := list(func(token *string) (*sns.ListSubscriptionsByTopicOutput, error) {
			return f.sns.ListSubscriptionsByTopic(f.ctx,
				&sns.ListSubscriptionsByTopicInput{TopicArn: topic, NextToken: token})
		})
		if diff := cmp.Diff(ofTopic, byTopic); diff != "" {
			f.Error(diff)
		}
		together := list(func(token *string) (*sns.ListSubscriptionsByTopicOutput, error) {
			out, err := f.sns.ListSubscriptions(f.ctx, &sns.ListSubscriptionsInput{NextToken: token})
			if err != nil {
				return nil, err
			}
			return &sns.ListSubscriptionsByTopicOutput{Subscriptions: out.Subscriptions, NextToken: out.NextToken}, nil
		})
		if diff := cmp.Diff(all, together); diff != "" {
			f.Error(diff)
		}
		if diff := cmp.Diff([]int{100, 1, 100, 2}, pages); diff != "" {
			f.Errorf("pages: %s", diff)
		}
		_, err := f.sns.ListSubscriptions(f.ctx, &sns.ListSubscriptionsInput{NextToken: aws.String("bm9uc2Vuc2U=")})
		f.invalid(err, "NextToken")
	})
}

func TestSNSSubscriptionAttributesAreSet(t *testing.T) {
	runTopics(t, "set, shown and refused", func(f *topics) {
		topic, q, dead := f.topic(false), f.inbox(false), f.inbox(false)
		sub := f.subscribe(topic, q, nil)
		redrive := `{"deadLetterTargetArn":"` + dead.arn + `"}`
		nested := `{"object":{"key":[{"prefix":"auto-"}]}}`
		parse := "failed to parse JSON. Unexpected character ('i' (code 105)): was expecting double-quote to start " +
			"field name\n at [Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: 1, " +
			"column: 2]"
		for _, c := range []struct {
			name, value, fault string
			shown              map[string]string
		}{
			{
				"RawMessageDelivery", "test-ValUe",
				"RawMessageDelivery: Invalid value [test-ValUe]. Must be true or false.", nil,
			},
			{"RawMessageDelivery", "", "RawMessageDelivery: Invalid value []. Must be true or false.", nil},
			{"RawMessageDelivery", "TrUe", "", map[string]string{"RawMessageDelivery": "true"}},
			{"FakeAttribute", "test-value", "AttributeName", nil},
			{"SubscriptionRoleArn", "x", "SubscriptionRoleArn is only supported for firehose subscriptions", nil},
			{"DeliveryPolicy", "{}", "DeliveryPolicy is only supported for http and https subscriptions", nil},
			{
				"RedrivePolicy", `{"deadLetterTargetArn": "fake-arn"}`,
				"RedrivePolicy: deadLetterTargetArn is an invalid arn", nil,
			},
			{"RedrivePolicy", "{invalidjson}", "RedrivePolicy: " + parse, nil},
			{
				"RedrivePolicy", `{"deadLetterTargetArn":"` + dead.arn + `.fifo"}`,
				"RedrivePolicy: must use a standard queue as DLQ for a subscription to a standard topic.", nil,
			},
			{"RedrivePolicy", redrive, "", map[string]string{"RedrivePolicy": redrive}},
			{"RedrivePolicy", "", "", map[string]string{}},
			{"FilterPolicy", "{invalidjson}", "FilterPolicy: " + parse, nil},
			{
				"FilterPolicy", nested, "Filter policy scope MessageAttributes does not support nested filter policy",
				nil,
			},
			{
				"FilterPolicy", `{"key_a":"value_one"}`,
				"FilterPolicy: \"key_a\" must be an object or an array\n at [Source: " +
					"(String)\"{\"key_a\":\"value_one\"}\"; line: 1, column: 11]", nil,
			},
			{
				"FilterPolicyScope", "RandomValue",
				"FilterPolicyScope: Invalid value [RandomValue]. Please use either MessageBody or MessageAttributes",
				nil,
			},
			// The scope is shown with a policy only.
			{"FilterPolicyScope", "MessageBody", "", map[string]string{}},
			{"FilterPolicy", nested, "", map[string]string{"FilterPolicy": nested, "FilterPolicyScope": "MessageBody"}},
			{
				"FilterPolicy", `{"a":{"b":{"c":[1,2,3,4]}},"d":{"e":[1,2,3]},"f":[1,2,3]}`,
				"FilterPolicy: Filter policy is too complex", nil,
			},
			{
				"FilterPolicy", `{"a":[1],"b":[1],"c":[1],"d":[1],"e":[1],"f":[1]}`,
				"FilterPolicy: Filter policy can not have more than 5 keys", nil,
			},
			{"FilterPolicy", "{}", "", map[string]string{}},
			{"FilterPolicy", nested, "", map[string]string{"FilterPolicy": nested, "FilterPolicyScope": "MessageBody"}},
			{"FilterPolicy", "", "", map[string]string{}},
		} {
			err := f.setSubscription(sub, c.name, c.value)
			if c.fault != "" {
				f.invalid(err, c.fault)
				continue
			}
			got(f, 0, err)
			names := []string{c.name}
			if strings.HasPrefix(c.name, "Filter") {
				names = []string{"FilterPolicy", "FilterPolicyScope"}
			}
			if diff := cmp.Diff(c.shown, onlyOf(f.subscriptionAttributes(sub), names...)); diff != "" {
				f.Errorf("%s=%s: %s", c.name, c.value, diff)
			}
		}
	})
}

func TestSNSDeadLetterQueueOfAFIFOSubscriptionIsFIFO(t *testing.T) {
	runTopics(t, "a FIFO queue on a FIFO topic wants a FIFO dead-letter queue", func(f *topics) {
		topic := f.topic(true)
		ordered, standard := f.subscribe(topic, f.inbox(true), nil), f.subscribe(topic, f.inbox(false), nil)
		dead := `{"deadLetterTargetArn":"` + f.inbox(false).arn + `"}`
		f.invalid(f.setSubscription(ordered, "RedrivePolicy", dead),
			"RedrivePolicy: must use a FIFO queue as DLQ for a FIFO Subscription to a FIFO Topic.")
		got(f, 0, f.setSubscription(standard, "RedrivePolicy", dead))
		got(f, 0, f.setSubscription(ordered, "RedrivePolicy", `{"deadLetterTargetArn":"`+f.inbox(true).arn+`"}`))
	})
}

func TestSNSSubscriptionOfAnURLWaitsForConfirmation(t *testing.T) {
	runTopics(t, "http endpoints are pending, and their delivery policies shown", func(f *topics) {
		if f.local == nil {
			f.Skip("the endpoint is nobody's")
		}
		topic := f.topic(false)
		subscribe := func(path string, whole bool, attributes map[string]string) *string {
			out, err := f.sns.Subscribe(f.ctx,
				&sns.SubscribeInput{
					TopicArn: topic, Protocol: aws.String("http"),
					Endpoint: aws.String("http://localhost:1/" + path), ReturnSubscriptionArn: whole,
					Attributes: attributes,
				})
			return got(f, out, err).SubscriptionArn
		}
		if arn := subscribe("a", false, nil); *arn != "pending confirmation" {
			f.Errorf("answered %s", *arn)
		}
		sub := subscribe("b", true,
			map[string]string{"DeliveryPolicy": `{"healthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":1,"numRetries":0},"throttlePolicy":{"maxReceivesPerSecond":1000}}`})
		shown := f.subscriptionAttributes(sub)
		if diff := cmp.Diff(map[string]string{"PendingConfirmation": "true", "ConfirmationWasAuthenticated": "false"},
			onlyOf(shown, "PendingConfirmation", "ConfirmationWasAuthenticated")); diff != "" {
			f.Error(diff)
		}
		retry := `"healthyRetryPolicy":{"minDelayTarget":1,"maxDelayTarget":1,"numRetries":0,"numMaxDelayRetries":0,"numNoDelayRetries":0,"numMinDelayRetries":0,"backoffFunction":"linear"},"sicklyRetryPolicy":null,"throttlePolicy":{"maxReceivesPerSecond":1000}`
		for name, want := range map[string]string{
			"DeliveryPolicy": `{` + retry + `,"requestPolicy":null,"guaranteed":false}`,
			"EffectiveDeliveryPolicy": `{` + retry +
				`,"requestPolicy":{"headerContentType":"text/plain; charset=UTF-8"},"guaranteed":false}`,
		} {
			if diff := cmp.Diff(decodedJSON(f, want), decodedJSON(f, shown[name])); diff != "" {
				f.Errorf("%s: %s", name, diff)
			}
		}
		out, err := f.sns.ListSubscriptionsByTopic(f.ctx, &sns.ListSubscriptionsByTopicInput{TopicArn: topic})
		if got(f, out, err); *out.Subscriptions[0].SubscriptionArn != "PendingConfirmation" {
			f.Errorf("listed as %s", *out.Subscriptions[0].SubscriptionArn)
		}
		if n := f.topicAttributes(topic)["SubscriptionsPending"]; n != "2" {
			f.Errorf("%s pending", n)
		}
		_, err = f.sns.Unsubscribe(f.ctx, &sns.UnsubscribeInput{SubscriptionArn: sub})
		f.invalid(err, "This subscription is pending confirmation and cannot be deleted")
	})
}

func TestSNSConfirmSubscription(t *testing.T) {
	runTopics(t, "a token confirms, again and again", func(f *topics) {
		topic := f.topic(false)
		confirm := func(arn, token string) (*sns.ConfirmSubscriptionOutput, error) {
			return f.sns.ConfirmSubscription(f.ctx,
				&sns.ConfirmSubscriptionInput{
					TopicArn: &arn, Token: &token,
					AuthenticateOnUnsubscribe: aws.String("true"),
				})
		}
		absent := strings.Repeat("0123456789abcdef", 18)
		_, err := confirm(*topic, "randomtoken")
		f.refusedAs(err, 400, "InvalidParameter", "Invalid token")
		_, err = confirm(*topic, absent)
		f.invalid(err, "Token")
		_, err = confirm(*topic, "abc123")
		f.invalid(err, "Token")
		_, err = confirm("arn:aws:sns:mars-north-1:"+f.account+":t", absent)
		f.invalid(err, "Topic")
		_, err = confirm("not-an-arn", absent)
		f.invalid(err, "Topic")
		if f.local == nil {
			return
		}
		_, err = f.sns.Subscribe(f.ctx,
			&sns.SubscribeInput{
				TopicArn: topic, Protocol: aws.String("https"),
				Endpoint: aws.String("https://localhost:1/"),
			})
		got(f, 0, err)
		pending := f.local.SNS().Pending()
		if len(pending) != 1 {
			f.Fatalf("pending: %v", pending)
		}
		// SNS does not check that the topic is the token's.
		for _, arn := range []string{*topic + "x", *topic} {
			out, err := confirm(arn, pending[0].Token)
			if got(f, out, err); *out.SubscriptionArn != pending[0].ARN {
				f.Errorf("confirmed %s", *out.SubscriptionArn)
			}
		}
		if n := f.topicAttributes(topic)["SubscriptionsConfirmed"]; n != "1" {
			f.Errorf("%s confirmed", n)
		}
	})
}

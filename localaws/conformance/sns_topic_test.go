package conformance

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/google/go-cmp/cmp"
)

// CreateTopic always returns the same ARN.
func TestSNSTopicIsCreatedOnce(t *testing.T) {
	runTopics(t, "topic is created once", func(f *topics) {
		name := f.fresh()
		a, err := f.create(name, map[string]string{"DisplayName": "d", "FifoTopic": "false"},
			types.Tag{Key: aws.String("k"), Value: aws.String("v")}, types.Tag{
				Key:   aws.String("l"),
				Value: aws.String("w"),
			})
		got(f, 0, err)
		if want := "arn:aws:sns:" + f.region + ":" + f.account + ":" + name; *a != want {
			f.Errorf("got %s, want %s", *a, want)
		}
		again := []*sns.CreateTopicInput{
			{},
			{Attributes: map[string]string{"DisplayName": "d"}},
			{Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}},
		}
		for _, in := range again {
			in.Name = &name
			out, err := f.sns.CreateTopic(f.ctx, in)
			if got(f, out, err); *out.TopicArn != *a {
				f.Errorf("created again as %s", *out.TopicArn)
			}
		}
		_, err = f.create(name, map[string]string{"DisplayName": "e"})
		f.invalid(err, "Attributes Reason: Topic already exists with different attributes")
		_, err = f.create(name, nil, types.Tag{Key: aws.String("k"), Value: aws.String("other")})
		f.invalid(err, "Tags Reason: Topic already exists with different tags")
		_, err = f.create(name, nil, types.Tag{Key: aws.String("more"), Value: aws.String("v")})
		f.invalid(err, "Tags Reason: Topic already exists with different tags")
	})
}

// Creating a topic again keeps attributes that were set later.
func TestSNSTopicCreatedAgainStaysAsItIs(t *testing.T) {
	runTopics(t, "topic created again stays as it is", func(f *topics) {
		name := f.fresh()
		arn, err := f.create(name, nil)
		got(f, 0, err)
		got(f, 0, f.setTopic(arn, "DisplayName", "AlreadySet"))
		_, err = f.create(name, nil)
		got(f, 0, err)
		if name := f.topicAttributes(arn)["DisplayName"]; name != "AlreadySet" {
			f.Errorf("DisplayName is %q", name)
		}
	})
}

func TestSNSTopicNames(t *testing.T) {
	runTopics(t, "topic names", func(f *topics) {
		fifo := map[string]string{"FifoTopic": "true"}
		_, err := f.create(strings.Repeat("a", 256), nil)
		got(f, 0, err)
		_, err = f.create(f.fresh()+"_X-1.fifo", fifo)
		got(f, 0, err)
		for name, attributes := range map[string]map[string]string{
			"": nil, strings.Repeat("a", 257): nil, "bad:name": nil, "bad;name": nil, "bad!name": nil, "bad@name": nil,
			"bad|name": nil,
			"bad^name": nil, "bad%name": nil, "bad name": nil, "dot.name": nil, "name.fifo": nil, "no-suffix": fifo,
			"two.dots.fifo": fifo, ".fifo": fifo,
		} {
			_, err := f.create(name, attributes)
			f.invalid(err, "Topic Name")
		}
	})
}

func TestSNSTopicIsDeletedOnceAndForAll(t *testing.T) {
	runTopics(t, "topic is deleted once and for all", func(f *topics) {
		topic, q := f.topic(false), f.inbox(false)
		sub := f.subscribe(topic, q, nil)
		for range 2 {
			_, err := f.sns.DeleteTopic(f.ctx, &sns.DeleteTopicInput{TopicArn: topic})
			got(f, 0, err)
		}
		_, err := f.sns.GetTopicAttributes(f.ctx, &sns.GetTopicAttributesInput{TopicArn: topic})
		f.refusedAs(err, 404, "NotFound", "Topic does not exist")
		_, err = f.sns.GetSubscriptionAttributes(f.ctx, &sns.GetSubscriptionAttributesInput{SubscriptionArn: sub})
		f.refusedAs(err, 404, "NotFound", "Subscription does not exist")
	})
}

// Every action returns the same error for a topic that does not exist, or for an invalid ARN.
func TestSNSTopicsThatAreNone(t *testing.T) {
	runTopics(t, "topics that are none", func(f *topics) {
		absent := "arn:aws:sns:" + f.region + ":" + f.account + ":" + f.fresh()
		actions := map[string]func(arn *string) error{
			"GetTopicAttributes": func(arn *string) error {
				_, err := f.sns.GetTopicAttributes(f.ctx, &sns.GetTopicAttributesInput{TopicArn: arn})
				return err
			},
			"SetTopicAttributes": func(arn *string) error { return f.setTopic(arn, "DisplayName", "d") },
			"Subscribe": func(arn *string) error {
				_, err := f.sns.Subscribe(f.ctx,
					&sns.SubscribeInput{
						TopicArn: arn, Protocol: aws.String("sqs"),
						Endpoint: aws.String("arn:aws:sqs:us-east-1:" + f.account + ":q"),
					})
				return err
			},
			"ListSubscriptionsByTopic": func(arn *string) error {
				_, err := f.sns.ListSubscriptionsByTopic(f.ctx, &sns.ListSubscriptionsByTopicInput{TopicArn: arn})
				return err
			},
			"Publish": func(arn *string) error {
				_, err := f.sns.Publish(f.ctx, &sns.PublishInput{TopicArn: arn, Message: aws.String("m")})
				return err
			},
			"PublishBatch": func(arn *string) error {
				_, err := f.sns.PublishBatch(f.ctx,
					&sns.PublishBatchInput{
						TopicArn: arn,
						PublishBatchRequestEntries: []types.PublishBatchRequestEntry{{
							Id:      aws.String("1"),
							Message: aws.String("m"),
						}},
					})
				return err
			},
			"AddPermission": func(arn *string) error {
				_, err := f.sns.AddPermission(f.ctx,
					&sns.AddPermissionInput{
						TopicArn: arn, Label: aws.String("l"), AWSAccountId: []string{f.account},
						ActionName: []string{"Publish"},
					})
				return err
			},
			"RemovePermission": func(arn *string) error {
				_, err := f.sns.RemovePermission(f.ctx,
					&sns.RemovePermissionInput{TopicArn: arn, Label: aws.String("l")})
				return err
			},
			"DeleteTopic": func(arn *string) error {
				_, err := f.sns.DeleteTopic(f.ctx, &sns.DeleteTopicInput{TopicArn: arn})
				return err
			},
		}
		for name, call := range actions {
			f.invalid(call(aws.String("randomstring")), "TopicArn Reason: An ARN must have at least 6 elements, not 1")
			f.invalid(call(aws.String("randomstring:1")),
				"TopicArn Reason: An ARN must have at least 6 elements, not 2")
			f.invalid(call(aws.String("arn:aws:sns:mars-north-1:"+f.account+":t")), "TopicArn")
			if name == "DeleteTopic" {
				got(f, 0, call(&absent))
				continue
			}
			f.refusedAs(call(&absent), 404, "NotFound", "Topic does not exist")
		}
	})
}

func TestSNSTopicsAreListedInPages(t *testing.T) {
	runTopics(t, "topics are listed in pages", func(f *topics) {
		var made []string
		for range 105 {
			made = append(made, *f.topic(false))
		}
		var listed []string
		var token *string
		for pages := 0; pages == 0 || token != nil; pages++ {
			out, err := f.sns.ListTopics(f.ctx, &sns.ListTopicsInput{NextToken: token})
			got(f, 0, err)
			if len(out.Topics) > 100 || out.NextToken != nil && len(out.Topics) != 100 {
				f.Fatalf("a page of %d", len(out.Topics))
			}
			for _, topic := range out.Topics {
				listed = append(listed, *topic.TopicArn)
			}
			token = out.NextToken
		}
		for _, arn := range made {
			if n := len(slices.DeleteFunc(slices.Clone(listed), func(x string) bool { return x != arn })); n != 1 {
				f.Errorf("%s is listed %d times", arn, n)
			}
		}
		_, err := f.sns.ListTopics(f.ctx, &sns.ListTopicsInput{NextToken: aws.String("nonsense")})
		f.invalid(err, "NextToken")
	})
}

func TestSNSTopicAttributesOfANewTopic(t *testing.T) {
	runTopics(t, "topic attributes of a new topic", func(f *topics) {
		topic := f.topic(true)
		shown := f.topicAttributes(topic)
		want := map[string]string{
			"TopicArn": *topic, "Owner": f.account, "DisplayName": "", "FifoTopic": "true",
			"ContentBasedDeduplication": "false",
			"SubscriptionsConfirmed":    "0", "SubscriptionsPending": "0", "SubscriptionsDeleted": "0",
		}
		policies := map[string]string{
			"Policy": `{"Version":"2008-10-17","Id":"__default_policy_ID","Statement":[{"Sid":"__default_statement_ID","Effect":"Allow","Principal":{"AWS":"*"},` +
				`"Action":["SNS:GetTopicAttributes","SNS:SetTopicAttributes","SNS:AddPermission","SNS:RemovePermission","SNS:DeleteTopic","SNS:Subscribe","SNS:ListSubscriptionsByTopic","SNS:Publish"],` +
				`"Resource":"` + *topic + `","Condition":{"StringEquals":{"AWS:SourceOwner":"` + f.account + `"}}}]}`,
			"EffectiveDeliveryPolicy": `{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":20,"maxDelayTarget":20,"numRetries":3,"numMaxDelayRetries":0,"numNoDelayRetries":0,"numMinDelayRetries":0,"backoffFunction":"linear"},` +
				`"disableSubscriptionOverrides":false,"defaultRequestPolicy":{"headerContentType":"text/plain; charset=UTF-8"}}}`,
		}
		for name, policy := range policies {
			if diff := cmp.Diff(decodedJSON(f, policy), decodedJSON(f, shown[name])); diff != "" {
				f.Errorf("%s: %s", name, diff)
			}
			delete(shown, name)
		}
		if diff := cmp.Diff(want, shown); diff != "" {
			f.Error(diff)
		}
		standard := f.topicAttributes(f.topic(false))
		if diff := cmp.Diff(map[string]string{},
			onlyOf(standard, "FifoTopic", "ContentBasedDeduplication", "SignatureVersion", "DeliveryPolicy",
				"MaximumMessageSize", "KmsMasterKeyId")); diff != "" {
			f.Errorf("a standard topic shows %s", diff)
		}
	})
}

func TestSNSTopicCountsSubscriptions(t *testing.T) {
	runTopics(t, "topic counts subscriptions", func(f *topics) {
		topic := f.topic(false)
		sub := f.subscribe(topic, f.inbox(false), nil)
		f.subscribe(topic, f.inbox(false), nil)
		_, err := f.sns.Unsubscribe(f.ctx, &sns.UnsubscribeInput{SubscriptionArn: sub})
		got(f, 0, err)
		want := map[string]string{
			"SubscriptionsConfirmed": "1", "SubscriptionsPending": "0",
			"SubscriptionsDeleted": "1",
		}
		if diff := cmp.Diff(want,
			onlyOf(f.topicAttributes(topic), "SubscriptionsConfirmed", "SubscriptionsPending",
				"SubscriptionsDeleted")); diff != "" {
			f.Error(diff)
		}
	})
}

func TestSNSTopicAttributesAreSet(t *testing.T) {
	runTopics(t, "topic attributes are set", func(f *topics) {
		standard, fifo := f.topic(false), f.topic(true)
		for _, c := range []struct {
			topic       *string
			name, value string
			fault       string // "": accepted and shown
		}{
			{standard, "DisplayName", "name", ""},
			{standard, "DisplayName", strings.Repeat("x", 101), "DisplayName"},
			{standard, "SignatureVersion", "2", ""},
			{standard, "SignatureVersion", "3", "SignatureVersion"},
			{standard, "TracingConfig", "Active", ""},
			{standard, "TracingConfig", "Passive", "TracingConfig"},
			{standard, "KmsMasterKeyId", "alias/aws/sns", ""},
			{standard, "SQSSuccessFeedbackRoleArn", "arn:aws:iam::000000000000:role/r", ""},
			{standard, "SQSSuccessFeedbackSampleRate", "100", ""},
			{standard, "SQSSuccessFeedbackSampleRate", "101", "SQSSuccessFeedbackSampleRate"},
			{standard, "HTTPFailureFeedbackRoleArn", "arn:aws:iam::000000000000:role/r", ""},
			{standard, "LambdaSuccessFeedbackRoleArn", "arn:aws:iam::000000000000:role/r", ""},
			{standard, "FirehoseFailureFeedbackRoleArn", "arn:aws:iam::000000000000:role/r", ""},
			{standard, "ApplicationSuccessFeedbackSampleRate", "0", ""},
			{standard, "MaximumMessageSize", "1024", ""},
			{standard, "MaximumMessageSize", "1048576", ""},
			{standard, "MaximumMessageSize", "1023", "MaximumMessageSize Reason: must be between 1024 and 1048576"},
			{standard, "MaximumMessageSize", "1048577", "MaximumMessageSize Reason: must be between 1024 and 1048576"},
			{standard, "ContentBasedDeduplication", "true", "ContentBasedDeduplication"},
			{standard, "FifoThroughputScope", "Topic", "FifoThroughputScope"},
			{standard, "FifoTopic", "false", "AttributeName"},
			{standard, "Nonsense", "x", "AttributeName"},
			{
				standard, "Policy",
				`{"Version":"2012-10-17","Statement":[{"Sid":"x","Effect":"Allow","Principal":"*","Action":"SNS:Publish","Resource":"` + *standard + `"}]}`, "",
			},
			{standard, "Policy", "nonsense", "Policy Error: null"},
			{fifo, "ContentBasedDeduplication", "true", ""},
			{fifo, "ContentBasedDeduplication", "maybe", "ContentBasedDeduplication"},
			{fifo, "FifoThroughputScope", "MessageGroup", ""},
			{fifo, "FifoThroughputScope", "Queue", "FifoThroughputScope"},
			{fifo, "ArchivePolicy", `{"MessageRetentionPeriod":"30"}`, "ArchivePolicy is not supported by this server"},
		} {
			err := f.setTopic(c.topic, c.name, c.value)
			if c.fault != "" {
				f.invalid(err, c.fault)
				continue
			}
			got(f, 0, err)
			if value := f.topicAttributes(c.topic)[c.name]; value != c.value {
				f.Errorf("%s is %q, want %q", c.name, value, c.value)
			}
		}
		_, err := f.create(f.fresh(), map[string]string{"SignatureVersion": "3"})
		f.invalid(err, "Attributes Reason: SignatureVersion")
		_, err = f.create(f.fresh(), map[string]string{"Nonsense": "x"})
		f.invalid(err, "Attributes Reason: Unknown attribute Nonsense")
		_, err = f.sns.CreateTopic(f.ctx,
			&sns.CreateTopicInput{Name: aws.String(f.fresh()), DataProtectionPolicy: aws.String("{}")})
		f.invalid(err, "DataProtectionPolicy is not supported by this server")
	})
}

func TestSNSTopicDeliveryPolicy(t *testing.T) {
	runTopics(t, "topic delivery policy", func(f *topics) {
		topic := f.topic(false)
		shown := func(name string) any {
			f.Helper()
			if text := f.topicAttributes(topic)[name]; text != "" {
				return decodedJSON(f, text)
			}
			return nil
		}
		for _, c := range []struct{ set, kept, effective string }{
			{
				`{"http":{"defaultRequestPolicy":{"headerContentType":"application/json"}}}`,
				`{"http":{"disableSubscriptionOverrides":false,"defaultRequestPolicy":{"headerContentType":"application/json"}}}`,
				`"minDelayTarget":20,"maxDelayTarget":20,"numRetries":3 application/json`,
			},
			{
				`{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":5,"maxDelayTarget":6,"numRetries":1}}}`,
				`{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":5,"maxDelayTarget":6,"numRetries":1},"disableSubscriptionOverrides":false}}`,
				`"minDelayTarget":5,"maxDelayTarget":6,"numRetries":1 text/plain; charset=UTF-8`,
			},
			{
				`{"http":{"defaultHealthyRetryPolicy":null}}`,
				`{"http":{"disableSubscriptionOverrides":false}}`,
				`"minDelayTarget":20,"maxDelayTarget":20,"numRetries":3 text/plain; charset=UTF-8`,
			},
		} {
			got(f, 0, f.setTopic(topic, "DeliveryPolicy", c.set))
			if diff := cmp.Diff(decodedJSON(f, c.kept), shown("DeliveryPolicy")); diff != "" {
				f.Error(diff)
			}
			retry, content, _ := strings.Cut(c.effective, " ")
			effective := `{"http":{"defaultHealthyRetryPolicy":{` + retry +
				`,"numMaxDelayRetries":0,"numNoDelayRetries":0,"numMinDelayRetries":0,"backoffFunction":"linear"},` +
				`"disableSubscriptionOverrides":false,"defaultRequestPolicy":{"headerContentType":"` + content + `"}}}`
			if diff := cmp.Diff(decodedJSON(f, effective), shown("EffectiveDeliveryPolicy")); diff != "" {
				f.Error(diff)
			}
		}
		got(f, 0, f.setTopic(topic, "DeliveryPolicy", ""))
		if shown("DeliveryPolicy") != nil {
			f.Error("a removed policy is shown")
		}
		for policy, fault := range map[string]string{
			`{"http":{"nonsense":1}}`: `DeliveryPolicy: unknown field "nonsense"`,

			`{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":0}}}`:                                         "DeliveryPolicy: healthyRetryPolicy.minDelayTarget must be greater than or equal to 1",
			`{"http":{"defaultHealthyRetryPolicy":{"maxDelayTarget":3601}}}`:                                      "DeliveryPolicy: healthyRetryPolicy.maxDelayTarget must be less than or equal to 3600",
			`{"http":{"defaultHealthyRetryPolicy":{"numRetries":101}}}`:                                           "DeliveryPolicy: healthyRetryPolicy.numRetries must be less than or equal to 100",
			`{"http":{"defaultHealthyRetryPolicy":{"numRetries":1,"numNoDelayRetries":2}}}`:                       "DeliveryPolicy: healthyRetryPolicy.numRetries must be greater than or equal to the sum of its phases, none of them negative",
			`{"http":{"defaultHealthyRetryPolicy":{"backoffFunction":"cubic"}}}`:                                  "DeliveryPolicy: healthyRetryPolicy.backoffFunction must be one of arithmetic, exponential, geometric, linear",
			`{"http":{"defaultHealthyRetryPolicy":{"numRetries":100,"minDelayTarget":100,"maxDelayTarget":100}}}`: "DeliveryPolicy: healthyRetryPolicy retries for longer than 3600 seconds",
			`{"http":{"defaultThrottlePolicy":{"maxReceivesPerSecond":0}}}`:                                       "DeliveryPolicy: throttlePolicy.maxReceivesPerSecond must be greater than or equal to 1",
			`{"http":{"defaultRequestPolicy":{"headerContentType":""}}}`:                                          "DeliveryPolicy: requestPolicy.headerContentType must be a content type",
		} {
			f.invalid(f.setTopic(topic, "DeliveryPolicy", policy), fault)
		}
	})
}

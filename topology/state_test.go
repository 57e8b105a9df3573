package topology_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/snssqs"
	"github.com/godwitmq/godwit/topology"
)

// provider reads an account as Terraform's provider hashicorp/aws does.
type provider struct {
	*world
	conf aws.Config
	sqs  *sqs.Client
	sns  *sns.Client
}

func (w *world) provider() provider {
	conf := aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws.internal"),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient:  &http.Client{Transport: w.b.Server().Transport()},
	}
	return provider{w, conf, sqs.NewFromConfig(conf), sns.NewFromConfig(conf)}
}

// The provider's names of attributes, and which of them it keeps as numbers. It keeps true and false as such.
var (
	queueArguments = map[string]string{
		"QueueArn": "arn", "DeduplicationScope": "deduplication_scope", "DelaySeconds": "delay_seconds",
		"ContentBasedDeduplication": "content_based_deduplication", "FifoQueue": "fifo_queue",
		"FifoThroughputLimit":          "fifo_throughput_limit",
		"KmsDataKeyReusePeriodSeconds": "kms_data_key_reuse_period_seconds", "KmsMasterKeyId": "kms_master_key_id",
		"MaximumMessageSize": "max_message_size", "MessageRetentionPeriod": "message_retention_seconds",
		"Policy": "policy", "ReceiveMessageWaitTimeSeconds": "receive_wait_time_seconds",
		"RedriveAllowPolicy": "redrive_allow_policy", "RedrivePolicy": "redrive_policy",
		"SqsManagedSseEnabled": "sqs_managed_sse_enabled", "VisibilityTimeout": "visibility_timeout_seconds",
	}
	topicArguments = map[string]string{
		"TopicArn": "arn", "DisplayName": "display_name", "FifoThroughputScope": "fifo_throughput_scope",
		"ContentBasedDeduplication": "content_based_deduplication", "FifoTopic": "fifo_topic",
		"KmsMasterKeyId": "kms_master_key_id", "Owner": "owner", "Policy": "policy", "TracingConfig": "tracing_config",
		"SignatureVersion": "signature_version", "SQSFailureFeedbackRoleArn": "sqs_failure_feedback_role_arn",
		"SQSSuccessFeedbackRoleArn":    "sqs_success_feedback_role_arn",
		"SQSSuccessFeedbackSampleRate": "sqs_success_feedback_sample_rate",
	}
	subscriptionArguments = map[string]string{
		"SubscriptionArn": "arn", "TopicArn": "topic_arn", "Endpoint": "endpoint", "Protocol": "protocol",
		"FilterPolicy": "filter_policy", "RawMessageDelivery": "raw_message_delivery",
		"RedrivePolicy": "redrive_policy",
	}
)

// resource is a resource as Terraform keeps it.
type resource = map[string]any

// kept is attributes under the provider's names.
func kept(arguments, attributes map[string]string) resource {
	out := resource{"id": attributes["QueueArn"], "timeouts": nil}
	for name, argument := range arguments {
		value := attributes[name]
		switch n, err := strconv.Atoi(value); {
		case err == nil && argument != "owner":
			out[argument] = n
		case value == "true" || value == "false":
			out[argument] = value == "true"
		default:
			out[argument] = value
		}
	}
	return out
}

// resources reads everything, by type and name.
func (p provider) resources() map[string]map[string]resource {
	p.Helper()
	check := func(err error) {
		p.Helper()
		if err != nil {
			p.Fatal(err)
		}
	}
	queues, topics, subscriptions := map[string]resource{}, map[string]resource{}, map[string]resource{}
	urls, err := p.sqs.ListQueues(p.Context(), &sqs.ListQueuesInput{})
	check(err)
	for _, url := range urls.QueueUrls {
		is, err := p.sqs.GetQueueAttributes(p.Context(), &sqs.GetQueueAttributesInput{
			QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
		})
		check(err)
		tags, err := p.sqs.ListQueueTags(p.Context(), &sqs.ListQueueTagsInput{QueueUrl: &url})
		check(err)
		one, name := kept(queueArguments, is.Attributes), url[strings.LastIndexByte(url, '/')+1:]
		one["name"], one["url"], one["tags"], one["tags_all"] = name, url, nil, tags.Tags
		queues[name] = one
	}
	arns, err := p.sns.ListTopics(p.Context(), &sns.ListTopicsInput{})
	check(err)
	for _, t := range arns.Topics {
		is, err := p.sns.GetTopicAttributes(p.Context(), &sns.GetTopicAttributesInput{TopicArn: t.TopicArn})
		check(err)
		list, err := p.sns.ListTagsForResource(p.Context(), &sns.ListTagsForResourceInput{ResourceArn: t.TopicArn})
		check(err)
		tags := map[string]string{}
		for _, tag := range list.Tags {
			tags[*tag.Key] = *tag.Value
		}
		one, name := kept(topicArguments, is.Attributes), (*t.TopicArn)[strings.LastIndexByte(*t.TopicArn, ':')+1:]
		one["name"], one["tags"] = name, tags
		topics[name] = one
	}
	subs, err := p.sns.ListSubscriptions(p.Context(), &sns.ListSubscriptionsInput{})
	check(err)
	for i, s := range subs.Subscriptions {
		is, err := p.sns.GetSubscriptionAttributes(p.Context(), &sns.GetSubscriptionAttributesInput{
			SubscriptionArn: s.SubscriptionArn,
		})
		check(err)
		subscriptions[fmt.Sprintf("s%d", i)] = kept(subscriptionArguments, is.Attributes)
	}
	return map[string]map[string]resource{
		"aws_sqs_queue": queues, "aws_sns_topic": topics, "aws_sns_topic_subscription": subscriptions,
		"aws_sns_topic_policy": {"p": {"arn": "x", "policy": "{}"}},
	}
}

// pulled is what terraform state pull writes.
func (p provider) pulled() []byte {
	var all []any
	for kind, some := range p.resources() {
		for name, one := range some {
			all = append(all, map[string]any{
				"mode": "managed", "type": kind, "name": name,
				"provider":  `provider["registry.terraform.io/hashicorp/aws"]`,
				"instances": []any{map[string]any{"schema_version": 0, "attributes": one}},
			})
		}
	}
	all = append(all, map[string]any{
		"mode": "data", "type": "aws_sqs_queue", "name": "other", "provider": "",
		"instances": []any{map[string]any{
			"attributes": resource{"name": "only-read", "arn": "arn:aws:sqs:a:1:only-read"},
		}},
	})
	return p.written(map[string]any{
		"version": 4, "terraform_version": "1.11.4", "serial": 3, "lineage": "a", "outputs": resource{},
		"resources": all,
	})
}

// shown is what terraform show -json prints; half of the resources are in a module.
func (p provider) shown() []byte {
	var root, inner []any
	for kind, some := range p.resources() {
		for name, one := range some {
			entry := map[string]any{
				"address": kind + "." + name, "mode": "managed", "type": kind, "name": name, "values": one,
			}
			if root, inner = inner, append(root, entry); len(name)%2 == 0 {
				root, inner = inner, root
			}
		}
	}
	return p.written(map[string]any{
		"format_version": "1.0", "terraform_version": "1.11.4",
		"values": map[string]any{"root_module": map[string]any{
			"resources": root,
			"child_modules": []any{map[string]any{"address": "module.queues", "child_modules": []any{
				map[string]any{"address": "module.queues.module.inner", "resources": inner},
			}}},
		}},
	})
}

func (p provider) written(v any) []byte {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		p.Fatal(err)
	}
	return text
}

// foreign makes resources that Godwit has not made.
func (p provider) foreign(r *rand.Rand) {
	p.Helper()
	check := func(err error) {
		p.Helper()
		if err != nil {
			p.Fatal(err)
		}
	}
	fifo := []string{"", ".fifo"}[r.IntN(2)]
	queue := func(name string, attributes map[string]string) (url, arn string) {
		if name += fifo; fifo != "" {
			attributes["FifoQueue"] = "true"
		}
		q, err := p.sqs.CreateQueue(p.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
		check(err)
		return *q.QueueUrl, "arn:aws:sqs:us-east-1:000000000000:" + name
	}
	_, dead := queue("legacy_dead", map[string]string{"MessageRetentionPeriod": "86400"})
	_, arn := queue("legacy--jobs_", map[string]string{
		"VisibilityTimeout": fmt.Sprint(r.IntN(100)), "DelaySeconds": fmt.Sprint(r.IntN(900)),
		"MessageRetentionPeriod": fmt.Sprint(3600 + r.IntN(1000)),
		"RedrivePolicy":          fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"%d"}`, dead, 1+r.IntN(9)),
	})
	_, _ = queue("c1", map[string]string{"KmsMasterKeyId": "alias/a"}) // a name that is declared
	name, attributes := "legacy-events"+fifo, map[string]string{}
	if fifo != "" {
		attributes["FifoTopic"] = "true"
	}
	t, err := p.sns.CreateTopic(p.Context(), &sns.CreateTopicInput{Name: &name, Attributes: attributes})
	check(err)
	_, err = p.sns.Subscribe(p.Context(), &sns.SubscribeInput{
		TopicArn: t.TopicArn, Protocol: aws.String("sqs"), Endpoint: &arn,
		Attributes: map[string]string{"FilterPolicy": `{"routing_key":["A",{"prefix":"B."}]}`},
	})
	check(err)
}

// open is a backend for a declaration with existing resources.
func (p provider) open(s *topology.Spec) *snssqs.Backend {
	p.Helper()
	names := map[string]snssqs.Resource{}
	for name, e := range s.Exchanges {
		if e.Topic != "" {
			names[name+".*"] = snssqs.Resource{Topic: e.Topic}
		}
	}
	for name, c := range s.Channels {
		if c.Queue != "" {
			names[name] = snssqs.Resource{Queue: c.Queue, DeadLetters: c.DeadLetters}
		}
	}
	b, err := snssqs.Open(p.Context(), &snssqs.Options{
		Namespace: s.Namespace, Names: names, AWS: &p.conf, Transport: p.b.Server().Transport(),
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		p.Fatal(err)
	}
	return b
}

// A declaration is imported from a state of Terraform, of both forms, with resources that Godwit has not made. Its plan
// is empty. If the declaration gets another name, the plan changes only the tag.
func TestImportTerraform(t *testing.T) {
	for seed := range uint64(fullrun.Pick(12, 500)) {
		inWorld(t, func(w *world) {
			r, p := rand.New(rand.NewPCG(seed, 6)), w.provider()
			s := random(r)
			s.Namespace = "prod"
			w.apply(s, nil)
			p.foreign(r)
			var formatted []string
			for _, state := range [][]byte{p.pulled(), p.shown()} {
				found, err := topology.ImportTerraform(state, "random", "prod")
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				formatted = append(formatted, string(topology.Format(found)))
			}
			if formatted[0] != formatted[1] {
				t.Errorf("seed %d: the two forms differ:\n%s\n%s", seed, formatted[0], formatted[1])
			}
			read, err := topology.Read("imported.yaml", []byte(formatted[0]))
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, formatted[0])
			}
			if len(read.Channels) != len(s.Channels)+2 || len(read.Exchanges) != len(s.Exchanges)+1 ||
				len(read.Channels["legacy-events.legacy-jobs"].Filter.Prefix) != 1 {
				t.Errorf("seed %d: of %d channels:\n%s", seed, len(s.Channels), formatted[0])
			}
			b := p.open(read)
			for name, want := range map[string]string{"random": "", "other": "tag topology"} {
				read.Name = name
				c, err := topology.Plan(w.Context(), b, read)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				for _, step := range c.Steps {
					if want == "" || step.Attribute != want {
						t.Errorf("seed %d, named %s: %+v", seed, name, step)
					}
				}
			}
			if err := b.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		if t.Failed() {
			return
		}
	}
}

// The state that Terraform has after it applied the export of a declaration says that declaration. The file of testdata
// has a queue in a module with an index, and a redrive policy that is a resource of its own.
func TestImportTerraformFile(t *testing.T) {
	state := readFile(t, "testdata/shop.tfstate")
	s, err := topology.ImportTerraform(state, "shop", "prod")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/shop.imported.yaml", string(topology.Format(s)))
	if s, err = topology.ImportTerraform(state, "shop", "test"); err != nil || len(s.Channels) != 1 {
		t.Errorf("another namespace has %d channels, %v", len(s.Channels), err)
	}
}

// What is no state is refused with what to give instead.
func TestImportTerraformRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "the state is no JSON",
		`resource "aws" "a" {}`:                "the state is no JSON",
		`{"version": 3}`:                       "terraform state pull",
		`{}`:                                   "terraform state pull",
		`{"version": 4}`:                       "no queue of SQS",
		`{"serial": 1, "encrypted_data": "x"}`: "tofu show -json",
		`{"planned_values": {}, "values": {}}`: "this is a plan",
		`{"version": 4, "resources": [{"mode": "managed", "type": "aws_sqs_queue", "instances": [{"attributes": {}}]}]}`: "",
	} {
		_, err := topology.ImportTerraform([]byte(text), "", "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// Nothing that is in a file makes ImportTerraform panic.
func FuzzImportTerraform(f *testing.F) {
	f.Add([]byte(`{"version": 4, "resources": [{"mode": "managed", "type": "aws_sqs_queue", "instances": [null]}]}`))
	f.Add([]byte(`{"values": {"root_module": {"resources": [{"type": "aws_sns_topic"}]}}}`))
	f.Fuzz(func(_ *testing.T, text []byte) { _, _ = topology.ImportTerraform(text, "", "") })
}

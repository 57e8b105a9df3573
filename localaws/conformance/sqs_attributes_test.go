package conformance

import (
	"maps"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

func TestSQSAttributes(t *testing.T) {
	all := func(w *world, url *string) attrs {
		out := must(w.sqs.GetQueueAttributes(w.ctx, &sqs.GetQueueAttributesInput{
			QueueUrl: url, AttributeNames: []types.QueueAttributeName{"All"},
		}))(w)
		for _, name := range []string{"CreatedTimestamp", "LastModifiedTimestamp"} {
			if n, err := strconv.ParseInt(out.Attributes[name], 10, 64); err != nil || n < 900_000_000 {
				w.Errorf("%s is %q, want seconds", name, out.Attributes[name])
			}
			delete(out.Attributes, name)
		}
		return out.Attributes
	}
	set := func(w *world, url *string, a attrs) error {
		_, err := w.sqs.SetQueueAttributes(w.ctx, &sqs.SetQueueAttributesInput{QueueUrl: url, Attributes: a})
		return err
	}
	standard := func(w *world, url *string) attrs {
		return attrs{
			"QueueArn": w.arn(url), "ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesNotVisible": "0",
			"ApproximateNumberOfMessagesDelayed": "0", "VisibilityTimeout": "30", "MaximumMessageSize": "1048576",
			"MessageRetentionPeriod": "345600", "DelaySeconds": "0", "ReceiveMessageWaitTimeSeconds": "0",
			"SqsManagedSseEnabled": "true",
		}
	}
	run(t, "of a standard queue by default", func(w *world) {
		url := w.queue("q", nil)
		if diff := cmp.Diff(standard(w, url), all(w, url)); diff != "" {
			w.Errorf("(-want +got):\n%s", diff)
		}
	})
	run(t, "of a FIFO queue by default", func(w *world) {
		url := w.queue("q.fifo", attrs{"FifoQueue": "true"})
		want := standard(w, url)
		maps.Copy(want,
			(attrs{
				"FifoQueue": "true", "ContentBasedDeduplication": "false", "DeduplicationScope": "queue",
				"FifoThroughputLimit": "perQueue",
			}))
		if diff := cmp.Diff(want, all(w, url)); diff != "" {
			w.Errorf("(-want +got):\n%s", diff)
		}
	})
	run(t, "those asked for and no others", func(w *world) {
		url := w.queue("q", nil)
		out := must(w.sqs.GetQueueAttributes(w.ctx, &sqs.GetQueueAttributesInput{
			QueueUrl: url, AttributeNames: []types.QueueAttributeName{"DelaySeconds", "Policy"},
		}))(w)
		if diff := cmp.Diff(attrs{"DelaySeconds": "0"}, out.Attributes); diff != "" {
			w.Errorf("(-want +got):\n%s", diff)
		}
		out = must(w.sqs.GetQueueAttributes(w.ctx, &sqs.GetQueueAttributesInput{QueueUrl: url}))(w)
		if len(out.Attributes) != 0 {
			w.Errorf("without names: %v", out.Attributes)
		}
		_, err := w.sqs.GetQueueAttributes(w.ctx, &sqs.GetQueueAttributesInput{
			QueueUrl: url, AttributeNames: []types.QueueAttributeName{"Nope"},
		})
		w.refused(err, badName, "Unknown Attribute Nope.")
	})
	run(t, "set and shown again", func(w *world) {
		url := w.queue("q", nil)
		a := attrs{
			"VisibilityTimeout": "69", "MaximumMessageSize": "2048", "MessageRetentionPeriod": "604800",
			"DelaySeconds": "420", "ReceiveMessageWaitTimeSeconds": "10",
		}
		if err := set(w, url, a); err != nil {
			w.Fatal(err)
		}
		got := all(w, url)
		for k, v := range a {
			if got[k] != v {
				w.Errorf("%s is %q, want %q", k, got[k], v)
			}
		}
	})
	run(t, "numbers stay within their bounds", func(w *world) {
		url := w.queue("q", nil)
		for name, bounds := range map[string][2]int{
			"VisibilityTimeout": {0, 43200}, "MaximumMessageSize": {1024, 1048576},
			"MessageRetentionPeriod": {60, 1209600},
			"DelaySeconds":           {0, 900}, "ReceiveMessageWaitTimeSeconds": {0, 20},
			"KmsDataKeyReusePeriodSeconds": {60, 86400},
		} {
			for _, good := range bounds {
				if err := set(w, url, attrs{name: strconv.Itoa(good)}); err != nil {
					w.Errorf("%s %d: %v", name, good, err)
				}
			}
			for _, bad := range []string{
				strconv.Itoa(bounds[0] - 1), strconv.Itoa(bounds[1] + 1), "", " 100", "100.5",
				"x", "true",
			} {
				w.refused(set(w, url, attrs{name: bad}), badValue, "Invalid value for the parameter "+name+".")
			}
		}
	})
	run(t, "that do not exist or cannot be set are unknown", func(w *world) {
		url := w.queue("q", nil)
		for _, name := range []string{"Nope", "QueueArn", "CreatedTimestamp", "ApproximateNumberOfMessages"} {
			w.refused(set(w, url, attrs{name: "1"}), badName, "Unknown Attribute "+name+".")
		}
	})
	run(t, "of FIFO queues are not for others, and the type stays", func(w *world) {
		url := w.queue("q", nil)
		w.refused(set(w, url, attrs{"FifoQueue": "true"}), badName, "Unknown Attribute FifoQueue.")
		w.refused(set(w, url, attrs{"ContentBasedDeduplication": "true"}), badName,
			"Unknown Attribute ContentBasedDeduplication.")
		for _, name := range []string{"DeduplicationScope", "FifoThroughputLimit"} {
			w.refused(set(w, url, attrs{name: "queue"}), badName,
				"You can specify the "+name+" only when FifoQueue is set to true.")
		}
		w.refused(set(w, w.fifo("f", nil), attrs{"FifoQueue": "false"}), badValue,
			"Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.")
	})
	run(t, "high throughput needs the group as its scope", func(w *world) {
		url := w.fifo("f", nil)
		w.refused(set(w, url, attrs{"FifoThroughputLimit": "perMessageGroupId"}), invalidParameter,
			"The perMessageGroupId value is allowed only when the value for DeduplicationScope is messageGroup")
		if err := set(w, url,
			attrs{"FifoThroughputLimit": "perMessageGroupId", "DeduplicationScope": "messageGroup"}); err != nil {
			w.Error(err)
		}
		for name, bad := range map[string]string{
			"FifoThroughputLimit": "x", "DeduplicationScope": "y",
			"ContentBasedDeduplication": "z",
		} {
			w.refused(set(w, url, attrs{name: bad}), badValue, "Invalid value for the parameter "+name+".")
		}
	})
	run(t, "one kind of encryption at a time", func(w *world) {
		url := w.queue("q", nil)
		w.refused(set(w, url, attrs{"KmsMasterKeyId": "k", "SqsManagedSseEnabled": "true"}), badName,
			"You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or "+
				"SQS SSE.")
		if err := set(w, url,
			attrs{"KmsMasterKeyId": "testKeyId", "KmsDataKeyReusePeriodSeconds": "6000"}); err != nil {
			w.Fatal(err)
		}
		got := all(w, url)
		if got["KmsMasterKeyId"] != "testKeyId" || got["KmsDataKeyReusePeriodSeconds"] != "6000" ||
			got["SqsManagedSseEnabled"] != "false" {
			w.Errorf("with a key: %v", got)
		}
		if err := set(w, url, attrs{"SqsManagedSseEnabled": "true"}); err != nil {
			w.Fatal(err)
		}
		if got = all(w, url); got["KmsMasterKeyId"] != "" || got["KmsDataKeyReusePeriodSeconds"] != "" ||
			got["SqsManagedSseEnabled"] != "true" {
			w.Errorf("with SQS's own: %v", got)
		}
	})
	run(t, "a policy is shown as it was given, and taken away by an empty one", func(w *world) {
		url := w.queue("q", nil)
		policy := `{"Version": "2012-10-17","Statement":{"Effect":"Allow","Principal":"*","Action":"sqs:SendMessage","Resource":"*"}}`
		if err := set(w, url, attrs{"Policy": policy}); err != nil {
			w.Fatal(err)
		}
		if got := w.attribute(url, "Policy"); got != policy {
			w.Errorf("policy %s", got)
		}
		for _, bad := range []string{
			"x", "[]", "null", `{"Statement":[]}`, `{"Version":"1","Statement":[]}`,
			`{"Dummy":1,"Statement":{"Effect":"Allow","Principal":"*","Action":"*"}}`,
			`{"Statement":{"Effect":"Allow","Principal":"*","Action":"*","Dummy":1}}`,
			`{"Statement":{"Effect":"Allow"}}`,
		} {
			w.refused(set(w, url, attrs{"Policy": bad}), badValue, "Invalid value for the parameter Policy.")
		}
		if err := set(w, url, attrs{"Policy": ""}); err != nil || w.attribute(url, "Policy") != "" {
			w.Errorf("after an empty one: %v, %s", err, w.attribute(url, "Policy"))
		}
	})
	run(t, "a redrive policy is checked in its words", func(w *world) {
		url, dlq, fifo := w.queue("q", nil), w.queue("d", nil), w.fifo("f", nil)
		policy := func(arn, count string) attrs {
			return attrs{"RedrivePolicy": `{"deadLetterTargetArn":"` + arn + `","maxReceiveCount":` + count + `}`}
		}
		w.refused(set(w, url, attrs{"RedrivePolicy": "4"}), badValue,
			"Invalid value for the parameter RedrivePolicy. Reason: Redrive policy is not a valid JSON map.")
		for _, bad := range []struct {
			attributes attrs
			reason     string
		}{
			{attrs{"RedrivePolicy": `{}`}, "Redrive policy does not contain mandatory attribute: maxReceiveCount."},
			{
				attrs{"RedrivePolicy": `{"maxReceiveCount":5}`},
				"Redrive policy does not contain mandatory attribute: deadLetterTargetArn.",
			},
			{
				policy(w.arn(dlq), "0"),
				"Invalid value for maxReceiveCount: 0, valid values are from 1 to 1000 both inclusive.",
			},
			{
				policy(w.arn(dlq), `"1001"`),
				"Invalid value for maxReceiveCount: 1001, valid values are from 1 to 1000 both inclusive.",
			},
			{policy("dummy", "42"), "Invalid value for deadLetterTargetArn."},
			{
				policy("arn:aws:sns:us-east-1:000000000000:t", "5"),
				"Only SQS queues are valid resources for deadLetterTargetArn.",
			},
			{policy(w.arn(dlq)+"-none", "5"), "Dead letter target does not exist."},
			{policy(w.arn(fifo), "5"), "Dead-letter queue must be same type of queue as the source.."},
			{
				attrs{"RedrivePolicy": `{"maxReceiveCount":5,"deadLetterTargetArn":"x","y":1}`},
				"Only following attributes are supported: [maxReceiveCount, deadLetterTargetArn].",
			},
		} {
			w.refused(set(w, url, bad.attributes), invalidParameter,
				"Value "+bad.attributes["RedrivePolicy"]+" for parameter RedrivePolicy is invalid. Reason: "+bad.reason)
		}
		if err := set(w, url, policy(w.arn(dlq), `"7"`)); err != nil {
			w.Fatal(err)
		}
		if got, want := w.attribute(url, "RedrivePolicy"), policy(w.arn(dlq), "7")["RedrivePolicy"]; got != want {
			w.Errorf("shown as %s, want %s", got, want)
		}
		if err := set(w, url, attrs{"RedrivePolicy": ""}); err != nil || w.attribute(url, "RedrivePolicy") != "" {
			w.Errorf("after an empty one: %v, %s", err, w.attribute(url, "RedrivePolicy"))
		}
	})
	run(t, "a dead-letter queue says whose letters it takes", func(w *world) {
		url, dlq := w.queue("q", nil), w.queue("d", nil)
		const format = "Reason: Amazon SQS can't create the redrive allow policy, as it’s in an unsupported format."
		for _, bad := range []string{
			"x", "[]", "{}", `{"redrivePermission":"x"}`,
			`{"redrivePermission":"allowAll","y":1}`, `{"redrivePermission":"byQueue","sourceQueueArns":"x"}`,
		} {
			w.refused(set(w, dlq, attrs{"RedriveAllowPolicy": bad}), badValue,
				"Invalid value for the parameter RedriveAllowPolicy. "+format)
		}
		for bad, reason := range map[string]string{
			`{"redrivePermission":"byQueue"}`:                                                                   "When you specify the byQueue permission type, you must also specify one or more sourceQueueArns values.",
			`{"redrivePermission":"denyAll","sourceQueueArns":["x"]}`:                                           "To specify one or more source queue ARNs, you must set redrivePermission to byQueue.",
			`{"redrivePermission":"byQueue","sourceQueueArns":["1","2","3","4","5","6","7","8","9","10","11"]}`: "The maximum number of source queue ARNs you can specify is 10.",
		} {
			w.refused(set(w, dlq, attrs{"RedriveAllowPolicy": bad}), invalidParameter,
				"Value "+bad+
					" for parameter RedriveAllowPolicy is invalid. Reason: Amazon SQS can't create the redrive allow "+
					"policy. "+reason)
		}
		for policy, allowed := range map[string]bool{
			`{"redrivePermission":"denyAll"}`:                                              false,
			`{"redrivePermission":"allowAll"}`:                                             true,
			`{"redrivePermission":"byQueue","sourceQueueArns":["` + w.arn(dlq) + `"]}`:     false,
			`{"redrivePermission":"byQueue","sourceQueueArns":["` + w.arn(url) + `","x"]}`: true,
		} {
			if err := set(w, dlq, attrs{"RedriveAllowPolicy": policy}); err != nil {
				w.Fatal(err)
			}
			if got := w.attribute(dlq, "RedriveAllowPolicy"); got != policy {
				w.Errorf("shown as %s", got)
			}
			if err := set(w, url, w.deadLetters(dlq, 3)); (err == nil) != allowed {
				w.Errorf("under %s: %v", policy, err)
			}
		}
	})
	run(t, "setting none is refused", func(w *world) {
		w.refused(set(w, w.queue("q", nil), attrs{}), missingParameter, "")
	})
}

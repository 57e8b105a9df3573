package conformance

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

// everything is the result of GetQueueAttributes, except for values that differ from run to run.
func (w *world) everything(url *string) attrs {
	w.Helper()
	out := must(w.sqs.GetQueueAttributes(w.ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: url, AttributeNames: []types.QueueAttributeName{"All"},
	}))(w)
	for _, name := range []string{"QueueArn", "CreatedTimestamp", "LastModifiedTimestamp"} {
		if out.Attributes[name] == "" {
			w.Errorf("no %s", name)
		}
		delete(out.Attributes, name)
	}
	return out.Attributes
}

func joined(base, more attrs) attrs {
	all := attrs{}
	for _, m := range []attrs{base, more} {
		maps.Copy(all, m)
	}
	return all
}

func TestRecordedQueueAttributes(t *testing.T) {
	standard := attrs{
		"ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesDelayed": "0",
		"ApproximateNumberOfMessagesNotVisible": "0",
		"DelaySeconds":                          "0", "MaximumMessageSize": "1048576",
		"MessageRetentionPeriod": "345600", "ReceiveMessageWaitTimeSeconds": "0",
		"SqsManagedSseEnabled": "true", "VisibilityTimeout": "30",
	}
	fifo := joined(standard,
		attrs{
			"FifoQueue": "true", "ContentBasedDeduplication": "false", "DeduplicationScope": "queue",
			"FifoThroughputLimit": "perQueue",
		})
	shows := func(w *world, url *string, want attrs) {
		w.Helper()
		if diff := cmp.Diff(want, w.everything(url)); diff != "" {
			w.Errorf("attributes (-want +got):\n%s", diff)
		}
	}
	run(t, "all of them, by default and with a KMS key (recorded on AWS, 2025-12-10)", func(w *world) {
		url := w.queue("q", nil)
		shows(w, url, standard)
		must(w.sqs.SetQueueAttributes(w.ctx, &sqs.SetQueueAttributesInput{
			QueueUrl:   url,
			Attributes: attrs{"KmsMasterKeyId": "testKeyId", "KmsDataKeyReusePeriodSeconds": "6000"},
		}))(w)
		shows(w, url,
			joined(standard,
				attrs{
					"KmsMasterKeyId": "testKeyId", "KmsDataKeyReusePeriodSeconds": "6000",
					"SqsManagedSseEnabled": "false",
				}))
		must(w.sqs.SetQueueAttributes(w.ctx, &sqs.SetQueueAttributesInput{
			QueueUrl:   url,
			Attributes: attrs{"KmsMasterKeyId": "", "KmsDataKeyReusePeriodSeconds": "300"},
		}))(w)
		shows(w, url, joined(standard, attrs{"SqsManagedSseEnabled": "false"}))
	})
	run(t, "True and False are true and false (recorded on AWS, 2025-08-19)", func(w *world) {
		url := w.queue("f.fifo", attrs{"FifoQueue": "True", "ContentBasedDeduplication": "False"})
		shows(w, url, fifo)
	})
	run(t, "a FIFO queue may be told that it is one (recorded on AWS, 2024-05-14)", func(w *world) {
		url := w.queue("f.fifo", attrs{"FifoQueue": "true"})
		must(w.sqs.SetQueueAttributes(w.ctx,
			&sqs.SetQueueAttributesInput{QueueUrl: url, Attributes: attrs{"FifoQueue": "true"}}))(w)
		shows(w, url, fifo)
	})
	run(t, "a queue may be its own dead-letter queue (validated on AWS, 2024-08-20)", func(w *world) {
		url := w.queue("q", attrs{"VisibilityTimeout": "0"})
		must(w.sqs.SetQueueAttributes(w.ctx,
			&sqs.SetQueueAttributesInput{QueueUrl: url, Attributes: w.deadLetters(url, 1)}))(w)
		w.send(url, "x")
		for range 3 { // its dead-letter queue does not exist
			w.one(url)
		}
	})
	run(t, "tags: an empty value is one, and none at all are not shown (recorded on AWS, 2024-04-30)", func(w *world) {
		url := w.queue("q", nil)
		must(w.sqs.TagQueue(w.ctx, &sqs.TagQueueInput{QueueUrl: url, Tags: attrs{"a": "", "b": "1"}}))(w)
		_, _, body := w.json("ListQueueTags", `{"QueueUrl":"`+*url+`"}`)
		if body != `{"Tags":{"a":"","b":"1"}}` {
			w.Errorf("tags: %s", body)
		}
		must(w.sqs.UntagQueue(w.ctx,
			&sqs.UntagQueueInput{QueueUrl: url, TagKeys: []string{"a", "b", "never there"}}))(w)
		if _, _, body = w.json("ListQueueTags", `{"QueueUrl":"`+*url+`"}`); body != `{}` {
			w.Errorf("no tags: %s", body)
		}
	})
}

func TestRecordedQueueWire(t *testing.T) {
	get := func(w *world, url string) (int, string) {
		w.Helper()
		r, err := http.NewRequestWithContext(w.ctx, http.MethodGet, url, nil)
		if err != nil {
			w.Fatal(err)
		}
		w.sign(r, "")
		code, _, body := w.do(r)
		return code, body
	}
	run(t, "GET at a queue: an empty result closes itself, what needs no queue is no action there (validated on AWS)",
		func(w *world) {
			url := *w.queue("q", nil)
			for _, c := range []struct {
				query string
				code  int
				text  string
			}{
				{"?Action=ReceiveMessage", 200, "<ReceiveMessageResult/>"},
				{
					"?Action=GetQueueAttributes&AttributeName.1=VisibilityTimeout", 200,
					"<Attribute><Name>VisibilityTimeout</Name><Value>30</Value></Attribute>",
				},
				{"?Action=GetQueueUrl&QueueName=" + w.name("q"), 200, "<QueueUrl>" + url + "</QueueUrl>"},
				{
					"?Action=CreateQueue&QueueName=other", 400,
					"<Code>InvalidAction</Code><Message>The action CreateQueue is not valid for this " +
						"endpoint.</Message>",
				},
				{
					"?Action=ListQueues", 400,
					"<Code>InvalidAction</Code><Message>The action ListQueues is not valid for this endpoint.</Message>",
				},
				{
					"?Action=SendMessage", 400,
					"<Code>MissingParameter</Code><Message>The request must contain the parameter " +
						"MessageBody.</Message>",
				},
				{"", 404, "<UnknownOperationException"},
			} {
				if code, body := get(w, url+c.query); code != c.code || !strings.Contains(body, c.text) {
					w.Errorf("GET %s\n%d %s\nwant %d %s", c.query, code, body, c.code, c.text)
				}
			}
		})
}

package conformance

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// form calls an action of SNS with a form.
func (f *topics) form(action string, values url.Values) (int, string) {
	f.Helper()
	values.Set("Action", action)
	values.Set("Version", "2010-03-31")
	code, _, body := f.raw("/", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, values.Encode())
	return code, body
}

func TestSNSWire(t *testing.T) {
	runTopics(t, "errors have no Detail, unlike those of SQS", func(f *topics) {
		code, body := f.form("GetTopicAttributes", url.Values{"TopicArn": {f.absent()}})
		want := `<ErrorResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><Error><Type>Sender</Type><Code>NotFound</Code><Message>Topic does not exist</Message></Error><RequestId>`
		if code != 404 || !contains(unspaced(body), unspaced(want)) {
			f.Errorf("%d %s\nwant 404 and %s", code, body, want)
		}
		if _, body := f.query("/", "GetQueueUrl", url.Values{"QueueName": {f.fresh()}}); !contains(unspaced(body),
			"<Detail/></Error>") {
			f.Errorf("SQS: %s", body)
		}
	})
	runTopics(t, "an answer without members has an empty result where the action's model names one", func(f *topics) {
		topic := *f.topic(false)
		for _, c := range []struct {
			action string
			result bool
			values url.Values
		}{
			{
				"TagResource", true,
				url.Values{"ResourceArn": {topic}, "Tags.member.1.Key": {"k"}, "Tags.member.1.Value": {"v"}},
			},
			{"UntagResource", true, url.Values{"ResourceArn": {topic}, "TagKeys.member.1": {"k"}}},
			{"DeleteTopic", false, url.Values{"TopicArn": {f.absent()}}},
		} {
			code, body := f.form(c.action, c.values)
			body = strings.ReplaceAll(body, "<"+c.action+"Result/>", "<"+c.action+"Result></"+c.action+"Result>")
			if code != 200 || contains(body, "<"+c.action+"Result></"+c.action+"Result>") != c.result {
				f.Errorf("%s: %d %s", c.action, code, body)
			}
		}
	})
}

// absent is the ARN of a topic that does not exist.
func (f *topics) absent() string {
	return "arn:aws:sns:" + f.region + ":" + f.account + ":" + f.fresh()
}

// unspaced removes white space between XML elements.
func unspaced(xml string) string { return strings.Join(strings.Fields(xml), "") }

// traced is a client that sends a tracing header.
type traced struct {
	to     *http.Client
	header string
}

func (c traced) Do(r *http.Request) (*http.Response, error) {
	r.Header.Set("X-Amzn-Trace-Id", c.header)
	return c.to.Do(r)
}

// As documented in the X-Ray guide's pages about SQS and SNS.
func TestTraceHeader(t *testing.T) {
	const root = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
	runTopics(t, "X-Amzn-Trace-Id of a send or a publish is the AWSTraceHeader of its messages", func(f *topics) {
		topic, q := f.topic(false), f.inbox(false)
		f.subscribe(topic, q, nil)
		text := aws.String("x")
		header := traced{f.http, root}
		into := func(o *sqs.Options) { o.HTTPClient = header }
		through := func(o *sns.Options) { o.HTTPClient = header }
		ctx := context.WithoutCancel(f.ctx)

		sent, err := f.world.sqs.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: text}, into)
		if got(f, sent, err).MD5OfMessageSystemAttributes != nil {
			f.Error("a digest of system attributes, of which none was given")
		}
		q.cameWith(root)
		_, err = f.world.sqs.SendMessageBatch(ctx,
			&sqs.SendMessageBatchInput{
				QueueUrl: &q.url,
				Entries:  []sqstypes.SendMessageBatchRequestEntry{{Id: text, MessageBody: text}},
			}, into)
		got(f, 0, err)
		q.cameWith(root)
		_, err = f.world.sqs.SendMessage(ctx,
			&sqs.SendMessageInput{
				QueueUrl: &q.url, MessageBody: text,
				MessageSystemAttributes: map[string]sqstypes.MessageSystemAttributeValue{
					"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("Root=1-given")},
				},
			}, into)
		got(f, 0, err)
		q.cameWith("Root=1-given")
		_, err = f.sns.Publish(ctx, &sns.PublishInput{TopicArn: topic, Message: text}, through)
		got(f, 0, err)
		q.cameWith(root)
		_, err = f.sns.PublishBatch(ctx,
			&sns.PublishBatchInput{
				TopicArn:                   topic,
				PublishBatchRequestEntries: []types.PublishBatchRequestEntry{{Id: text, Message: text}},
			}, through)
		got(f, 0, err)
		q.cameWith(root)
	})
}

// cameWith receives one message and checks its trace.
func (q *inbox) cameWith(trace string) {
	q.Helper()
	m := q.one(&q.url, waiting(5))
	if m.Attributes["AWSTraceHeader"] != trace {
		q.Errorf("AWSTraceHeader %q, want %q", m.Attributes["AWSTraceHeader"], trace)
	}
	q.remove(&q.url, m)
}

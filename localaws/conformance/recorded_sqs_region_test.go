package conformance

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
)

// The cases of this file are AWS's: every endpoint is independent (developer guide of SQS, "Amazon SQS and regions"),
// and refuses the URL of a queue of another one (recorded in jegesh/python-sqs-listener, issue 30, and in
// aws/aws-sdk-net, issue 437: 404 InvalidAddress).

// elsewhere returns a client of another region, with a queue of the same name as q of the first region.
func (w *world) elsewhere(q *string) (other *sqs.Client, there *string) {
	w.Helper()
	other = sqs.New(w.sqs.Options(), func(o *sqs.Options) { o.Region = "eu-west-1" })
	name := (*q)[strings.LastIndexByte(*q, '/')+1:]
	there = must(other.CreateQueue(w.ctx, &sqs.CreateQueueInput{QueueName: &name}))(w).QueueUrl
	return other, there
}

func TestURLsOfRegions(t *testing.T) {
	run(t, "queues of one name in two regions have two URLs, each for its region only", func(w *world) {
		here := w.queue("q", nil)
		other, there := w.elsewhere(here)
		if *here == *there {
			w.Fatalf("both are %s", *here)
		}
		w.send(here, "here")
		for _, c := range []struct {
			client *sqs.Client
			url    *string
		}{{other, here}, {w.sqs, there}} {
			_, err := c.client.ReceiveMessage(w.ctx, &sqs.ReceiveMessageInput{QueueUrl: c.url})
			var e smithy.APIError
			if !errors.As(err, &e) || e.ErrorCode() != "InvalidAddress" ||
				!strings.HasSuffix(e.ErrorMessage(), " is not valid for this endpoint.") {
				w.Errorf("%s: %v", *c.url, err)
			}
		}
		code, body := w.query("/", "ReceiveMessage", url.Values{"QueueUrl": {*there}})
		if code != 404 || !strings.Contains(body, "<Code>InvalidAddress</Code>") {
			w.Errorf("%d %s", code, body)
		}
		must(other.SendMessage(w.ctx, &sqs.SendMessageInput{QueueUrl: there, MessageBody: aws.String("there")}))(w)
		got := must(other.ReceiveMessage(w.ctx, &sqs.ReceiveMessageInput{QueueUrl: there}))(w).Messages
		if len(got) != 1 || *got[0].Body != "there" {
			w.Errorf("%d messages", len(got))
		}
	})
}

// The forms of URLs of AWS (standard and legacy) and of LocalStack (its configuration SQS_ENDPOINT_STRATEGY).
func TestFormsOfURLs(t *testing.T) {
	run(t, "a URL in each form", func(w *world) {
		here := w.queue("q", nil)
		other, there := w.elsewhere(here)
		arn := strings.Split(w.arn(here), ":")
		account, name := arn[4], arn[5]
		for _, form := range []string{
			"http://sqs.REGION.localhost:4566/ACCOUNT/", "https://sqs.REGION.amazonaws.com/ACCOUNT/",
			"http://REGION.queue.localhost:4566/ACCOUNT/", "http://localhost:4566/queue/REGION/ACCOUNT/",
		} {
			for _, c := range []struct {
				client *sqs.Client
				region string
				plain  *string
			}{{w.sqs, *region, here}, {other, "eu-west-1", there}} {
				at := strings.NewReplacer("REGION", c.region, "ACCOUNT", account).Replace(form) + name
				must(c.client.SendMessage(w.ctx, &sqs.SendMessageInput{QueueUrl: &at, MessageBody: &at}))(w)
				got := must(c.client.ReceiveMessage(w.ctx, &sqs.ReceiveMessageInput{QueueUrl: c.plain}))(w).Messages
				if len(got) != 1 || *got[0].Body != at {
					w.Errorf("%s: %d messages", at, len(got))
					continue
				}
				must(c.client.DeleteMessage(w.ctx, &sqs.DeleteMessageInput{
					QueueUrl: &at, ReceiptHandle: got[0].ReceiptHandle,
				}))(w)
			}
		}
	})
}

// SenderId is the id of the user (AWS's page of ReceiveMessage), which GetCallerIdentity tells.
func TestSenderIsTheCaller(t *testing.T) {
	run(t, "the sender is the caller", func(w *world) {
		q := w.queue("q", nil)
		w.send(q, "x")
		m := w.back(q, func(i *sqs.ReceiveMessageInput) {
			i.MessageSystemAttributeNames = []types.MessageSystemAttributeName{"SenderId"}
		})
		me := must(sts.New(sts.Options{
			Region: *region, BaseEndpoint: &w.endpoint, HTTPClient: w.http, Credentials: w.keys,
		}).GetCallerIdentity(w.ctx, &sts.GetCallerIdentityInput{}))(w)
		if m.Attributes["SenderId"] != *me.UserId {
			w.Errorf("%v, and the user is %s", m.Attributes, *me.UserId)
		}
	})
}

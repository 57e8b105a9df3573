package conformance

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/localaws"
)

func TestSQSQueue(t *testing.T) {
	create := func(w *world, name string, a attrs) error {
		_, err := w.sqs.CreateQueue(w.ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: a})
		return err
	}
	run(t, "creating again with the same, fewer or no attributes gives its URL", func(w *world) {
		first := w.queue("q", attrs{"DelaySeconds": "1", "VisibilityTimeout": "20"})
		for _, a := range []attrs{nil, {"DelaySeconds": "1"}, {"DelaySeconds": "1", "VisibilityTimeout": "20"}} {
			if again := w.queue("q", a); *again != *first {
				w.Errorf("with %v: %s, want %s", a, *again, *first)
			}
		}
	})
	run(t, "creating again with another attribute is refused by its name", func(w *world) {
		w.queue("q", attrs{"DelaySeconds": "1"})
		w.refused(create(w, w.name("q"), attrs{"DelaySeconds": "2"}), queueExists,
			"A queue already exists with the same name and a different value for attribute DelaySeconds")
		w.fifo("f", nil)
		w.refused(create(w, w.name("f.fifo"), attrs{"FifoQueue": "true", "ContentBasedDeduplication": "false"}),
			queueExists,
			"A queue already exists with the same name and a different value for attribute ContentBasedDeduplication")
	})
	run(t, "names are of letters, digits, hyphens and underscores, at most 80", func(w *world) {
		const text = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"
		for _, name := range []string{"a b", "a/b", "ä", "a.b", "a.fifo", strings.Repeat("x", 81)} {
			w.refused(create(w, name, nil), invalidParameter, text)
		}
		w.refused(create(w, "a", attrs{"FifoQueue": "true"}), invalidParameter,
			"must end with .fifo suffix and be 1 to 80 in length.")
		w.refused(create(w, strings.Repeat("x", 76)+".fifo", attrs{"FifoQueue": "true"}), invalidParameter,
			"must end with .fifo suffix")
		code, _, body := w.json("CreateQueue", `{}`)
		if code != 400 || !strings.Contains(body, "MissingRequiredParameterException") {
			w.Errorf("without a name: %d %s", code, body)
		}
	})
	run(t, "GetQueueUrl finds a queue by its name", func(w *world) {
		url := w.queue("q", nil)
		out := must(w.sqs.GetQueueUrl(w.ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(w.name("q"))}))(w)
		if *out.QueueUrl != *url {
			w.Errorf("%s, want %s", *out.QueueUrl, *url)
		}
		account := strings.Split(w.arn(url), ":")[4]
		must(w.sqs.GetQueueUrl(w.ctx,
			&sqs.GetQueueUrlInput{QueueName: aws.String(w.name("q")), QueueOwnerAWSAccountId: &account}))(w)
		_, err := w.sqs.GetQueueUrl(w.ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(w.name("none"))})
		w.refused(err, noQueue, "The specified queue does not exist.")
		_, err = w.sqs.GetQueueUrl(w.ctx, &sqs.GetQueueUrlInput{QueueName: aws.String("")})
		w.refused(err, invalidParameter, "Value for parameter QueueName is invalid. Reason: Must specify a queue name.")
	})
	run(t, "every action on a queue that is not there is refused alike", func(w *world) {
		url := w.queue("q", nil)
		gone := aws.String(*url + "-gone")
		_, err := w.sqs.SendMessage(w.ctx, &sqs.SendMessageInput{QueueUrl: gone, MessageBody: aws.String("x")})
		w.refused(err, noQueue, "The specified queue does not exist.")
		_, err = w.sqs.ReceiveMessage(w.ctx, &sqs.ReceiveMessageInput{QueueUrl: gone})
		w.refused(err, noQueue, "The specified queue does not exist.")
		_, err = w.sqs.DeleteQueue(w.ctx, &sqs.DeleteQueueInput{QueueUrl: gone})
		w.refused(err, noQueue, "The specified queue does not exist.")
		_, err = w.sqs.PurgeQueue(w.ctx, &sqs.PurgeQueueInput{QueueUrl: gone})
		w.refused(err, noQueue, "The specified queue does not exist.")
	})
	run(t, "a deleted queue is gone, and a new one of its name is empty", func(w *world) {
		url := w.queue("q", nil)
		w.send(url, "x")
		must(w.sqs.DeleteQueue(w.ctx, &sqs.DeleteQueueInput{QueueUrl: url}))(w)
		_, err := w.sqs.ReceiveMessage(w.ctx, &sqs.ReceiveMessageInput{QueueUrl: url})
		w.refused(err, noQueue, "")
		if w.local != nil {
			w.nothing(w.queue("q", nil))
		}
	})
	run(t, "a poll that waits on a queue that is deleted ends", func(w *world) {
		url := w.queue("q", nil)
		done := make(chan error)
		go func() {
			_, err := w.sqs.ReceiveMessage(w.ctx, &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 20})
			done <- err
		}()
		w.pass(time.Second)
		must(w.sqs.DeleteQueue(w.ctx, &sqs.DeleteQueueInput{QueueUrl: url}))(w)
		w.refused(<-done, noQueue, "")
	})
	runWith(t, "with realistic waits a name is free 60 seconds after its deletion",
		&localaws.Options{RealisticWaits: true}, func(w *world) {
			url := w.queue("q", nil)
			must(w.sqs.DeleteQueue(w.ctx, &sqs.DeleteQueueInput{QueueUrl: url}))(w)
			w.pass(59 * time.Second)
			w.refused(create(w, w.name("q"), nil), "AWS.SimpleQueueService.QueueDeletedRecently",
				"You must wait 60 seconds after deleting a queue before you can create another with the same name.")
			w.pass(time.Second)
			w.queue("q", nil)
		})
	run(t, "a purge empties a queue", func(w *world) {
		url := w.queue("q", nil)
		w.send(url, "ready")
		w.send(url, "delayed", func(i *sqs.SendMessageInput) { i.DelaySeconds = 5 })
		w.receive(url)
		must(w.sqs.PurgeQueue(w.ctx, &sqs.PurgeQueueInput{QueueUrl: url}))(w)
		for _, name := range []string{
			"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible",
			"ApproximateNumberOfMessagesDelayed",
		} {
			if n := w.attribute(url, name); w.local != nil && n != "0" {
				w.Errorf("%s is %s", name, n)
			}
		}
	})
	runWith(t, "with realistic waits one purge in 60 seconds", &localaws.Options{RealisticWaits: true}, func(w *world) {
		url := w.queue("q", nil)
		must(w.sqs.PurgeQueue(w.ctx, &sqs.PurgeQueueInput{QueueUrl: url}))(w)
		_, err := w.sqs.PurgeQueue(w.ctx, &sqs.PurgeQueueInput{QueueUrl: url})
		w.refused(err, "AWS.SimpleQueueService.PurgeQueueInProgress",
			"Only one PurgeQueue operation on "+w.name("q")+" is allowed every 60 seconds.")
		if status(err) != 403 {
			w.Errorf("status %d, want 403", status(err))
		}
		w.pass(time.Minute)
		must(w.sqs.PurgeQueue(w.ctx, &sqs.PurgeQueueInput{QueueUrl: url}))(w)
	})
}

func TestSQSListQueues(t *testing.T) {
	run(t, "by prefix, in pages, in order of name", func(w *world) {
		var want []string
		for _, n := range []string{"a", "b", "c", "d", "e"} {
			want = append(want, *w.queue(n, nil))
		}
		var got []string
		in := &sqs.ListQueuesInput{QueueNamePrefix: &w.prefix, MaxResults: aws.Int32(2)}
		for pages := 1; ; pages++ {
			out := must(w.sqs.ListQueues(w.ctx, in))(w)
			got = append(got, out.QueueUrls...)
			if in.NextToken = out.NextToken; in.NextToken == nil {
				if pages != 3 {
					w.Errorf("%d pages, want 3", pages)
				}
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.Errorf("(-want +got):\n%s", diff)
		}
	})
	run(t, "without a size there is no token", func(w *world) {
		w.queue("a", nil)
		out := must(w.sqs.ListQueues(w.ctx, &sqs.ListQueuesInput{QueueNamePrefix: &w.prefix}))(w)
		if len(out.QueueUrls) != 1 || out.NextToken != nil {
			w.Errorf("%v, token %v", out.QueueUrls, out.NextToken)
		}
	})
	run(t, "a size out of bounds and a token out of nowhere are refused", func(w *world) {
		for _, n := range []int32{0, 1001, -1} {
			_, err := w.sqs.ListQueues(w.ctx, &sqs.ListQueuesInput{MaxResults: &n})
			w.refused(err, invalidParameter, "for parameter MaxResults is invalid.")
		}
		_, err := w.sqs.ListQueues(w.ctx, &sqs.ListQueuesInput{MaxResults: aws.Int32(1), NextToken: aws.String("!")})
		w.refused(err, invalidParameter, "NextToken")
	})
}

func TestSQSTags(t *testing.T) {
	tags := func(w *world, url *string) map[string]string {
		return must(w.sqs.ListQueueTags(w.ctx, &sqs.ListQueueTagsInput{QueueUrl: url}))(w).Tags
	}
	run(t, "given at creation, added, replaced and taken away", func(w *world) {
		name := w.name("q")
		url := must(w.sqs.CreateQueue(w.ctx,
			&sqs.CreateQueueInput{QueueName: &name, Tags: attrs{"a": "1", "b": ""}}))(w).QueueUrl
		must(w.sqs.TagQueue(w.ctx, &sqs.TagQueueInput{QueueUrl: url, Tags: attrs{"b": "2", "c": "3"}}))(w)
		must(w.sqs.UntagQueue(w.ctx, &sqs.UntagQueueInput{QueueUrl: url, TagKeys: []string{"a", "none"}}))(w)
		if diff := cmp.Diff(map[string]string{"b": "2", "c": "3"}, tags(w, url)); diff != "" {
			w.Errorf("(-want +got):\n%s", diff)
		}
		must(w.sqs.DeleteQueue(w.ctx, &sqs.DeleteQueueInput{QueueUrl: url}))(w)
	})
	run(t, "keys of AWS and more than fifty are refused", func(w *world) {
		url := w.queue("q", nil)
		_, err := w.sqs.TagQueue(w.ctx, &sqs.TagQueueInput{QueueUrl: url, Tags: attrs{"aws:x": "1"}})
		w.refused(err, invalidParameter, "aws:")
		many := attrs{}
		for i := range 51 {
			many[strings.Repeat("k", i+1)] = ""
		}
		_, err = w.sqs.TagQueue(w.ctx, &sqs.TagQueueInput{QueueUrl: url, Tags: many})
		w.refused(err, invalidParameter, "Too many tags added for queue "+w.name("q")+".")
		_, err = w.sqs.TagQueue(w.ctx, &sqs.TagQueueInput{QueueUrl: url, Tags: attrs{strings.Repeat("k", 129): ""}})
		w.refused(err, invalidParameter, "128")
		_, err = w.sqs.TagQueue(w.ctx, &sqs.TagQueueInput{QueueUrl: url, Tags: attrs{"k": strings.Repeat("v", 257)}})
		w.refused(err, invalidParameter, "256")
		_, err = w.sqs.TagQueue(w.ctx, &sqs.TagQueueInput{QueueUrl: url, Tags: attrs{}})
		w.refused(err, missingParameter, "The request must contain the parameter Tags.")
		_, err = w.sqs.UntagQueue(w.ctx, &sqs.UntagQueueInput{QueueUrl: url, TagKeys: []string{}})
		w.refused(err, invalidParameter, "Tag keys must be between 1 and 128 characters in length.")
	})
}

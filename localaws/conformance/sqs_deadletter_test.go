package conformance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

func TestSQSDeadLetters(t *testing.T) {
	run(t, "after maxReceiveCount receives, counted on, with its source, id and time", func(w *world) {
		dlq := w.queue("d", nil)
		url := w.queue("q", w.deadLetters(dlq, 2))
		w.send(url, "x", with("a", str("b")), func(i *sqs.SendMessageInput) {
			i.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
				"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("trace")},
			}
		})
		first := w.back(url)
		w.back(url)
		w.pass(time.Second)
		w.nothing(url)
		dead := w.one(dlq)
		if *dead.MessageId != *first.MessageId || len(dead.MessageAttributes) != 1 ||
			dead.Attributes["AWSTraceHeader"] != "trace" {
			w.Errorf("not the message it was: %v", dead)
		}
		for name, want := range map[string]string{
			"ApproximateReceiveCount": "3", "DeadLetterQueueSourceArn": w.arn(url),
			"SentTimestamp":                    first.Attributes["SentTimestamp"],
			"ApproximateFirstReceiveTimestamp": first.Attributes["ApproximateFirstReceiveTimestamp"],
		} {
			if got := dead.Attributes[name]; got != want {
				w.Errorf("%s is %s, want %s", name, got, want)
			}
		}
	})
	run(t, "a standard queue keeps the original time for retention", func(w *world) {
		dlq := w.queue("d", attrs{"MessageRetentionPeriod": "60"})
		url := w.queue("q", w.deadLetters(dlq, 1))
		w.send(url, "x")
		w.pass(50 * time.Second)
		w.back(url)
		w.nothing(url)
		w.pass(9 * time.Second)
		w.back(dlq)
		w.pass(time.Second)
		w.nothing(dlq)
	})
	run(t, "of a FIFO queue, in order, retention starts again", func(w *world) {
		dlq := w.fifo("d", attrs{"MessageRetentionPeriod": "60"})
		url := w.fifo("f", w.deadLetters(dlq, 1))
		w.send(url, "1", in("g"))
		w.send(url, "2", in("g"))
		for _, m := range w.receive(url) {
			if err := w.change(url, m, 0); err != nil {
				w.Fatal(err)
			}
		}
		w.pass(50 * time.Second)
		w.nothing(url)
		w.pass(59 * time.Second)
		dead := w.receive(dlq)
		w.want(dead, "1", "2")
		if dead[0].Attributes["MessageGroupId"] != "g" ||
			dead[0].Attributes["SequenceNumber"] >= dead[1].Attributes["SequenceNumber"] {
			w.Errorf("group and sequence: %v, %v", dead[0].Attributes, dead[1].Attributes)
		}
	})
	run(t, "a dead-letter queue that was deleted keeps them where they are", func(w *world) {
		dlq := w.queue("d", nil)
		url := w.queue("q", w.deadLetters(dlq, 1))
		w.send(url, "x")
		w.back(url)
		must(w.sqs.DeleteQueue(w.ctx, &sqs.DeleteQueueInput{QueueUrl: dlq}))(w)
		w.one(url)
	})
	run(t, "the queues of a dead-letter queue, in pages", func(w *world) {
		dlq := w.queue("z", nil)
		var want []string
		for _, n := range []string{"a", "b", "c"} {
			want = append(want, *w.queue(n, w.deadLetters(dlq, 1)))
		}
		var got []string
		in := &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: dlq, MaxResults: aws.Int32(2)}
		for {
			out := must(w.sqs.ListDeadLetterSourceQueues(w.ctx, in))(w)
			got = append(got, out.QueueUrls...)
			if in.NextToken = out.NextToken; in.NextToken == nil {
				break
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			w.Errorf("(-want +got):\n%s", diff)
		}
		if _, _, body := w.json("ListDeadLetterSourceQueues", `{"QueueUrl":"`+*dlq+`"}`); !contains(body,
			`"queueUrls":[`) {
			w.Errorf("the member's name: %s", body)
		}
	})
}

func TestSQSMessageMoveTask(t *testing.T) {
	start := func(w *world, in sqs.StartMessageMoveTaskInput) *string {
		w.Helper()
		return must(w.sqs.StartMessageMoveTask(w.ctx, &in))(w).TaskHandle
	}
	list := func(w *world, source string, max int32) []types.ListMessageMoveTasksResultEntry {
		w.Helper()
		return must(w.sqs.ListMessageMoveTasks(w.ctx,
			&sqs.ListMessageMoveTasksInput{SourceArn: &source, MaxResults: aws.Int32(max)}))(w).Results
	}
	// dead creates a queue with messages in its dead-letter queue.
	dead := func(w *world, texts ...string) (url, dlq *string) {
		w.Helper()
		dlq = w.queue("d", nil)
		url = w.queue("q", w.deadLetters(dlq, 1))
		for _, b := range texts {
			w.send(url, b)
			w.back(url)
			w.nothing(url)
		}
		return url, dlq
	}
	ended := func(w *world, source string) types.ListMessageMoveTasksResultEntry {
		w.Helper()
		for range 20 {
			if r := list(w, source, 1); len(r) == 1 && *r[0].Status != "RUNNING" {
				return r[0]
			}
			w.pass(time.Second)
		}
		w.Fatal("the task does not end")
		return types.ListMessageMoveTasksResultEntry{}
	}
	run(t, "without a destination each goes where it came from, as a new message", func(w *world) {
		url, dlq := dead(w, "1", "2")
		old := w.receive(dlq)
		for _, m := range old {
			if err := w.change(dlq, m, 0); err != nil {
				w.Fatal(err)
			}
		}
		start(w, sqs.StartMessageMoveTaskInput{SourceArn: aws.String(w.arn(dlq))})
		r := ended(w, w.arn(dlq))
		if *r.Status != "COMPLETED" || r.ApproximateNumberOfMessagesMoved != 2 ||
			aws.ToInt64(r.ApproximateNumberOfMessagesToMove) != 2 ||
			r.DestinationArn != nil || r.TaskHandle != nil || *r.SourceArn != w.arn(dlq) || r.StartedTimestamp == 0 {
			w.Errorf("task %+v", r)
		}
		got := w.receive(url)
		w.want(got, "1", "2")
		if *got[0].MessageId == *old[0].MessageId || got[0].Attributes["ApproximateReceiveCount"] != "1" ||
			got[0].Attributes["DeadLetterQueueSourceArn"] != "" {
			w.Errorf("not new: %v", got[0])
		}
		w.nothing(dlq)
	})
	run(t, "to a destination of one's choice", func(w *world) {
		_, dlq := dead(w, "1", "2")
		to := w.queue("to", nil)
		start(w,
			sqs.StartMessageMoveTaskInput{SourceArn: aws.String(w.arn(dlq)), DestinationArn: aws.String(w.arn(to))})
		if r := ended(w, w.arn(dlq)); aws.ToString(r.DestinationArn) != w.arn(to) {
			w.Errorf("destination %v", r.DestinationArn)
		}
		w.want(w.receive(to), "1", "2")
	})
	run(t, "at a rate, one at a time, and canceled", func(w *world) {
		url, dlq := dead(w, "1", "2", "3")
		handle := start(w,
			sqs.StartMessageMoveTaskInput{
				SourceArn:                    aws.String(w.arn(dlq)),
				MaxNumberOfMessagesPerSecond: aws.Int32(1),
			})
		_, err := w.sqs.StartMessageMoveTask(w.ctx, &sqs.StartMessageMoveTaskInput{SourceArn: aws.String(w.arn(dlq))})
		w.refused(err, invalidParameter,
			"There is already a task running. Only one active task is allowed for a source queue arn at a given time.")
		r := list(w, w.arn(dlq), 10)
		if len(r) != 1 || *r[0].Status != "RUNNING" || *r[0].TaskHandle != *handle ||
			aws.ToInt32(r[0].MaxNumberOfMessagesPerSecond) != 1 ||
			aws.ToInt64(r[0].ApproximateNumberOfMessagesToMove) != 3 {
			w.Errorf("running: %+v", r)
		}
		w.pass(1500 * time.Millisecond)
		out := must(w.sqs.CancelMessageMoveTask(w.ctx, &sqs.CancelMessageMoveTaskInput{TaskHandle: handle}))(w)
		if w.local != nil && out.ApproximateNumberOfMessagesMoved != 1 {
			w.Errorf("%d moved after a second and a half", out.ApproximateNumberOfMessagesMoved)
		}
		w.pass(3 * time.Second)
		if r := ended(w, w.arn(dlq)); *r.Status != "CANCELLED" || r.TaskHandle != nil {
			w.Errorf("canceled: %+v", r)
		}
		if w.local != nil {
			w.want(w.receive(url), "1")
		}
		_, err = w.sqs.CancelMessageMoveTask(w.ctx, &sqs.CancelMessageMoveTaskInput{TaskHandle: handle})
		if err == nil {
			w.Error("canceled twice")
		}
	})
	run(t, "a destination deleted meanwhile fails it, and loses nothing", func(w *world) {
		_, dlq := dead(w, "1", "2", "3")
		to := w.queue("to", nil)
		start(w,
			sqs.StartMessageMoveTaskInput{
				SourceArn: aws.String(w.arn(dlq)), DestinationArn: aws.String(w.arn(to)),
				MaxNumberOfMessagesPerSecond: aws.Int32(1),
			})
		w.pass(1500 * time.Millisecond)
		must(w.sqs.DeleteQueue(w.ctx, &sqs.DeleteQueueInput{QueueUrl: to}))(w)
		if r := ended(w, w.arn(dlq)); *r.Status != "FAILED" ||
			aws.ToString(r.FailureReason) != "AWS.SimpleQueueService.NonExistentQueue" {
			w.Errorf("task %+v", r)
		}
		if got := w.receive(dlq); w.local != nil && len(got) != 2 {
			w.Errorf("left: %v", bodies(got))
		}
	})
	run(t, "a message that is no dead letter has no way home", func(w *world) {
		_, dlq := dead(w)
		w.send(dlq, "x")
		start(w, sqs.StartMessageMoveTaskInput{SourceArn: aws.String(w.arn(dlq))})
		if r := ended(w, w.arn(dlq)); *r.Status != "FAILED" ||
			aws.ToString(r.FailureReason) != "CouldNotDetermineMessageSource" {
			w.Errorf("task %+v", r)
		}
		w.one(dlq)
	})
	run(t, "what cannot be started or canceled", func(w *world) {
		url, dlq := dead(w)
		for _, c := range []struct {
			in         sqs.StartMessageMoveTaskInput
			code, text string
		}{
			{
				sqs.StartMessageMoveTaskInput{SourceArn: aws.String(w.arn(url))},
				invalidParameter,
				"Source queue must be configured as a Dead Letter Queue.",
			},
			{
				sqs.StartMessageMoveTaskInput{SourceArn: aws.String(w.arn(url) + "-none")},
				noResource,
				"The resource that you specified for the SourceArn parameter doesn't exist.",
			},
			{
				sqs.StartMessageMoveTaskInput{
					SourceArn: aws.String(w.arn(dlq)),
					DestinationArn: aws.String(w.arn(url) +
						"-none"),
				},
				noResource,
				"The resource that you specified for the DestinationArn parameter doesn't exist.",
			},
			{
				sqs.StartMessageMoveTaskInput{
					SourceArn:      aws.String(w.arn(dlq)),
					DestinationArn: aws.String(w.arn(dlq)),
				},
				invalidParameter, "cannot be the same",
			},
			{sqs.StartMessageMoveTaskInput{
				SourceArn:      aws.String(w.arn(dlq)),
				DestinationArn: aws.String(w.arn(w.fifo("f", nil))),
			}, invalidParameter, "same type"},
			{sqs.StartMessageMoveTaskInput{
				SourceArn:                    aws.String(w.arn(dlq)),
				MaxNumberOfMessagesPerSecond: aws.Int32(501),
			}, invalidParameter, "MaxNumberOfMessagesPerSecond"},
			{sqs.StartMessageMoveTaskInput{SourceArn: aws.String("")}, missingParameter, "SourceArn"},
		} {
			_, err := w.sqs.StartMessageMoveTask(w.ctx, &c.in)
			w.refused(err, c.code, c.text)
			if c.code == noResource && status(err) != 404 {
				w.Errorf("status %d, want 404", status(err))
			}
		}
		_, err := w.sqs.CancelMessageMoveTask(w.ctx,
			&sqs.CancelMessageMoveTaskInput{TaskHandle: aws.String("foobared")})
		w.refused(err, invalidParameter, "Value for parameter TaskHandle is invalid.")
		for handle, text := range map[string]string{
			"eyJ0YXNrSWQiOiJ4Iiwic291cmNlQXJuIjoiYXJuOmF3czpzcXM6eDp5OnoifQ==": "The resource that you specified for " +
				"the SourceArn parameter doesn't exist.",
		} {
			_, err = w.sqs.CancelMessageMoveTask(w.ctx, &sqs.CancelMessageMoveTaskInput{TaskHandle: &handle})
			w.refused(err, noResource, text)
		}
		_, err = w.sqs.ListMessageMoveTasks(w.ctx,
			&sqs.ListMessageMoveTasksInput{SourceArn: aws.String(w.arn(dlq)), MaxResults: aws.Int32(11)})
		w.refused(err, invalidParameter, "MaxResults")
	})
}

func TestSQSPermissions(t *testing.T) {
	add := func(w *world, url *string, label string, accounts, actions []string) error {
		_, err := w.sqs.AddPermission(w.ctx,
			&sqs.AddPermissionInput{QueueUrl: url, Label: &label, AWSAccountIds: accounts, Actions: actions})
		return err
	}
	remove := func(w *world, url *string, label string) error {
		_, err := w.sqs.RemovePermission(w.ctx, &sqs.RemovePermissionInput{QueueUrl: url, Label: &label})
		return err
	}
	run(t, "a permission is a statement of the policy", func(w *world) {
		url := w.queue("q", nil)
		arn := w.arn(url)
		if err := add(w, url, "one", []string{"111111111111", "668614515564"}, []string{"ReceiveMessage"}); err != nil {
			w.Fatal(err)
		}
		want := `{"Version":"2008-10-17","Id":"` + arn +
			`/SQSDefaultPolicy","Statement":[{"Sid":"one","Effect":"Allow",` +
			`"Principal":{"AWS":["arn:aws:iam::111111111111:root","arn:aws:iam::668614515564:root"]},"Action":"SQS:ReceiveMessage","Resource":"` + arn + `"}]}`
		if got := w.attribute(url, "Policy"); got != want {
			w.Errorf("policy\n%s\nwant\n%s", got, want)
		}
		w.refused(add(w, url, "one", []string{"111111111111"}, []string{"*"}), invalidParameter,
			"Value one for parameter Label is invalid. Reason: Already exists.")
		if err := add(w, url, "two", []string{"111111111111"}, []string{"SendMessage", "DeleteMessage"}); err != nil {
			w.Fatal(err)
		}
		if err := remove(w, url, "one"); err != nil {
			w.Fatal(err)
		}
		if got := w.attribute(url, "Policy"); !strings.Contains(got, `"AWS":"arn:aws:iam::111111111111:root"`) ||
			!strings.Contains(got, `"Action":["SQS:SendMessage","SQS:DeleteMessage"]`) || strings.Contains(got, "one") {
			w.Errorf("policy %s", got)
		}
		if err := remove(w, url, "two"); err != nil || w.attribute(url, "Policy") != "" {
			w.Errorf("the last: %v, %s", err, w.attribute(url, "Policy"))
		}
		w.refused(remove(w, url, "two"), invalidParameter,
			"Value two for parameter Label is invalid. Reason: can't find label.")
	})
	run(t, "labels, actions and accounts are checked", func(w *world) {
		url := w.queue("q", nil)
		one := []string{"111111111111"}
		w.refused(add(w, url, "a b", one, []string{"*"}), invalidParameter, "for parameter Label is invalid.")
		w.refused(add(w, url, "a", one, []string{"CreateQueue"}), invalidParameter,
			"Value SQS:CreateQueue for parameter ActionName is invalid. Reason: Only the queue owner is allowed to "+
				"invoke this action.")
		w.refused(add(w, url, "a", one, []string{"SendMessageBatch"}), invalidParameter,
			"Value SQS:SendMessageBatch for parameter ActionName is invalid. Reason: Please refer to the appropriate "+
				"WSDL for a list of valid actions.")
		w.refused(add(w, url, "a", []string{"x"}, []string{"*"}), invalidParameter,
			"Value [x] for parameter PrincipalId is invalid. Reason: Unable to verify.")
		w.refused(add(w, url, "a", one, []string{"*", "*", "*", "*", "*", "*", "*", "*"}), "OverLimit",
			"8 Actions were found, maximum allowed is 7.")
		w.refused(add(w, url, "", one, []string{"*"}), missingParameter, "Label")
		w.refused(add(w, url, "a", []string{}, []string{"*"}), invalidParameter,
			"Value [] for parameter PrincipalId is invalid. Reason: Unable to verify.")
		w.refused(add(w, url, "a", one, []string{}), missingParameter, "Actions")
	})
}

package conformance

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

func TestSQSReceiveMessage(t *testing.T) {
	run(t, "system attributes: exactly those asked for", func(w *world) {
		url := w.queue("q", nil)
		w.send(url, "x", func(i *sqs.SendMessageInput) {
			i.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
				"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("trace")},
			}
		})
		names := func(m types.Message) []string {
			var all []string
			for k := range m.Attributes {
				all = append(all, k)
			}
			slices.Sort(all)
			return all
		}
		m := w.back(url)
		want := []string{
			"AWSTraceHeader", "ApproximateFirstReceiveTimestamp", "ApproximateReceiveCount", "SenderId",
			"SentTimestamp",
		}
		if diff := cmp.Diff(want, names(m)); diff != "" {
			w.Errorf("All (-want +got):\n%s", diff)
		}
		for _, name := range []string{"SentTimestamp", "ApproximateFirstReceiveTimestamp"} {
			if n, err := strconv.ParseInt(m.Attributes[name], 10, 64); err != nil || n < 900_000_000_000 {
				w.Errorf("%s is %q, want milliseconds", name, m.Attributes[name])
			}
		}
		m = w.back(url, func(i *sqs.ReceiveMessageInput) {
			i.MessageSystemAttributeNames = []types.MessageSystemAttributeName{"SenderId", "SequenceNumber"}
		})
		if diff := cmp.Diff([]string{"SenderId"}, names(m)); diff != "" {
			w.Errorf("two (-want +got):\n%s", diff)
		}
		m = w.back(url, func(i *sqs.ReceiveMessageInput) {
			i.MessageSystemAttributeNames = nil
			//nolint:staticcheck // old clients still send it
			i.AttributeNames = []types.QueueAttributeName{"ApproximateReceiveCount"}
		})
		if diff := cmp.Diff(map[string]string{"ApproximateReceiveCount": "3"}, m.Attributes); diff != "" {
			w.Errorf("by the old name (-want +got):\n%s", diff)
		}
		m = w.back(url, func(i *sqs.ReceiveMessageInput) { i.MessageSystemAttributeNames = nil })
		if m.Attributes != nil {
			w.Errorf("none asked for: %v", m.Attributes)
		}
		_, err := w.sqs.ReceiveMessage(w.ctx, &sqs.ReceiveMessageInput{
			QueueUrl:                    url,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{"Nope"},
		})
		w.refused(err, badName, "Unknown Attribute Nope.")
	})
	run(t, "message attributes: by name, by prefix, all, and the digest of those returned", func(w *world) {
		url := w.queue("q", nil)
		w.send(url, "msg", with("Help.Me", str("Me")), with("Hello", str("There")), with("General", str("Kenobi")))
		for _, c := range []struct {
			names []string
			want  []string
			md5   string
		}{
			{nil, nil, ""},
			{[]string{"All"}, []string{"General", "Hello", "Help.Me"}, "4c360f3fdafd970e05fae2f149d997f5"},
			{[]string{".*"}, []string{"General", "Hello", "Help.Me"}, "4c360f3fdafd970e05fae2f149d997f5"},
			{[]string{"Foo", "Help"}, nil, ""},
			{[]string{"Hello", "General"}, []string{"General", "Hello"}, "fca026605781cb4126a1e9044df24232"},
			{[]string{"Foo", "Hello"}, []string{"Hello"}, "a311262e065454b75da111d535b8dacd"},
			{[]string{"Hel.*"}, []string{"Hello", "Help.Me"}, "83fee93c1bcd8b9a5a923ffacdc636c7"},
			{[]string{"AWS."}, nil, ""},
		} {
			m := w.back(url, func(i *sqs.ReceiveMessageInput) { i.MessageAttributeNames = c.names })
			var got []string
			for k := range m.MessageAttributes {
				got = append(got, k)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) || aws.ToString(m.MD5OfMessageAttributes) != c.md5 {
				w.Errorf("%v gives %v with %s, want %v with %s", c.names, got, aws.ToString(m.MD5OfMessageAttributes),
					c.want, c.md5)
			}
		}
	})
	run(t, "a handle is of letters, digits, + / and = only, and new each time", func(w *world) {
		url := w.queue("q", nil)
		w.send(url, "x")
		seen := map[string]bool{}
		for range 20 {
			h := *w.back(url).ReceiptHandle
			if seen[h] || !regexp.MustCompile(`^[A-Za-z0-9+/=]+$`).MatchString(h) {
				w.Errorf("handle %s", h)
			}
			seen[h] = true
		}
	})
	run(t, "one message unless more are asked for, ten at most", func(w *world) {
		url := w.queue("q", nil)
		for range 15 {
			w.send(url, "x")
		}
		out := must(w.sqs.ReceiveMessage(w.ctx, &sqs.ReceiveMessageInput{QueueUrl: url}))(w)
		if len(out.Messages) != 1 {
			w.Errorf("%d messages by default", len(out.Messages))
		}
		if got := w.receive(url); w.local != nil && len(got) != 10 {
			w.Errorf("%d messages of ten", len(got))
		}
	})
	run(t, "parameters out of bounds", func(w *world) {
		url := w.queue("q", nil)
		for _, n := range []int32{-1, 11} {
			_, err := w.sqs.ReceiveMessage(w.ctx, &sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: n})
			w.refused(err, invalidParameter,
				"Value "+strconv.Itoa(int(n))+
					" for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.")
		}
		for _, n := range []int32{-1, 21} {
			_, err := w.sqs.ReceiveMessage(w.ctx, &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: n})
			w.refused(err, invalidParameter,
				"for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.")
		}
		for _, n := range []int32{-1, 43201} {
			_, err := w.sqs.ReceiveMessage(w.ctx, &sqs.ReceiveMessageInput{QueueUrl: url, VisibilityTimeout: n})
			w.refused(err, invalidParameter,
				"for parameter VisibilityTimeout is invalid. Reason: Must be >= 0 and <= 43200, if provided.")
		}
		_, err := w.sqs.ReceiveMessage(w.ctx,
			&sqs.ReceiveMessageInput{QueueUrl: url, ReceiveRequestAttemptId: aws.String("a")})
		w.refused(err, invalidParameter, "ReceiveRequestAttemptId")
	})
	run(t, "a received message is hidden for the queue's time or the receive's", func(w *world) {
		url := w.queue("q", attrs{"VisibilityTimeout": "4"})
		w.send(url, "x")
		first := w.one(url)
		w.nothing(url)
		if n := w.attribute(url, "ApproximateNumberOfMessagesNotVisible"); n != "1" {
			w.Errorf("%s in flight, want 1", n)
		}
		w.pass(4 * time.Second)
		second := w.one(url, hidden(2))
		w.pass(2 * time.Second)
		third := w.one(url)
		if second.Attributes["ApproximateReceiveCount"] != "2" || third.Attributes["ApproximateReceiveCount"] != "3" {
			w.Errorf("counts %s, %s", second.Attributes["ApproximateReceiveCount"],
				third.Attributes["ApproximateReceiveCount"])
		}
		const at = "ApproximateFirstReceiveTimestamp"
		if third.Attributes[at] != first.Attributes[at] {
			w.Error("the time of the first receive moved")
		}
	})
	run(t, "a visibility of zero hides nothing", func(w *world) {
		url := w.queue("q", nil)
		w.send(url, "x")
		for range 2 {
			if _, _, body := w.json("ReceiveMessage", `{"QueueUrl":"`+*url+`","VisibilityTimeout":0}`); !contains(body,
				`"Body":"x"`) {
				w.Errorf("received %s", body)
			}
		}
	})
	run(t, "messages go when they are too old, in flight or not", func(w *world) {
		url := w.queue("q", attrs{"MessageRetentionPeriod": "60"})
		w.send(url, "in flight")
		w.receive(url, hidden(600))
		w.send(url, "waiting")
		w.pass(59 * time.Second)
		w.send(url, "young")
		w.pass(time.Second)
		if got := bodies(w.receive(url)); !slices.Equal(got, []string{"young"}) {
			w.Errorf("left: %v", got)
		}
		if n := w.attribute(url, "ApproximateNumberOfMessagesNotVisible"); n != "1" {
			w.Errorf("%s in flight, want the young one", n)
		}
	})
}

func TestSQSLongPoll(t *testing.T) {
	wakes := func(name string, attributes attrs, before func(w *world, url *string), during func(w *world, url *string),
		at, after time.Duration,
	) {
		run(t, "wakes at once on "+name, func(w *world) {
			url := w.queue("q", attributes)
			before(w, url)
			began := time.Now()
			if during != nil {
				w.beside(func() {
					time.Sleep(at)
					during(w, url)
				})
			}
			got := w.receive(url, waiting(20))
			took := time.Since(began)
			slack := time.Duration(0)
			if w.local == nil { // there is a delay between the server and the observation, in both directions
				slack = 2 * time.Second
			}
			if len(got) != 1 || took < after-slack || took > after+slack {
				w.Errorf("%d messages after %v, want one after %v", len(got), took, after)
			}
		})
	}
	none := func(*world, *string) {}
	wakes("a send", nil, none, func(w *world, url *string) { w.send(url, "x") }, 7*time.Second, 7*time.Second)
	wakes("the end of a delay", nil, func(w *world, url *string) { w.send(url, "x", delayed(9)) }, nil, 0,
		9*time.Second)
	wakes("the end of a visibility", nil, func(w *world, url *string) {
		w.send(url, "x")
		w.one(url, hidden(6))
	}, nil, 0, 6*time.Second)
	var held types.Message
	wakes("visibility zero", nil, func(w *world, url *string) {
		w.send(url, "x")
		held = w.one(url)
	}, func(w *world, url *string) {
		if err := w.change(url, held, 0); err != nil {
			w.Error(err)
		}
	}, 3*time.Second, 3*time.Second)
	wakes("a shortened visibility", nil, func(w *world, url *string) {
		w.send(url, "x")
		held = w.one(url, hidden(600))
	}, func(w *world, url *string) {
		if err := w.change(url, held, 2); err != nil {
			w.Error(err)
		}
	}, 3*time.Second, 5*time.Second)
	run(t, "wakes at once on a redrive", func(w *world) {
		dlq := w.queue("d", nil)
		url := w.queue("q", w.deadLetters(dlq, 1))
		w.send(url, "x")
		began := time.Now() // before the receive, from which its three seconds are counted
		w.one(url, hidden(3))
		w.beside(func() { w.nothing(url, waiting(10)) }) // the next receive moves the message
		if m := w.one(dlq, waiting(20)); *m.Body != "x" {
			w.Error("another message")
		}
		if took := time.Since(began); took < 3*time.Second || w.local != nil && took > 3*time.Second {
			w.Errorf("after %v, want 3s", took)
		}
		w.pass(8 * time.Second)
	})
	run(t, "waits as long as the queue says where the receive says nothing", func(w *world) {
		url := w.queue("q", attrs{"ReceiveMessageWaitTimeSeconds": "4"})
		began := time.Now()
		w.nothing(url)
		if took := time.Since(began); took < 4*time.Second {
			w.Errorf("came back after %v", took)
		}
		began = time.Now()
		w.json("ReceiveMessage", `{"QueueUrl":"`+*url+`","WaitTimeSeconds":0}`)
		if took := time.Since(began); took > 2*time.Second {
			w.Errorf("a short poll took %v", took)
		}
	})
	run(t, "a poller that went away takes nothing: the message goes to the next", func(w *world) {
		url := w.queue("q", nil)
		ctx, cancel := context.WithCancel(w.ctx)
		gone := make(chan error)
		go func() {
			_, err := w.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: url, WaitTimeSeconds: 20})
			gone <- err
		}()
		w.pass(time.Second)
		next := make(chan []types.Message)
		w.beside(func() {
			defer close(next)
			next <- w.receive(url, waiting(20))
		})
		w.pass(time.Second)
		cancel()
		if err := <-gone; err == nil {
			w.Error("the canceled poll brought an answer")
		}
		w.pass(time.Second) // over a socket, the end takes a moment to arrive
		w.send(url, "x")
		if got := <-next; len(got) != 1 || got[0].Attributes["ApproximateReceiveCount"] != "1" {
			w.Errorf("the next poller got %v", got)
		}
	})
	run(t, "as many pollers wake as there are messages", func(w *world) {
		url := w.queue("q", nil)
		got := make(chan int)
		for range 5 {
			w.beside(func() {
				n := 0
				defer func() { got <- n }()
				n = len(w.receive(url, waiting(10), upTo(1)))
			})
		}
		w.pass(time.Second)
		for range 3 {
			w.send(url, "x")
		}
		sum := 0
		for range 5 {
			sum += <-got
		}
		if sum != 3 {
			w.Errorf("%d messages in all, want 3", sum)
		}
	})
}

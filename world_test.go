package godwit_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
	model "github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// world is a new backend in virtual time.
type world struct {
	*testing.T
	backend *local.Backend
	server  *localaws.Server
	hangs   string // the calls that Hang affects
}

// inWorld runs a test in a bubble, with the unmodified SDK and a real server.
func inWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b, err := local.Open(t.Context(), &local.Options{Server: &localaws.Options{Seed: 1}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := b.Close(context.Background()); err != nil {
				t.Errorf("close the backend: %v", err)
			}
		}()
		f(&world{T: t, backend: b, server: b.Server()})
	})
}

// large is a header that no service takes.
func large() godwit.Headers {
	return godwit.Headers{{Name: "large", Value: strings.Repeat("x", 2<<20)}}
}

func (w *world) producer(channel string, o *godwit.ProducerOptions) *godwit.Producer {
	w.Helper()
	p, err := godwit.NewProducer(w.Context(), w.backend, channel, o)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

func (w *world) consumer(channel string, o *godwit.ConsumerOptions) *godwit.Consumer {
	w.Helper()
	c, err := godwit.NewConsumer(w.Context(), w.backend, channel, o)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// running is a consumer that runs until stop is called.
type running struct {
	w      *world
	cancel context.CancelFunc
	done   chan struct{}
	report godwit.Report
	err    error
}

func (w *world) run(c *godwit.Consumer, h godwit.Handler) *running {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	r := &running{w: w, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.report, r.err = c.Run(ctx, h)
	}()
	return r
}

// stop stops the consumer and returns its report. An error fails the test.
func (r *running) stop() godwit.Report {
	r.w.Helper()
	r.cancel()
	<-r.done
	if r.err != nil {
		r.w.Errorf("run: %v", r.err)
	}
	if r.report.Leaked != 0 {
		r.w.Error("the report counts leaked deliveries")
	}
	return r.report
}

// calls counts the server's calls of some actions.
func (w *world) calls(actions ...string) (n int) {
	all := w.server.Calls()
	for _, a := range actions {
		n += all[a]
	}
	return n
}

// sdk is a configuration for the test's own AWS clients.
func (w *world) sdk() aws.Config {
	return aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws.internal"),
		Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
		HTTPClient:  &http.Client{Transport: w.server.Transport()},
	}
}

// deleteChannel deletes the queue or the topic of a channel while it is in use.
func (w *world) deleteChannel(channel string, ordered bool) {
	w.Helper()
	name, isExchange := strings.CutSuffix(channel, ".*")
	if ordered {
		name += ".fifo"
	}
	var err error
	if isExchange {
		arn := "arn:aws:sns:us-east-1:000000000000:" + name
		_, err = sns.NewFromConfig(w.sdk()).DeleteTopic(w.Context(), &sns.DeleteTopicInput{TopicArn: &arn})
	} else {
		url := "http://localaws.internal/000000000000/" + name
		_, err = sqs.NewFromConfig(w.sdk()).DeleteQueue(w.Context(), &sqs.DeleteQueueInput{QueueUrl: &url})
	}
	if err != nil {
		w.Fatal(err)
	}
}

// entries returns the bodies of a batch that a control gets, by their ids.
func entries(input any) map[string]string {
	out := map[string]string{}
	if in, ok := input.(*model.SendMessageBatchInput); ok {
		for _, e := range in.Entries {
			out[e.ID] = e.MessageBody
		}
	}
	return out
}

// latency delays the calls for sends, receives and settlements.
func (w *world) latency(d time.Duration) {
	w.server.Control("sqs.*",
		func(_ context.Context, r *localaws.Request) localaws.Outcome { return localaws.Outcome{Delay: d} })
}

// messages are all messages in a queue, in every state.
func (w *world) messages(name string) []queue.View {
	w.Helper()
	q := w.server.SQS().Queue(name)
	if q == nil {
		w.Fatalf("there is no queue %s", name)
	}
	return q.Model().Messages()
}

// visible fails unless a queue has exactly n messages and all of them can be received.
func (w *world) visible(queue string, n int) {
	w.Helper()
	ms := w.messages(queue)
	for _, m := range ms {
		if m.State.String() != "visible" {
			w.Errorf("%s holds %q, which is %s until %v", queue, m.Body, m.State, m.Until)
		}
	}
	if len(ms) != n {
		w.Errorf("%s holds %d messages, want %d", queue, len(ms), n)
	}
}

// purge deletes the messages of a queue while it is in use.
func (w *world) purge(name string) {
	w.Helper()
	url := "http://localaws.internal/000000000000/" + name
	if _, err := sqs.NewFromConfig(w.sdk()).PurgeQueue(w.Context(), &sqs.PurgeQueueInput{QueueUrl: &url}); err != nil {
		w.Error(err)
	}
}

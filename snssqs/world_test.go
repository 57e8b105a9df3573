package snssqs_test

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

const (
	account  = "000000000000"
	queueARN = "arn:aws:sqs:us-east-1:" + account + ":"
	topicARN = "arn:aws:sns:us-east-1:" + account + ":"
)

// world is a server, a backend on it, and clients of another program.
type world struct {
	*testing.T
	server    *localaws.Server
	conf      aws.Config
	b         *snssqs.Backend
	sqs       *sqs.Client
	sns       *sns.Client
	receivers []driver.Receiver
}

// inWorld runs a test in virtual time.
func inWorld(t *testing.T, o localaws.Options, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, o)
		defer w.close()
		f(w)
	})
}

// testSeed gives every run the same ids and receipt handles.
const testSeed = 1

func newWorld(t *testing.T, o localaws.Options) *world {
	t.Helper()
	o.Seed = testSeed
	server, err := localaws.New(&o)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, server: server}
	w.conf = aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws.internal"),
		Credentials: credentials.NewStaticCredentialsProvider("k", "s",
			""), HTTPClient: &http.Client{Transport: server.Transport()},
	}
	w.sqs, w.sns = sqs.NewFromConfig(w.conf), sns.NewFromConfig(w.conf)
	w.b = w.open(snssqs.Options{})
	return w
}

func (w *world) close() {
	for _, r := range w.receivers {
		if err := r.Close(w.Context()); err != nil {
			w.Errorf("close a receiver: %v", err)
		}
	}
	if err := w.server.Close(); err != nil {
		w.Errorf("close the server: %v", err)
	}
}

// open opens another backend on the same server.
func (w *world) open(o snssqs.Options) *snssqs.Backend {
	w.Helper()
	o.AWS, o.CancelPolls = &w.conf, true
	if o.Transport == nil {
		o.Transport = w.server.Transport()
	}
	b, err := snssqs.Open(w.Context(), &o)
	if err != nil {
		w.Fatal(err)
	}
	return b
}

// owner returns the specification of a consumer.
func owner(ch driver.Channel) driver.ChannelSpec {
	return driver.ChannelSpec{Channel: ch, Owner: true, MaxReceives: 30}
}

func (w *world) ensure(s driver.ChannelSpec) {
	w.Helper()
	if err := w.b.Ensure(w.Context(), s); err != nil {
		w.Fatalf("provision %s: %v", s.Channel, err)
	}
}

// receiver opens a receiver, which is closed when the test ends.
func (w *world) receiver(ch driver.Channel, f driver.Filter) driver.Receiver {
	w.Helper()
	r, err := w.b.Receiver(w.Context(), ch, driver.ReceiverOptions{Concurrency: 10, Wait: time.Second, Filter: f})
	if err != nil {
		w.Fatal(err)
	}
	w.receivers = append(w.receivers, r)
	return r
}

func (w *world) receive(r driver.Receiver, n int) []driver.Delivery {
	w.Helper()
	var ds []driver.Delivery
	for range 20 {
		var err error
		if ds, err = r.Receive(w.Context(), driver.Ask{Max: n - len(ds)}, ds); err != nil {
			w.Fatal(err)
		}
		if len(ds) == n {
			return ds
		}
	}
	w.Fatalf("received %d of %d", len(ds), n)
	return nil
}

func (w *world) sender(ch driver.Channel) driver.Sender {
	w.Helper()
	s, err := w.b.Sender(w.Context(), ch)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

func (w *world) send(s driver.Sender, ms ...driver.Message) {
	w.Helper()
	for i := range ms {
		p, err := s.Prepare(w.Context(), &ms[i])
		if err == nil {
			err = s.Send(w.Context(), []driver.Prepared{p})
		}
		if err != nil {
			w.Fatal(err)
		}
	}
}

// foreign sends a message that was not made by Godwit.
func (w *world) foreign(queue, body string, attributes map[string]types.MessageAttributeValue) {
	w.Helper()
	if _, err := w.sqs.SendMessage(w.Context(),
		&sqs.SendMessageInput{
			QueueUrl: aws.String(w.url(queue)), MessageBody: &body,
			MessageAttributes: attributes,
		}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) url(queue string) string {
	w.Helper()
	out, err := w.sqs.GetQueueUrl(w.Context(), &sqs.GetQueueUrlInput{QueueName: &queue})
	if err != nil {
		w.Fatalf("queue %s: %v", queue, err)
	}
	return *out.QueueUrl
}

// attributes returns the attributes of a queue.
func (w *world) attributes(queue string) map[string]string {
	w.Helper()
	out, err := w.sqs.GetQueueAttributes(w.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: aws.String(w.url(queue)), AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		w.Fatal(err)
	}
	return out.Attributes
}

func (w *world) tags(queue string) map[string]string {
	w.Helper()
	out, err := w.sqs.ListQueueTags(w.Context(), &sqs.ListQueueTagsInput{QueueUrl: aws.String(w.url(queue))})
	if err != nil {
		w.Fatal(err)
	}
	return out.Tags
}

func (w *world) set(queue string, attributes map[string]string) {
	w.Helper()
	if _, err := w.sqs.SetQueueAttributes(w.Context(),
		&sqs.SetQueueAttributesInput{QueueUrl: aws.String(w.url(queue)), Attributes: attributes}); err != nil {
		w.Fatal(err)
	}
}

// calls runs f and counts its calls by action.
func (w *world) calls(f func()) map[string]int {
	before := w.server.Calls()
	f()
	made := map[string]int{}
	for action, n := range w.server.Calls() {
		if d := n - before[action]; d > 0 {
			made[action] = d
		}
	}
	return made
}

// changing returns the calls that change a resource.
func changing(calls map[string]int) map[string]int {
	calls = maps.Clone(calls)
	maps.DeleteFunc(calls, func(action string, _ int) bool {
		_, verb, _ := strings.Cut(action, ".")
		for _, harmless := range []string{"Get", "List", "Receive"} {
			if strings.HasPrefix(verb, harmless) {
				return true
			}
		}
		return false
	})
	return calls
}

func text(s string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &s}
}

// reject rejects deliveries.
func (w *world) reject(r driver.Receiver, why string, ds ...driver.Delivery) {
	w.Helper()
	ss := make([]driver.Settlement, len(ds))
	for i := range ds {
		ss[i] = driver.Settlement{
			Handle: ds[i].Handle, Action: driver.Reject,
			Death: &driver.Death{Error: why, Kind: "permanent", Channel: "orders", Attempts: 1},
		}
	}
	if err := r.Settle(context.WithoutCancel(w.Context()), ss); err != nil {
		w.Fatalf("reject: %v", err)
	}
}

package godwitlambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/godwitlambda"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/snssqs"
)

// functionTimeout is the timeout of the functions of these tests.
const functionTimeout = 30 * time.Second

// world is an embedded server with a backend, and a client of another program: Lambda.
type world struct {
	testing.TB
	*local.Backend
	sqs *sqs.Client
}

// inWorld runs a test in virtual time.
func inWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.close()
		f(w)
	})
}

func newWorld(t testing.TB) *world {
	t.Helper()
	b, err := local.Open(t.Context(), &local.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	conf := aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws.internal"),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient:  &http.Client{Transport: b.Server().Transport()},
	}
	return &world{t, b, sqs.NewFromConfig(conf)}
}

func (w *world) close() {
	if err := w.Close(context.Background()); err != nil {
		w.Error(err)
	}
}

// make makes a channel, as a deployment does.
func (w *world) make(ch driver.Channel, visibility time.Duration) {
	w.Helper()
	err := w.Ensure(w.Context(), driver.ChannelSpec{Channel: ch, Owner: true, MaxReceives: 100, Lease: visibility})
	if err != nil {
		w.Fatal(err)
	}
}

// send sends messages, each as body or as key=body.
func (w *world) send(channel string, ordered bool, bodies ...string) {
	w.Helper()
	p, err := godwit.NewProducer(w.Context(), w.Backend, channel, &godwit.ProducerOptions{Ordered: ordered})
	if err != nil {
		w.Fatal(err)
	}
	for _, body := range bodies {
		m := godwit.Message{Body: []byte(body), RoutingKey: "all"}
		if key, rest, has := strings.Cut(body, "="); has {
			m.OrderKey, m.Body = key, []byte(rest)
		}
		err = errors.Join(err, p.Send(w.Context(), m))
	}
	if err = errors.Join(err, p.Close(w.Context())); err != nil {
		w.Fatal(err)
	}
}

func (w *world) url(queue string) *string {
	w.Helper()
	out, err := w.sqs.GetQueueUrl(w.Context(), &sqs.GetQueueUrlInput{QueueName: &queue})
	if err != nil {
		w.Fatal(err)
	}
	return out.QueueUrl
}

// waiting is how many messages a queue has, visible or not.
func (w *world) waiting(queue string) (visible, inFlight string) {
	w.Helper()
	out, err := w.sqs.GetQueueAttributes(w.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: w.url(queue), AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		w.Fatal(err)
	}
	return out.Attributes["ApproximateNumberOfMessages"], out.Attributes["ApproximateNumberOfMessagesNotVisible"]
}

// receive receives messages, as Lambda's poller does: with the visibility timeout of the queue.
func (w *world) receive(queue string, n int) []types.Message {
	w.Helper()
	var ms []types.Message
	for range 3 {
		out, err := w.sqs.ReceiveMessage(w.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: w.url(queue), MaxNumberOfMessages: int32(min(10, n-len(ms))), WaitTimeSeconds: 1,
			MessageAttributeNames:       []string{"All"},
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		})
		if err != nil {
			w.Fatal(err)
		}
		if ms = append(ms, out.Messages...); len(ms) >= n || len(out.Messages) == 0 {
			break
		}
	}
	return ms
}

// record is one message in an event, as AWS documents it.
type record struct {
	MessageID         string                     `json:"messageId"`
	ReceiptHandle     string                     `json:"receiptHandle"`
	Body              string                     `json:"body"`
	Attributes        map[string]string          `json:"attributes"`
	MessageAttributes map[string]recordAttribute `json:"messageAttributes"`
	MD5OfBody         string                     `json:"md5OfBody"`
	EventSource       string                     `json:"eventSource"`
	EventSourceARN    string                     `json:"eventSourceARN"`
	AWSRegion         string                     `json:"awsRegion"`
}

type recordAttribute struct {
	StringValue      *string  `json:"stringValue,omitempty"`
	BinaryValue      []byte   `json:"binaryValue,omitempty"`
	StringListValues []string `json:"stringListValues"`
	BinaryListValues []string `json:"binaryListValues"`
	DataType         string   `json:"dataType"`
}

const arnOf = "arn:aws:sqs:us-east-1:000000000000:"

// eventOf is the event that Lambda makes of received messages.
func eventOf(queue string, ms []types.Message) []byte {
	records := make([]record, len(ms))
	for i, m := range ms {
		records[i] = record{
			MessageID: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body, Attributes: m.Attributes,
			MessageAttributes: map[string]recordAttribute{}, MD5OfBody: *m.MD5OfBody,
			EventSource: "aws:sqs", EventSourceARN: arnOf + queue, AWSRegion: "us-east-1",
		}
		for name, a := range m.MessageAttributes {
			records[i].MessageAttributes[name] = recordAttribute{
				StringValue: a.StringValue, BinaryValue: a.BinaryValue,
				StringListValues: []string{}, BinaryListValues: []string{}, DataType: *a.DataType,
			}
		}
	}
	text, err := json.Marshal(map[string]any{"Records": records})
	if err != nil {
		panic(err)
	}
	return text
}

// failuresOf reads an answer strictly, as Lambda does.
func failuresOf(answer []byte) (ids []string, err error) {
	var a struct {
		BatchItemFailures []struct {
			ItemIdentifier string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	d := json.NewDecoder(strings.NewReader(string(answer)))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return nil, fmt.Errorf("answer %s: %w", answer, err)
	}
	if a.BatchItemFailures == nil {
		return nil, fmt.Errorf("answer %s has no list", answer)
	}
	for _, f := range a.BatchItemFailures {
		ids = append(ids, f.ItemIdentifier)
	}
	return ids, nil
}

// deleteOthers deletes the messages of an event that the answer does not name.
func (w *world) deleteOthers(queue string, ms []types.Message, failed []string) {
	w.Helper()
	for _, m := range ms {
		if slices.Contains(failed, *m.MessageId) {
			continue
		}
		if _, err := w.sqs.DeleteMessage(w.Context(), &sqs.DeleteMessageInput{
			QueueUrl: w.url(queue), ReceiptHandle: m.ReceiptHandle,
		}); err != nil {
			w.Errorf("delete %s: %v", *m.Body, err)
		}
	}
}

// invoke receives at most n messages, invokes the handler as Lambda does, and deletes what the answer does not name. It
// returns the bodies of the others, and how long the handler took.
func (w *world) invoke(h *godwitlambda.Handler, queue string, n int) (failed []string, took time.Duration) {
	w.Helper()
	ms := w.receive(queue, n)
	if len(ms) == 0 {
		w.Fatalf("queue %s has no message", queue)
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(w.Context(), functionTimeout)
	defer cancel()
	text, err := h.Invoke(ctx, eventOf(queue, ms))
	if err != nil {
		w.Fatal(err)
	}
	took = time.Since(began)
	if ctx.Err() != nil {
		w.Fatal("the function has ended after its deadline")
	}
	ids, err := failuresOf(text)
	if err != nil {
		w.Fatal(err)
	}
	w.deleteOthers(queue, ms, ids)
	for _, m := range ms {
		if slices.Contains(ids, *m.MessageId) {
			failed = append(failed, *m.Body)
		}
	}
	return failed, took
}

func (w *world) handler(channel string, h godwit.Handler, o godwit.ConsumerOptions) *godwitlambda.Handler {
	w.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	f, err := godwitlambda.NewHandler(w.Context(), w.snssqs(), channel, h, &o)
	if err != nil {
		w.Fatal(err)
	}
	return f
}

func (w *world) snssqs() *snssqs.Backend { return w.Backend.Backend }

// deaths are the dead letters of a channel, as kind and body.
func (w *world) deaths(channel string, ordered bool) (all []string) {
	w.Helper()
	c, err := godwit.NewConsumer(w.Context(), w.Backend, channel+"@dlq", &godwit.ConsumerOptions{Ordered: ordered})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	for d, err := range c.Deliveries(ctx) {
		if err != nil {
			w.Fatal(err)
		}
		all = append(all, d.Death.Kind+" "+string(d.Body))
		_ = d.Done()
	}
	slices.Sort(all)
	if _, err := c.Close(context.Background()); err != nil {
		w.Fatal(err)
	}
	return all
}

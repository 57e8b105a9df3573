package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/snssqs"
)

// make creates a queue.
func (f *foreign) make(queue string, attributes map[string]string) {
	f.Helper()
	if *foreignClient != "" {
		in, err := json.Marshal(attributes)
		if err != nil {
			f.Fatal(err)
		}
		f.program(in, "make", queue)
		return
	}
	if _, err := f.client.CreateQueue(f.Context(), &sqs.CreateQueueInput{
		QueueName: &queue, Attributes: attributes,
	}); err != nil {
		f.Fatal(err)
	}
}

// subscribe creates a topic, and a subscription without raw delivery for messages of the kind mail.
func (f *foreign) subscribe(topic, queue string) (arn string) {
	f.Helper()
	if *foreignClient != "" {
		return string(f.program(nil, "subscribe", topic, f.url(queue)))
	}
	made, err := f.sns().CreateTopic(f.Context(), &sns.CreateTopicInput{Name: &topic})
	if err != nil {
		f.Fatal(err)
	}
	url, to := f.url(queue), "arn:aws:sqs:us-east-1:000000000000:"+queue
	policy := fmt.Sprintf(`{"Statement":{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":`+
		`"sqs:SendMessage","Resource":%q,"Condition":{"ArnEquals":{"aws:SourceArn":%q}}}}`, to, *made.TopicArn)
	_, err = f.client.SetQueueAttributes(f.Context(), &sqs.SetQueueAttributesInput{
		QueueUrl: &url, Attributes: map[string]string{"Policy": policy},
	})
	if err == nil {
		_, err = f.sns().Subscribe(f.Context(), &sns.SubscribeInput{
			TopicArn: made.TopicArn, Protocol: aws.String("sqs"), Endpoint: &to,
			Attributes: map[string]string{"FilterPolicy": `{"kind":["mail"]}`},
		})
	}
	if err != nil {
		f.Fatal(err)
	}
	return *made.TopicArn
}

func (f *foreign) sns() *sns.Client {
	o := f.client.Options()
	return sns.New(sns.Options{
		Region: o.Region, BaseEndpoint: o.BaseEndpoint, HTTPClient: o.HTTPClient,
		Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
	})
}

// everything is the attributes of a queue that do not change by themselves.
func (f *foreign) everything(queue string) map[string]string {
	f.Helper()
	url := f.url(queue)
	out, err := f.client.GetQueueAttributes(f.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		f.Fatal(err)
	}
	maps.DeleteFunc(out.Attributes, func(name, _ string) bool { return strings.HasPrefix(name, "ApproximateNumber") })
	return out.Attributes
}

// move lets SQS move the messages of a dead-letter queue. It must know the destination, because SQS has not moved them
// there itself.
func (f *foreign) move(dead, queue string) {
	f.Helper()
	arn, to := f.everything(dead)["QueueArn"], f.everything(queue)["QueueArn"]
	if *foreignClient != "" {
		f.program(nil, "move", arn, to)
		return
	}
	if _, err := f.client.StartMessageMoveTask(f.Context(), &sqs.StartMessageMoveTaskInput{
		SourceArn: &arn, DestinationArn: &to,
	}); err != nil {
		f.Fatal(err)
	}
	for status := "RUNNING"; status == "RUNNING"; {
		out, err := f.client.ListMessageMoveTasks(f.Context(), &sqs.ListMessageMoveTasksInput{SourceArn: &arn})
		if err != nil {
			f.Fatal(err)
		}
		status = *out.Results[0].Status
	}
}

// A system of another program, with queues, dead letters, a topic and messages that Godwit did not make, is taken over,
// and then used by that program again: docs/migrating.md.
func TestMigrating(t *testing.T) {
	if apart(t) {
		return
	}
	for _, queue := range []string{"Legacy_Orders", "Legacy_Invoices.fifo"} {
		t.Run(queue, func(t *testing.T) {
			m := newMigration(t, queue)
			before := m.f.everything(queue)
			sent := m.messages()
			m.f.send(queue, sent)

			// Godwit handles one, rejects one, and is stopped while it works on another.
			var mu sync.Mutex
			seen := map[string]godwit.Headers{}
			m.consume(t, func(ctx context.Context, d *godwit.Delivery) error {
				mu.Lock()
				seen[string(d.Body)] = d.Headers
				mu.Unlock()
				switch string(d.Body) {
				case "good":
					return nil
				case "bad":
					return godwit.Permanent(errors.New("no such customer"))
				}
				<-ctx.Done()
				return context.Cause(ctx)
			}, func(r godwit.Live) bool {
				mu.Lock()
				defer mu.Unlock()
				return len(seen) == len(sent) && r.Running == 2 && m.waiting(t, m.dead) == 1
			})
			if h := seen["bad"]; h.Value("locale") != "de" || h.Value("count") != "007" {
				t.Errorf("the handler got the headers %v", h)
			}

			// The old program gets the others at once, as they were sent.
			rest := slices.DeleteFunc(slices.Clone(sent), func(m foreignMessage) bool {
				return m.Body == "good" || m.Body == "bad"
			})
			if diff := cmp.Diff(rest, m.f.receive(queue, len(rest))); diff != "" {
				t.Errorf("the old program receives (-sent +received):\n%s", diff)
			}

			// The command shows the dead letter, and sends it back.
			out, _ := m.command("peek", "orders@dlq", "--receive", "-o", "json")
			if !strings.Contains(out, "no such customer") {
				t.Errorf("peek shows %s", out)
			}
			m.command("requeue", "orders@dlq", "--yes", "--journal", filepath.Join(t.TempDir(), "journal"))
			m.same(t, "requeued", sent, m.f.receive(queue, 1)[0])

			// SQS moves it back by itself.
			m.f.send(queue, sent[:1])
			m.consume(t, func(context.Context, *godwit.Delivery) error {
				return godwit.Permanent(errors.New("no such customer"))
			}, func(godwit.Live) bool { return m.waiting(t, m.dead) == 1 })
			m.f.move(m.dead, queue)
			m.same(t, "moved by SQS", sent, m.f.receive(queue, 1)[0])

			if diff := cmp.Diff(before, m.f.everything(queue)); diff != "" {
				t.Errorf("the queue was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// migration is a queue of another program, to which channel orders is mapped.
type migration struct {
	f           *foreign
	t           *testing.T
	queue, dead string
	names       string // the file for the command
	backend     godwit.Backend
}

func newMigration(t *testing.T, queue string) *migration {
	t.Helper()
	server := onServer(t)
	m := &migration{f: newForeign(t, server), t: t, queue: queue}
	base, fifo := strings.CutSuffix(queue, ".fifo")
	m.dead = base + "_Dead"
	attributes := map[string]string{}
	if fifo {
		m.dead += ".fifo"
		attributes["FifoQueue"] = "true"
	}
	m.f.make(m.dead, attributes)
	attributes = maps.Clone(attributes)
	attributes["VisibilityTimeout"], attributes["KmsMasterKeyId"] = "45", "alias/acme"
	attributes["RedrivePolicy"] = `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:` + m.dead +
		`","maxReceiveCount":"20"}`
	m.f.make(queue, attributes)
	names := map[string]snssqs.Resource{"orders": {Queue: "arn:aws:sqs:us-east-1:000000000000:" + queue}}
	text, err := json.Marshal(names)
	if err != nil {
		t.Fatal(err)
	}
	m.names = filepath.Join(t.TempDir(), "names.json")
	if err := os.WriteFile(m.names, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if m.backend, err = snssqs.Open(t.Context(), &snssqs.Options{Names: names}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.backend.Close(context.Background()) })
	return m
}

// messages are what the old program sends, in the order of their bodies.
func (m *migration) messages() []foreignMessage {
	all := foreignMessages()
	for i, body := range []string{"bad", "good", "third", "waits"} {
		all[i].Body = body
		all[i].Attributes = maps.Clone(all[i].Attributes)
		delete(all[i].Attributes, "last") // there is room for one more
		if strings.HasSuffix(m.queue, ".fifo") {
			all[i].Group = "group " + body
			all[i].Group = strings.ReplaceAll(all[i].Group, " ", "-")
		}
	}
	return all
}

// consume runs a consumer until a condition holds.
func (m *migration) consume(t *testing.T, h godwit.Handler, until func(godwit.Live) bool) {
	t.Helper()
	c, err := godwit.NewConsumer(t.Context(), m.backend, "orders", &godwit.ConsumerOptions{
		// A handler waits for the stop, which has half of this time for settlements: a second was too short on a busy
		// machine. Without a wait, no poll is open at the stop, which would be waited for.
		Ordered: strings.HasSuffix(m.queue, ".fifo"), ShutdownTimeout: 6 * time.Second, WaitTime: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	go func() {
		for ctx.Err() == nil && !until(c.Live()) {
			time.Sleep(10 * time.Millisecond)
		}
		stop()
	}()
	if _, err := c.Run(ctx, h); err != nil {
		t.Fatal(err)
	}
}

// waiting is the number of messages of a queue.
func (m *migration) waiting(t *testing.T, queue string) int {
	t.Helper()
	url := m.f.url(queue)
	out, err := m.f.client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{"ApproximateNumberOfMessages"},
	})
	if err != nil {
		t.Error(err)
		return 0
	}
	var n int
	_, _ = fmt.Sscan(out.Attributes["ApproximateNumberOfMessages"], &n)
	return n
}

// command runs the command with the names of the channels.
func (m *migration) command(args ...string) (out, errOut string) {
	m.t.Helper()
	l := letters{T: m.t}
	return l.command(exitDone, append(args, "--names", m.names)...)
}

// same checks that a message is what was sent, with an attribute for its history.
func (m *migration) same(t *testing.T, how string, sent []foreignMessage, got foreignMessage) {
	t.Helper()
	if _, has := got.Attributes["godwit"]; !has {
		t.Errorf("%s: the message has no history", how)
	}
	delete(got.Attributes, "godwit")
	i := slices.IndexFunc(sent, func(m foreignMessage) bool { return m.Body == got.Body })
	if diff := cmp.Diff(sent[i], got); diff != "" {
		t.Errorf("%s (-sent +received):\n%s", how, diff)
	}
}

// What another program publishes to a topic arrives in SNS's JSON through its subscription with a filter; the handler
// gets the message. What Godwit publishes passes the same filter, and the old program reads it.
func TestMigratingATopic(t *testing.T) {
	server := onServer(t)
	f := newForeign(t, server)
	f.make("Legacy_Mail", map[string]string{})
	topic := f.subscribe("Legacy_News", "Legacy_Mail")
	b, err := snssqs.Open(t.Context(), &snssqs.Options{Names: map[string]snssqs.Resource{
		"news.*": {Topic: "Legacy_News"}, "news.mail": {Queue: "Legacy_Mail"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	mail := map[string]foreignAttribute{"kind": {"String", "mail"}, "priority": {"Number", "7"}}
	f.publish(topic, foreignMessage{Body: "for mail", Attributes: mail})
	fax := map[string]foreignAttribute{"kind": {"String", "fax"}}
	f.publish(topic, foreignMessage{Body: "for others", Attributes: fax})
	c, err := godwit.NewConsumer(t.Context(), b, "news.mail", &godwit.ConsumerOptions{
		NoDeadLetters: true, WaitTime: -1, // as in consume
	})
	if err != nil {
		t.Fatal(err)
	}
	for d, err := range c.Deliveries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		var native snssqs.Message
		if string(d.Body) != "for mail" || d.Headers.Value("priority") != "7" || !d.As(&native) ||
			native.Topic != topic {
			t.Errorf("the handler got %q with %v of topic %q", d.Body, d.Headers, native.Topic)
		}
		if err := d.Done(); err != nil {
			t.Error(err)
		}
		break
	}
	if _, err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	p, err := godwit.NewProducer(t.Context(), b, "news.*", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close(context.Background()) }()
	for _, kind := range []string{"fax", "mail"} {
		if err := p.Send(t.Context(), godwit.Message{
			Body: []byte("of Godwit for " + kind), Headers: godwit.Headers{{Name: "kind", Value: kind}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	got := f.receive("Legacy_Mail", 1)[0]
	var whole struct {
		Message           string
		MessageAttributes map[string]foreignAttribute
	}
	if err := json.Unmarshal([]byte(got.Body), &whole); err != nil {
		t.Fatal(err)
	}
	if whole.Message != "of Godwit for mail" || len(whole.MessageAttributes) != 1 ||
		whole.MessageAttributes["kind"].Value != "mail" {
		t.Errorf("the old program got %+v", whole)
	}
}

// publish publishes a message to a topic.
func (f *foreign) publish(topic string, m foreignMessage) {
	f.Helper()
	if *foreignClient != "" {
		in, err := json.Marshal([]foreignMessage{m})
		if err != nil {
			f.Fatal(err)
		}
		f.program(in, "publish", topic)
		return
	}
	attributes := map[string]snstypes.MessageAttributeValue{}
	for name, a := range m.Attributes {
		attributes[name] = snstypes.MessageAttributeValue{DataType: &a.Type, StringValue: &a.Value}
	}
	if _, err := f.sns().Publish(f.Context(), &sns.PublishInput{
		TopicArn: &topic, Message: &m.Body, MessageAttributes: attributes,
	}); err != nil {
		f.Fatal(err)
	}
}

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

var foreignClient = flag.String("foreign", "", "a command for TestForeignMessages: localaws/interop/python/operate.py, "+
	"or a program that understands the same; without it, the SDK for Go")

// foreignMessage is a message as a program without Godwit sees it.
type foreignMessage struct {
	Body       string                      `json:"body"`
	Attributes map[string]foreignAttribute `json:"attributes"`
	Trace      string                      `json:"trace"`
	Group      string                      `json:"group"`
}

// foreignAttribute is a message attribute. A binary value is in base64.
type foreignAttribute struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

// foreign sends and receives without Godwit.
type foreign struct {
	*testing.T
	client *sqs.Client
}

// newForeign calls the server in process, because the SDK's own HTTP client may lose an answer of a fast server.
func newForeign(t *testing.T, server *localaws.Server) *foreign {
	t.Helper()
	return &foreign{t, sqs.New(sqs.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws.internal"),
		HTTPClient:  &http.Client{Transport: server.Transport()},
		Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
	})}
}

// url returns the address of a queue.
func (f *foreign) url(queue string) string {
	f.Helper()
	out, err := f.client.GetQueueUrl(f.Context(), &sqs.GetQueueUrlInput{QueueName: &queue})
	if err != nil {
		f.Fatal(err)
	}
	return *out.QueueUrl
}

// program runs the program of the flag.
func (f *foreign) program(in []byte, args ...string) []byte {
	f.Helper()
	words := append(strings.Fields(*foreignClient), args...)
	cmd := exec.CommandContext(f.Context(), words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "AWS_DEFAULT_REGION=us-east-1")
	var out, complaints bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &complaints
	if err := cmd.Run(); err != nil {
		f.Fatalf("%q: %v: %s", args, err, &complaints)
	}
	return out.Bytes()
}

func (f *foreign) send(queue string, ms []foreignMessage) {
	f.Helper()
	url := f.url(queue)
	if *foreignClient != "" {
		in, err := json.Marshal(ms)
		if err != nil {
			f.Fatal(err)
		}
		f.program(in, "send", url)
		return
	}
	for _, m := range ms {
		in := &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &m.Body, MessageAttributes: native(f.T, m.Attributes)}
		if m.Trace != "" {
			in.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
				"AWSTraceHeader": {DataType: aws.String("String"), StringValue: &m.Trace},
			}
		}
		if m.Group != "" {
			in.MessageGroupId = &m.Group
		}
		if strings.HasSuffix(queue, ".fifo") {
			in.MessageDeduplicationId = aws.String(rand.Text())
		}
		if _, err := f.client.SendMessage(f.Context(), in); err != nil {
			f.Fatal(err)
		}
	}
}

func native(t *testing.T, attributes map[string]foreignAttribute) map[string]types.MessageAttributeValue {
	t.Helper()
	all := map[string]types.MessageAttributeValue{}
	for name, a := range attributes {
		v := types.MessageAttributeValue{DataType: &a.Type, StringValue: &a.Value}
		if strings.HasPrefix(a.Type, "Binary") {
			b, err := base64.StdEncoding.DecodeString(a.Value)
			if err != nil {
				t.Fatal(err)
			}
			v.StringValue, v.BinaryValue = nil, b
		}
		all[name] = v
	}
	return all
}

// receive receives and deletes n messages, and returns them by their bodies.
func (f *foreign) receive(queue string, n int) (ms []foreignMessage) {
	f.Helper()
	url := f.url(queue)
	if *foreignClient != "" {
		if err := json.Unmarshal(f.program(nil, "receive", url, fmt.Sprint(n)), &ms); err != nil {
			f.Fatal(err)
		}
	}
	// On a busy machine, a poll that a stop has canceled may take a message, which is then invisible for its lease.
	for until := time.Now().Add(time.Minute); len(ms) < n; {
		out, err := f.client.ReceiveMessage(f.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: &url, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"}, WaitTimeSeconds: 1,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
		})
		if err != nil || len(out.Messages) == 0 && time.Now().After(until) {
			f.Fatalf("only %d of %d messages: %v", len(ms), n, err)
		}
		for _, m := range out.Messages {
			one := foreignMessage{
				Body: *m.Body, Attributes: map[string]foreignAttribute{}, Trace: m.Attributes["AWSTraceHeader"],
				Group: m.Attributes["MessageGroupId"],
			}
			for name, a := range m.MessageAttributes {
				value := base64.StdEncoding.EncodeToString(a.BinaryValue)
				if a.StringValue != nil {
					value = *a.StringValue
				}
				one.Attributes[name] = foreignAttribute{*a.DataType, value}
			}
			ms = append(ms, one)
			if _, err := f.client.DeleteMessage(f.Context(), &sqs.DeleteMessageInput{
				QueueUrl: &url, ReceiptHandle: m.ReceiptHandle,
			}); err != nil {
				f.Fatal(err)
			}
		}
	}
	slices.SortFunc(ms, func(a, b foreignMessage) int { return strings.Compare(a.Body, b.Body) })
	return ms
}

// foreignMessages have ten attributes of every type each.
func foreignMessages() (ms []foreignMessage) {
	binary := base64.StdEncoding.EncodeToString([]byte("\x00\xff\xfe\n\r binary"))
	for i, body := range []string{"<xml/>", `{"amount": 1.10,  "currency":"€"}`, "text\twith\r\nbreaks", "-"} {
		ms = append(ms, foreignMessage{
			Body: body, Trace: fmt.Sprintf("Root=1-5759e988-bd862e3fe1be46a99427279%d", i), Group: "tenant 7"[:6],
			Attributes: map[string]foreignAttribute{
				"Text": {"String", "plain ß"}, "Text.custom": {"String.custom.more", "a"},
				"number": {"Number", "-1.5e3"}, "count": {"Number.int", "007"},
				"bytes": {"Binary", binary}, "image": {"Binary.png", binary},
				"empty-ish": {"String", " "}, "locale": {"String", "de"},
				"a_b-c.d": {"String", `{"json":"\"quoted\""}`}, "last": {"String.x", "\t"},
			},
		})
	}
	return ms
}

// Messages of another program, with ten attributes of every type, go through a death, an export, an import and a
// requeue, and are then byte for byte what that program had sent.
func TestForeignMessages(t *testing.T) {
	if apart(t) {
		return
	}
	l := newLetters(t, driver.Channel{Queue: "orders"}, 0)
	f := newForeign(t, l.server)
	sent := foreignMessages()
	slices.SortFunc(sent, func(a, b foreignMessage) int { return strings.Compare(a.Body, b.Body) })
	f.send("orders", sent)
	die(t, l.backend, "orders", len(sent))
	l.command(exitDone, "peek", "orders@dlq", "--receive")
	file := filepath.Join(t.TempDir(), "letters.jsonl")
	l.command(exitDone, "export", "orders@dlq", "--receive", "--file", file)
	f.receive("orders--dlq", len(sent)) // and delete
	l.command(exitDone, "import", "orders@dlq", "--file", file, "--yes")
	again := filepath.Join(t.TempDir(), "again.jsonl")
	l.command(exitDone, "export", "orders@dlq", "--receive", "--file", again)
	_, errOut := l.command(exitDone, "requeue", "orders@dlq", "--yes", "--journal", filepath.Join(t.TempDir(), "j"))
	if left := l.left(); left != 0 {
		t.Errorf("%d dead letters stay: %s", left, errOut)
	}
	if diff := cmp.Diff(sent, f.receive("orders", len(sent))); diff != "" {
		t.Errorf("(-sent +received):\n%s", diff)
	}
}

// die lets a consumer reject n messages. Without a wait, no poll is open at the stop, which would be waited for.
func die(t *testing.T, b godwit.Backend, channel string, n int) {
	t.Helper()
	c, err := godwit.NewConsumer(t.Context(), b, channel, &godwit.ConsumerOptions{WaitTime: -1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	deaths := make(chan struct{}, n)
	go func() {
		for range n {
			<-deaths
		}
		stop()
	}()
	report, err := c.Run(ctx, func(context.Context, *godwit.Delivery) error {
		deaths <- struct{}{}
		return godwit.Permanent(errors.New("no such customer"))
	})
	if err != nil || int(report.Rejected) != n {
		t.Fatalf("%+v, %v", report, err)
	}
}

// Of three consumers of an exchange, only the one whose message died gets it again.
func TestRequeueReachesOneConsumer(t *testing.T) {
	if apart(t) {
		return
	}
	server := onServer(t)
	b, err := snssqs.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	names := []string{"audit", "mail", "search"}
	for _, name := range names {
		if err := b.Ensure(t.Context(), driver.ChannelSpec{
			Channel: driver.Channel{Exchange: "wishes", Queue: name}, Owner: true,
		}); err != nil {
			t.Fatal(err)
		}
	}
	p, err := godwit.NewProducer(t.Context(), b, "wishes.*", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Send(t.Context(), godwit.Message{Body: []byte("a kite"), RoutingKey: "TOY"}); err != nil {
		t.Fatal(err)
	}
	die(t, b, "wishes.mail", 1)
	var out, errOut bytes.Buffer
	if status := run(t.Context(), []string{
		"requeue", "wishes.mail@dlq", "--yes", "--journal", filepath.Join(t.TempDir(), "j"),
	}, &out, &errOut); status != exitDone {
		t.Fatalf("%s", &errOut)
	}
	for _, name := range names {
		d, err := b.Inspect(t.Context(), driver.Channel{Exchange: "wishes", Queue: name})
		if err != nil || d.Waiting != 1 {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	f := newForeign(t, server)
	if m := f.receive("wishes--mail", 1)[0]; m.Body != "a kite" || m.Attributes["routing_key"].Value != "TOY" {
		t.Errorf("%+v", m)
	}
}

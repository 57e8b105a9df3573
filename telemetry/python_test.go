package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
	"github.com/godwitmq/godwit/telemetry"
)

var tracingClient = flag.String("tracing", "", "a command for TestTracesOfPython: localaws/interop/python/tracing.py")

// foreignSpan is a span of the program.
type foreignSpan struct {
	Name   string        `json:"name"`
	Trace  string        `json:"trace"`
	ID     string        `json:"id"`
	Parent string        `json:"parent"`
	Links  []foreignSpan `json:"links"`
}

// A trace that begins in Python goes on through Godwit's handler and its send, and back to Python.
func TestTracesOfPython(t *testing.T) {
	if *tracingClient == "" {
		t.Skip("no -tracing: .ci/interop passes it")
	}
	server, err := localaws.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	endpoint := "http://" + address.String()
	conf := aws.Config{
		Region: "us-east-1", BaseEndpoint: &endpoint, HTTPClient: &http.Client{Transport: server.Transport()},
		Credentials: credentials.NewStaticCredentialsProvider("key", "secret", ""),
	}
	client := sqs.NewFromConfig(conf)
	queue := func(name string) string { // of the Python program, which knows no Godwit
		out, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
		if err != nil {
			t.Fatal(err)
		}
		return *out.QueueUrl
	}
	there, back := queue("there"), queue("back")
	backend, err := snssqs.Open(t.Context(), &snssqs.Options{
		AWS: &conf, Transport: server.Transport(), CancelPolls: true, // the server in this process drops no answer
		Names: map[string]snssqs.Resource{"orders": {Queue: there}, "receipts": {Queue: back}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = backend.Close(context.Background()) }()
	w := observed(t, backend, telemetry.Options{Parent: true})

	sent := python(t, endpoint, "send", there)
	p := w.producer("receipts", nil)
	c := w.consumer("orders", &godwit.ConsumerOptions{NoDeadLetters: true, Concurrency: 1})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	handled := 0
	if _, err := c.Run(ctx, func(ctx context.Context, d *godwit.Delivery) error {
		if handled++; handled == 3 {
			defer stop()
		}
		return p.Send(ctx, godwit.Message{Body: d.Body})
	}); err != nil {
		t.Error(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	received := python(t, endpoint, "receive", back)

	// Backwards: a processing in Python has a link to a send of Godwit, whose parent is a handler of Godwit, whose
	// parent is a send in Python, whose parent is the checkout; all of one trace.
	senders, handlers, theirs := map[string]string{}, map[string]string{}, map[string]string{}
	for _, s := range w.spans.GetSpans() {
		id, parent := s.SpanContext.SpanID().String(), s.Parent.SpanID().String()
		switch s.Name + " " + s.SpanKind.String() {
		case "send receipts producer":
			senders[id] = parent
		case "process orders consumer":
			handlers[id] = parent
		}
	}
	var checkout foreignSpan
	for _, s := range sent {
		switch s.Name {
		case "checkout":
			checkout = s
		case "there send":
			theirs[s.ID] = s.Parent
		}
	}
	for _, s := range received {
		if s.Name != "back process" {
			continue
		}
		if len(s.Links) != 1 {
			t.Errorf("a message came back without a trace: %+v", s)
			continue
		}
		link := s.Links[0]
		from := theirs[handlers[senders[link.ID]]]
		if link.Trace != checkout.Trace || from != checkout.ID {
			t.Errorf("a message that came back is not of the trace %+v: %+v", checkout, s)
		}
		delete(theirs, handlers[senders[link.ID]])
	}
	if len(theirs) != 0 || checkout.ID == "" || handled != 3 {
		t.Errorf("%d were handled; the traces of %v did not come back:\n%+v\n%s\n%+v", handled, theirs, sent, w.tree(),
			received)
	}
}

// python runs the program, and returns its spans.
func python(t *testing.T, endpoint, verb, url string) (spans []foreignSpan) {
	t.Helper()
	command := strings.Fields(*tracingClient)
	cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], verb, url)...)
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+endpoint, "AWS_DEFAULT_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=key", "AWS_SECRET_ACCESS_KEY=secret", "AWS_CONFIG_FILE="+os.DevNull)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v: %s", verb, err, complaints.String())
	}
	if err := json.Unmarshal(out.Bytes(), &spans); err != nil {
		t.Fatalf("%s: %v in %s", verb, err, out.String())
	}
	return spans
}

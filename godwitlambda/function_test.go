package godwitlambda_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/godwitlambda"
	"github.com/godwitmq/godwit/internal/lambdaruntime"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/s3store"
	"github.com/godwitmq/godwit/snssqs"
)

// The test's own program, when it is started as a function.
func TestMain(m *testing.M) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		if err := function(); err != nil {
			log.Fatal(err)
		}
	}
	os.Exit(m.Run())
}

// function handles messages of orders as their bodies say, and prints what it has handled.
func function() error {
	ctx := context.Background()
	store, err := s3store.Open(ctx, &s3store.Options{Bucket: local.Bucket})
	if err != nil {
		return err
	}
	b, err := snssqs.Open(ctx, &snssqs.Options{Store: store})
	if err != nil {
		return err
	}
	h, err := godwitlambda.NewHandler(ctx, b, "orders", func(ctx context.Context, d *godwit.Delivery) error {
		what, _, _ := strings.Cut(string(d.Body), " ")
		switch {
		case what == "timeout", what == "hang" && d.Attempt == 1:
			<-ctx.Done()
			return context.Cause(ctx)
		case what == "panic" && d.Attempt == 1:
			panic("no kites")
		case what == "fail" && d.Attempt == 1:
			return errSold
		case what == "exit" && d.Attempt == 1:
			os.Exit(1)
		}
		fmt.Printf("handled %s %s %d\n", d.OrderKey, what, len(d.Body))
		return nil
	}, &godwit.ConsumerOptions{
		Ordered: true, Backoff: godwit.Constant(time.Second), ProcessingTimeout: 10 * time.Second,
		Hooks: godwit.Hooks{TimedOut: func(d *godwit.Delivery) { fmt.Printf("timed out %s\n", d.Body) }},
	})
	if err != nil {
		return err
	}
	lambda.Start(h)
	return nil
}

// A function in a process of its own gets events of a queue: failures in the middle of groups, a handler that reaches
// the deadline, a panic, a body in S3, one that cannot be decoded, and the end of the process. Nothing is lost, and
// each group keeps its order.
func TestAFunction(t *testing.T) {
	w := newWorld(t)
	defer w.close()
	address, err := w.Server().Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	start := func() *lambdaruntime.Function {
		return lambdaruntime.Start(t, exec.Command(os.Args[0]), "AWS_ENDPOINT_URL=http://"+address.String(),
			"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=k", "AWS_SECRET_ACCESS_KEY=s")
	}
	const queue = "orders.fifo"
	w.make(ordered, time.Minute)
	w.send("orders", true, "a=1", "b=1", "a=fail", "c=hang", "b=panic", "a=3", "c=2", "b=3",
		"d="+"large "+strings.Repeat("k", 400_000))
	text := "String"
	for body, attributes := range map[string]map[string]types.MessageAttributeValue{
		"broken": {"godwit": {DataType: &text, StringValue: new(`{"v":`)}},
	} {
		if _, err := w.sqs.SendMessage(t.Context(), &sqs.SendMessageInput{
			QueueUrl: w.url(queue), MessageBody: &body, MessageAttributes: attributes,
			MessageGroupId: new("f"), MessageDeduplicationId: new("f"),
		}); err != nil {
			t.Fatal(err)
		}
	}
	f := start()
	handled := ""
	crashes, deadlines := 0, 0
	for events := 0; ; events++ {
		ms := w.receive(queue, 10)
		if len(ms) == 0 {
			if visible, hidden := w.waiting(queue); visible != "0" || hidden != "0" {
				w.Server().Advance(time.Minute)
				continue
			}
			if crashes > 0 {
				break
			}
			w.send("orders", true, "e=1", "e=exit", "e=2")
			continue
		}
		if events > 20 {
			t.Fatalf("%d events, and there are more messages", events)
		}
		began := time.Now()
		answer, err := f.Invoke(eventOf(queue, ms), 3*time.Second)
		if err != nil {
			crashes++
			<-f.Ended()
			handled += f.Log()
			f = start() // all messages of the event are delivered again when their timeout ends
			continue
		}
		if time.Since(began) > 900*time.Millisecond {
			deadlines++
		}
		ids, err := failuresOf(answer)
		if err != nil {
			t.Fatal(err)
		}
		w.deleteOthers(queue, ms, ids)
	}
	handled += f.Log()
	groups := map[string][]string{}
	for line := range strings.Lines(handled) {
		if fields := strings.Fields(line); len(fields) == 4 && fields[0] == "handled" {
			item := fields[2]
			if fields[3] != fmt.Sprint(len(item)) {
				item += " " + fields[3]
			}
			if !slices.Contains(groups[fields[1]], item) { // a crash may repeat what was handled before it
				groups[fields[1]] = append(groups[fields[1]], item)
			}
		}
	}
	want := map[string][]string{
		"a": {"1", "fail", "3"}, "b": {"1", "panic", "3"}, "c": {"hang", "2"}, "d": {"large 400006"},
		"e": {"1", "exit", "2"},
	}
	if diff := cmp.Diff(want, groups); diff != "" {
		t.Errorf("handled (-want +got):\n%s\n%s", diff, handled)
	}
	if crashes != 1 || deadlines != 1 {
		t.Errorf("%d crashes, and %d deadlines", crashes, deadlines)
	}
	if dead := w.receive("orders--dlq.fifo", 2); len(dead) != 1 || *dead[0].Body != "broken" {
		t.Errorf("%d dead letters", len(dead))
	}
	if n, _ := w.Server().S3().Bucket(local.Bucket).Count(); n != 1 {
		t.Errorf("%d objects in the bucket", n)
	}
	if _, err := f.Invoke([]byte(`{"run":"sweep"}`), 4*time.Second); err == nil ||
		!errors.As(err, new(*lambdaruntime.Error)) || !strings.Contains(err.Error(), "has no Records") {
		t.Errorf("another event: %v", err)
	}
}

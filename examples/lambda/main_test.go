package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/lambdaruntime"
	"github.com/godwitmq/godwit/local"
)

// The program, when it is started as a function.
func TestMain(m *testing.M) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestAFunction(t *testing.T) {
	b, err := local.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	address, err := b.Server().Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := godwit.NewConsumer(t.Context(), b, "orders", nil); err != nil { // makes the queue and its dead letters
		t.Fatal(err)
	}
	f := lambdaruntime.Start(t, exec.Command(os.Args[0]), "AWS_ENDPOINT_URL=http://"+address.String(),
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=k", "AWS_SECRET_ACCESS_KEY=s")
	answer, err := f.Invoke([]byte(`{"Records":[
		{"messageId":"1","receiptHandle":"1","body":"{\"Item\":\"kites\",\"Amount\":2}","eventSource":"aws:sqs",
		 "eventSourceARN":"arn:aws:sqs:us-east-1:000000000000:orders"},
		{"messageId":"2","receiptHandle":"2","body":"{\"Item\":\"kites\",\"Amount\":-2}","eventSource":"aws:sqs",
		 "eventSourceARN":"arn:aws:sqs:us-east-1:000000000000:orders"}]}`), 30*time.Second)
	if err != nil || string(answer) != `{"batchItemFailures":[]}` {
		t.Errorf("%s, %v", answer, err)
	}
	if !strings.Contains(f.Log(), "packed 2 of kites") {
		t.Errorf("it has printed %s", f.Log())
	}
	dead := driver.Channel{Queue: "orders", DeadLetter: true}
	if n, err := b.Inspect(t.Context(), dead); err != nil || n.Waiting != 1 {
		t.Errorf("%+v dead letters, %v", n, err)
	}
}

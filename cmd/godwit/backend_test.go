package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/snssqs"
)

// With the names of the programs, the command finds channels whose topics and groups have other names.
func TestNames(t *testing.T) {
	onBrokers(t)
	owner, err := kafka.Open(t.Context(), nil)
	if err == nil {
		err = owner.Ensure(t.Context(), driver.ChannelSpec{Channel: driver.Channel{Queue: "shop"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = owner.Close(context.Background()) }()
	b, err := kafka.Open(t.Context(), &kafka.Options{Names: map[string]kafka.Resource{
		"orders": {Topic: "shop", Group: "billing service"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	p, err := godwit.NewProducer(t.Context(), b, "orders", nil)
	if err == nil {
		err = p.Send(t.Context(), godwit.Message{Body: []byte("a book")})
	}
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "names.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"orders": {"topic": "shop", "group": "billing service"}}`)
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"ls", exitDone, "orders"},
		{"peek orders", exitDone, "a book"},
		{"rewind orders --to end", exitDone, "--yes"},
		{"purge orders", exitDone, "1 message"},
	} {
		var out, errOut bytes.Buffer
		args := append(strings.Fields(c.args), "--names", file)
		if status := run(t.Context(), args, &out, &errOut); status != c.status ||
			!strings.Contains(out.String()+errOut.String(), c.says) {
			t.Errorf("%s: status %d: %s%s", c.args, status, &out, &errOut)
		}
	}
	for text, says := range map[string]string{
		`{"orders": {"topics": "shop"}}`:     `unknown field "topics"`,
		`{"orders": {"topic": "shop"}} {}`:   "more after the first value",
		`["orders"]`:                         "is not a JSON object of channels",
		`{"orders.v1.x": {"topic": "shop"}}`: "it is not the name of a channel",
	} {
		write(text)
		var out, errOut bytes.Buffer
		if status := run(t.Context(), []string{"ls", "--names", file}, &out, &errOut); status == exitDone ||
			!strings.Contains(errOut.String(), says) {
			t.Errorf("%s: status %d: %s", text, status, &errOut)
		}
	}
}

// Where nothing answers, the error names the address, and what has set it.
func TestNobodyAnswers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "godwit.yaml")
	text := "contexts:\n  gone: {backend: aws, region: us-east-1, endpoint: http://127.0.0.1:1}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "KAFKA_BOOTSTRAP_SERVERS"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "k")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	t.Setenv("GODWIT_CONFIG", file)
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	t.Setenv("AWS_REGION", "us-east-1")
	for args, want := range map[string]string{
		"ls":                "AWS_ENDPOINT_URL, which is http://127.0.0.1:1, has set the address",
		"ls --context gone": "the context gone has set the address",
	} {
		_, errOut, status := call(t, strings.Fields(args)...)
		if status != exitFailed || !strings.Contains(errOut, want) || !strings.Contains(errOut, "127.0.0.1:1") {
			t.Errorf("%s: status %d: %s", args, status, errOut)
		}
	}
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"} {
		t.Setenv(name, "") // the context has set some of them
	}
	t.Setenv("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var out, errOut bytes.Buffer
	status := run(ctx, []string{"ls"}, &out, &errOut)
	if status != exitFailed || !strings.Contains(errOut.String(), "KAFKA_BOOTSTRAP_SERVERS, which is 127.0.0.1:1") {
		t.Errorf("status %d: %s", status, &errOut)
	}
}

// With both backends in the environment, a command works on the one that alone has its channel.
func TestOnlyOneBackendHasTheChannel(t *testing.T) {
	onBrokers(t)
	brokers := os.Getenv("KAFKA_BOOTSTRAP_SERVERS")
	onKafkaToo, err := kafka.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	onServer(t)
	t.Setenv("KAFKA_BOOTSTRAP_SERVERS", brokers)
	onAWSToo, err := snssqs.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	shop := driver.Channel{Queue: "shop"}
	for backend, channels := range map[driver.Provisioner][]driver.Channel{
		onKafkaToo: {shop, {Queue: "orders"}},
		onAWSToo:   {shop, {Queue: "bills"}, {Exchange: "news"}, {Exchange: "news", Queue: "mails"}},
	} {
		for _, ch := range channels {
			if err := backend.Ensure(t.Context(), driver.ChannelSpec{Channel: ch}); err != nil {
				t.Fatal(err)
			}
		}
		if err := backend.(driver.Backend).Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"send orders hello", exitDone, "on kafka, which alone has orders"},
		{"peek orders", exitDone, "on kafka, which alone has orders"},
		{"peek orders@dlq", exitNothing, "on kafka, which alone has orders@dlq"},
		{"purge bills", exitDone, "on aws, which alone has bills"},
		{"send news.* hello", exitDone, "on aws, which alone has news.*"},
		{"peek news.mails", exitNothing, "on aws, which alone has news.mails"},
		{"peek shop", exitUsage, "both have shop"},
		{"send order hello", exitUsage, "neither has order"},
		{"ls", exitUsage, "--backend kafka"},
	} {
		_, errOut, status := call(t, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(errOut, c.says) {
			t.Errorf("%s: status %d, want %d: %s", c.args, status, c.status, errOut)
		}
	}
	t.Setenv("KAFKA_BOOTSTRAP_SERVERS", "nothing:port")
	if _, errOut, status := call(t, "peek", "orders"); status != exitUsage ||
		!strings.Contains(errOut, "kafka cannot be asked whether it has orders") {
		t.Errorf("with a wrong address: status %d: %s", status, errOut)
	}
}

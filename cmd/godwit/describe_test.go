package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/cmd/godwit/internal/described"
	"github.com/godwitmq/godwit/kafka"
)

// wants fails unless a text has all parts, in their order.
func wants(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, behind, ok := strings.Cut(rest, part)
		if !ok {
			t.Errorf("%q is missing, or not in its place:\n%s", part, text)
			return
		}
		rest = behind
	}
}

// All that there is to know about a queue, an exchange and dead letters on AWS.
func TestDescribe(t *testing.T) {
	onServer(t)
	provisioned(t, "events.mail", &godwit.ConsumerOptions{
		Filter: godwit.Filter{Prefix: []string{"MAIL."}}, Ownership: godwit.Ownership{Owner: "shop"},
	})
	for _, key := range []string{"MAIL.SENT", "CALL.MADE"} {
		if _, errOut, status := call(t, "send", "events.*", "{}", "--routing-key", key); status != exitDone {
			t.Fatalf("status %d: %s", status, errOut)
		}
	}
	out, errOut, status := call(t, "describe", "events.mail")
	if status != exitDone {
		t.Fatalf("status %d: %s", status, errOut)
	}
	wants(t, out, "events.mail\n  queue\n  arn:aws:sqs:us-east-1:000000000000:events--mail\n  created ",
		"\nwaiting 1, in flight 0, delayed 0",
		"\nmessages are kept for 14d, dead letters for 14d\n", "last hour, in steps",
		"\nconsumers\n  not known: the service does not tell",
		"  what they hold is not known: --workers ADDRESS", "\nbelongs to it\n", "  events.*: exchange\n",
		"  events.mail@dlq: dead-letters, 0 waiting", "\nsettings\n", "RedrivePolicy", "VisibilityTimeout",
		`subscription FilterPolicy        {"routing_key":[{"prefix":"MAIL."}]}`,
		"\npolicy\n", "allows sns.amazonaws.com sqs:SendMessage, if aws:SourceArn ArnEquals arn:aws:sns:us-east-1:",
		"\ntags\n", "owner       shop")
	out, _, _ = call(t, "describe", "events.*")
	wants(t, out, "events.*\n  exchange\n", "  events.mail: queue, 1 waiting", "\nsubscribers\n", ":events--mail\n")
	if strings.Contains(out, "\nwaiting") {
		t.Errorf("an exchange has messages: %s", out)
	}
	out, _, _ = call(t, "describe", "events.mail@dlq")
	wants(t, out, "dead-letters", "  events.mail: queue, 1 waiting")
	out, _, _ = call(t, "describe", "events.mail", "-o", "json")
	var all []described.Channel
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != 1 || all[0].Depth.Waiting != 1 ||
		all[0].Settings["VisibilityTimeout"] != "30" ||
		all[0].DeadLettersKeptSeconds != 14*86400 || len(all[0].Related) != 2 {
		t.Errorf("%v: %s", err, out)
	}
	if all[0].Consumers == nil || all[0].Consumers.Told || all[0].Consumers.Asked {
		t.Errorf("the consumers are %+v", all[0].Consumers)
	}
	out, _, _ = call(t, "describe", "events.mail")
	wants(t, out, "\npayloads\n  no bucket is known: --bucket")
	for _, made := range []bool{false, true} {
		out, _, _ = call(t, "describe", "events.mail", "--bucket", "large-bodies", "--prefix", "big/")
		wants(t, out, "\npayloads\n  large bodies are in bucket large-bodies, below big/")
		if made {
			wants(t, out, ", which deletes them after 60 days\n")
			break
		}
		wants(t, out, "\nnot known\n", "  the bodies of large messages: bucket large-bodies: ")
		call(t, "doctor", "--bucket", "large-bodies", "--prefix", "big/", "--fix", "--yes")
	}
	out, _, _ = call(t, "describe", "events.mail", "--bucket", "large-bodies", "--prefix", "big/", "-o", "jsonl")
	wants(t, out, `"payloads":{"bucket":"large-bodies","prefix":"big/","lifecycle_days":60}`)
	if _, errOut, status := call(t, "describe", "events.mail", "--workers", "://"); status != exitUsage ||
		!strings.Contains(errOut, "--workers: the address of a process is") {
		t.Errorf("status %d: %s", status, errOut)
	}
	if _, errOut, status := call(t, "describe", "events.mail", "--history", "/nosuch/x"); status != exitUsage ||
		!strings.Contains(errOut, "--history: stat /nosuch/x: no such file") {
		t.Errorf("status %d: %s", status, errOut)
	}
	if _, errOut, status := call(t, "describe", "events.mial"); status != exitNothing ||
		!strings.Contains(errOut, "perhaps events.mail") {
		t.Errorf("status %d: %s", status, errOut)
	}
}

// A shell completes the names of channels, and has none without a backend.
func TestCompletion(t *testing.T) {
	onServer(t)
	provisioned(t, "orders", nil)
	provisioned(t, "bills", nil)
	for args, want := range map[string]string{
		"describe o": "orders\norders@dlq\n:4\n", "run b": "bills\nbills@dlq\n:4\n", "ls x": ":4\n",
		"send orders ": ":0\n", "sweep ": ":4\n",
	} {
		if out, errOut, _ := call(t, append([]string{"__complete"}, strings.Split(args, " ")...)...); out != want {
			t.Errorf("%s: %q, want %q: %s", args, out, want, errOut)
		}
	}
	t.Setenv("AWS_ENDPOINT_URL", "")
	t.Setenv("AWS_REGION", "")
	if out, errOut, _ := call(t, "__complete", "describe", "o"); out != ":4\n" {
		t.Errorf("%q: %s", out, errOut)
	}
}

// The same of Kafka, by partitions.
func TestDescribeOnKafka(t *testing.T) {
	onBrokers(t)
	b, err := kafka.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = godwit.NewConsumer(t.Context(), b, "orders", nil)
	if err := errors.Join(err, b.Close(context.Background())); err != nil {
		t.Fatal(err)
	}
	if _, errOut, status := call(t, "send", "orders", "x", "-n", "3", "--key", "k"); status != exitDone {
		t.Fatalf("status %d: %s", status, errOut)
	}
	out, errOut, status := call(t, "describe", "orders")
	if status != exitDone {
		t.Fatalf("status %d: %s", status, errOut)
	}
	wants(t, out, "orders\n  queue\n", "\nwaiting 3, ", "  partition ", ": 3 waiting, the oldest for ",
		"\nlast hour, in steps", "  sent    ", "█ at most 0.0", "  done: not known\n", "  waiting: not known\n",
		"\nconsumers\n  none: nobody receives from it\n", "\nbelongs to it\n  orders@dlq: dead-letters, 0 waiting",
		"\nsettings\n", "orders partitions")
}

// A channel is deleted by its name, with messages only if that is said.
func TestRm(t *testing.T) {
	server := onServer(t)
	provisioned(t, "orders", nil)
	if _, errOut, status := call(t, "send", "orders", "x"); status != exitDone {
		t.Fatalf("status %d: %s", status, errOut)
	}
	for _, c := range []struct {
		args   string
		want   string
		status int
	}{
		{"rm order", "perhaps orders", exitNothing},
		{"rm", "name one channel", exitUsage},
		{"rm orders -o xml", "--output is", exitUsage},
		{"rm orders --yes", "set --messages if they are not needed", exitFailed},
		{"rm orders", "would be deleted, with 1 messages; add --messages --yes", exitDone},
		{"rm orders --messages --yes", "done: orders is deleted, with 1 messages", exitDone},
		{"rm orders", "does not exist", exitNothing},
	} {
		if server.SQS().Queue("orders") == nil && !strings.HasSuffix(c.want, "exist") {
			t.Fatalf("the queue is gone before %s", c.args)
		}
		_, errOut, status := call(t, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(errOut, c.want) {
			t.Errorf("%s: status %d, want %d: %s", c.args, status, c.status, errOut)
		}
	}
}

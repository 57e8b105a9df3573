package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/snssqs"
)

// A channel is purged with --yes only.
func TestPurge(t *testing.T) {
	if apart(t) {
		return
	}
	for name, on := range map[string]func(*testing.T) godwit.Backend{"aws": func(t *testing.T) godwit.Backend {
		onServer(t)
		b, err := snssqs.Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}, "kafka": func(t *testing.T) godwit.Backend {
		onBrokers(t)
		b, err := kafka.Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}} {
		t.Run(name, func(t *testing.T) {
			b := on(t)
			defer func() { _ = b.Close(context.Background()) }()
			fill(t, b, "orders", 3)
			for _, step := range []struct {
				args        string
				status      int
				out, errOut string
			}{
				{"purge order", exitNothing, "", "perhaps orders"},
				{"purge orders", exitDone, "orders          3", "3 messages of orders would be deleted; add --yes"},
				{"purge orders --yes", exitDone, "orders          3", "done: about 3 messages"},
				{"send orders {\"n\":1} --key a -n 2", exitDone, "", "2 messages"},
				{"send orders {\"n\":2} --key b", exitDone, "", ""},
				{"peek orders --key b", exitDone, "\"n\": 2", ""},
				{"peek orders --key a -n 1 -o jsonl", exitDone, `"size":7`, ""},
				{"peek orders --type refund", exitNothing, "", "nothing was found"},
				{"peek orders --body .n+1==.n", exitNothing, "", "nothing was found"},
				{"purge orders --body .n==1 -o jsonl", exitDone, `"messages":2,"done":false,"looked":3}`, "add"},
				{"purge orders --body .n>1 --yes", exitDone, "orders           3         1", "done: 1 messages"},
				{"purge orders --body .n>1", exitNothing, "orders           2         0", "none of 2 messages"},
				{"purge orders --most 3", exitUsage, "", "messages that a condition selects"},
				{"purge orders --rate -1", exitUsage, "", "--rate is -1"},
				{"purge orders --newer 1h --shared", exitUsage, "", "--shared is for all messages"},
				{"purge orders --yes", exitDone, "orders          2", "done: about 2 messages"},
				{"purge orders -o jsonl", exitDone, `{"channel":"orders","messages":0,"done":false}`, "0 messages"},
			} {
				var out, errOut bytes.Buffer
				if got := run(t.Context(), strings.Fields(step.args), &out, &errOut); got != step.status ||
					!strings.Contains(out.String(), step.out) || !strings.Contains(errOut.String(), step.errOut) {
					t.Errorf("%s: status %d\n%s%s", step.args, got, &out, &errOut)
				}
			}
		})
	}
}

// A topic that other groups read is purged with --shared only, and they are listed before.
func TestPurgeOfASharedTopic(t *testing.T) {
	onBrokers(t)
	b, err := kafka.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	fill(t, b, "events.*", 3)
	for _, channel := range []string{"events.audit", "events.mobile"} {
		ctx, stop := context.WithCancel(t.Context())
		c, err := godwit.NewConsumer(ctx, b, channel, nil)
		if err == nil {
			_, err = c.Run(ctx, func(context.Context, *godwit.Delivery) error { stop(); return nil })
		}
		stop()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		args        string
		status      int
		out, errOut string
	}{
		{"purge events.audit", exitDone, "events.mobile", "add --shared --yes"},
		{"purge events.audit --yes", exitFailed, "", "events.mobile"},
		{"purge events.audit --shared --yes", exitDone, "events.mobile", "done"},
		{"ls events.mobile -o jsonl", exitDone, `"waiting":0`, ""},
		{"pause events.mobile", exitFailed, "", "brokers of Kafka cannot"},
	} {
		var out, errOut bytes.Buffer
		if got := run(t.Context(), strings.Fields(step.args), &out, &errOut); got != step.status ||
			!strings.Contains(out.String(), step.out) || !strings.Contains(errOut.String(), step.errOut) {
			t.Errorf("%s: status %d\n%s%s", step.args, got, &out, &errOut)
		}
	}
}

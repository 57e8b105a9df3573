package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/snssqs"
)

// spoken is an output that tells a test of each write.
type spoken struct {
	locked
	wrote chan struct{} // has room for one
}

func newSpoken() *spoken { return &spoken{wrote: make(chan struct{}, 1)} }

func (s *spoken) Write(p []byte) (int, error) {
	n, err := s.locked.Write(p)
	select {
	case s.wrote <- struct{}{}:
	default: // the test has not looked since
	}
	return n, err
}

func (s *spoken) lines() int { return strings.Count(s.String(), "\n") }

// tailing is a `godwit tail` that runs.
type tailing struct {
	*testing.T
	out, errOut *spoken
	ended       chan int
	stop        func()
}

// startTail starts it, and returns when it follows.
func startTail(t *testing.T, args ...string) *tailing {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	c := &tailing{t, newSpoken(), newSpoken(), make(chan int, 1), stop}
	go func() { c.ended <- run(ctx, append([]string{"tail"}, args...), c.out, c.errOut) }()
	c.until(c.errOut, 1)
	return c
}

// until waits until an output has so many lines, or for the end of the command.
func (c *tailing) until(s *spoken, lines int) {
	c.Helper()
	for s.lines() < lines {
		select {
		case status := <-c.ended:
			c.Fatalf("it has ended with status %d: %s%s", status, c.out, c.errOut)
		case <-s.wrote:
		}
	}
}

// end interrupts it.
func (c *tailing) end() {
	c.Helper()
	c.stop()
	if status := <-c.ended; status != exitDone {
		c.Errorf("status %d: %s", status, c.errOut)
	}
}

// sentTo sends numbered messages, with a routing key that differs by the parity.
func sentTo(t *testing.T, channel string, n int) {
	t.Helper()
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, `{"body":"%03d","routing_key":"%s","order_key":"k%d"}`+"\n", i,
			[]string{"MAIL.SENT", "CALL.MADE"}[i%2], i%7)
	}
	file := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errOut, status := call(t, "send", channel, "--jsonl", file); status != exitDone {
		t.Fatalf("status %d: %s", status, errOut)
	}
}

// A tail beside a consumer: both get every message, once, and nothing is left of the tail.
func TestTailBesideAConsumer(t *testing.T) {
	if apart(t) {
		return
	}
	const n = 60
	for backend, begin := range map[string]func(t *testing.T) godwit.Backend{
		onAWS: func(t *testing.T) godwit.Backend {
			onServer(t)
			b, err := snssqs.Open(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
		onKafka: func(t *testing.T) godwit.Backend {
			onBrokers(t)
			b, err := kafka.Open(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
	} {
		t.Run(backend, func(t *testing.T) {
			b := begin(t)
			defer func() { _ = b.Close(context.Background()) }()
			c, err := godwit.NewConsumer(t.Context(), b, "events.mail", &godwit.ConsumerOptions{WaitTime: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			handled := newSpoken()
			ended := make(chan error, 1)
			go func() {
				_, err := c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
					_, err := fmt.Fprintf(handled, "%s\n", d.Body)
					return err
				})
				ended <- err
			}()
			before, _, _ := call(t, "ls", "-o", "jsonl", "--no-depths")
			all := startTail(t, "events.*", "-o", "jsonl")
			some := startTail(t, "events.*", "--routing-prefix", "MAIL.")
			sentTo(t, "events.*", n)
			all.until(all.out, n)
			some.until(some.out, n/2)
			all.until(handled, n)
			all.end()
			some.end()
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			var shown []string
			for line := range strings.Lines(all.out.String()) {
				var r ops.Record
				if err := json.Unmarshal([]byte(line), &r); err != nil || r.Raw.Body == nil {
					t.Fatalf("%v: %s", err, line)
				}
				shown = append(shown, *r.Raw.Body)
			}
			got := strings.Fields(handled.String())
			for name, bodies := range map[string][]string{"the tail": shown, "the consumer": got} {
				slices.Sort(bodies)
				if len(slices.Compact(slices.Clone(bodies))) != n || len(bodies) != n {
					t.Errorf("%s has %d messages, want %d: %q", name, len(bodies), n, bodies)
				}
			}
			if some.out.lines() != n/2 || strings.Contains(some.out.String(), "CALL.MADE") {
				t.Errorf("with a prefix: %s", some.out)
			}
			after, _, _ := call(t, "ls", "-o", "jsonl", "--no-depths")
			if before != after {
				t.Errorf("before:\n%safter:\n%s", before, after)
			}
		})
	}
}

// A queue on the local server, and a topic from an earlier time on. What a message has cannot control the terminal.
func TestTail(t *testing.T) {
	for backend, begin := range map[string]func(t *testing.T){
		onAWS: func(t *testing.T) { onServer(t) }, onKafka: onBrokers,
	} {
		t.Run(backend, func(t *testing.T) {
			begin(t)
			if _, errOut, status := call(t, "send", "orders", "old", "--create"); status != exitDone {
				t.Fatal(errOut)
			}
			now := startTail(t, "orders")
			evil := []string{"new\x1b[2J\n\u202eline", "--type", "t\u009b"}
			if _, errOut, status := call(t, append([]string{"send", "orders"}, evil...)...); status != exitDone {
				t.Fatal(errOut)
			}
			now.until(now.out, 1)
			now.end()
			wants(t, now.out.String(), "  type=t·  new·[2J ·line\n")
			if strings.Contains(now.out.String(), "old") ||
				!strings.Contains(now.errOut.String(), "1 messages were shown") {
				t.Errorf("%s%s", now.out, now.errOut)
			}
			out, errOut, status := call(t, "tail", "orders", "--since", "1h", "-n", "2")
			if status != exitDone || strings.Count(out, "\n") != 2 || !strings.Contains(out, "  old\n") {
				t.Errorf("status %d: %s%s", status, out, errOut)
			}
			if out, _, _ := call(t, "peek", "orders", "-o", "jsonl"); strings.Count(out, "\n") != 2 ||
				strings.Contains(out, `"received"`) {
				t.Errorf("the tail took something: %s", out)
			}
		})
	}
}

// Wrong input, and what cannot be followed.
func TestTailRefuses(t *testing.T) {
	onServer(t)
	provisioned(t, "events.mail", nil)
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"", exitUsage, "name one channel"},
		{"a b", exitUsage, "name one channel"},
		{"orders", exitNothing, "does not exist"},
		{"events.mail -o json", exitUsage, "use --output jsonl"},
		{"events.mail -o xml", exitUsage, "--output is"},
		{"events.mail -n -1", exitUsage, "--most is -1"},
		{"events.mail --since tomorrow", exitUsage, "2h or 3d"},
		{"events.mail --since 2099-01-01T00:00:00Z", exitUsage, "it has not come yet"},
		{"events.mail --since 1h --id x", exitUsage, "use one of them"},
		{"events.mail --id nosuch", exitNothing, "has no message nosuch"},
		{"events.* --since 1h", exitFailed, "an exchange keeps no messages"},
	} {
		out, errOut, status := call(t, append([]string{"tail"}, strings.Fields(c.args)...)...)
		if status != c.status || !strings.Contains(errOut, c.says) || out != "" {
			t.Errorf("godwit tail %s: status %d, %s%s; want %q", c.args, status, out, errOut, c.says)
		}
	}
	b, err := snssqs.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	o := tailOptions{output: screen.AsTable}
	if err := o.run(t.Context(), unpeekable{b}, "events.mail", &locked{}, &locked{}); err == nil ||
		!strings.Contains(err.Error(), "godwit peek") {
		t.Errorf("a queue of SQS itself: %v", err)
	}
}

// unpeekable is a backend whose service can only receive, as SQS itself.
type unpeekable struct{ driver.Backend }

func (u unpeekable) Operations() driver.Operations {
	o := driver.OperationsOf(u.Backend)
	o.Peek = nil
	return o
}

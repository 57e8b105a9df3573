package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/snssqs"
)

// Wrong input is told by the flag's name, and what to write instead, before anything is started.
func TestWrongInput(t *testing.T) {
	onServer(t)
	for _, c := range []struct {
		args string
		says string
	}{
		{"demand --workers 0", "--workers is 0: it must be positive"},
		{"demand --most -1", "--most is -1"},
		{"demand --service-time -1s", "--service-time is -1s"},
		{"demand [", "'[' needs a ']'"},
		{"ls [", "'[' needs a ']'"},
		{"ls a b", "one pattern at most"},
		{"requeue orders@dlq --kind nosuch", "the kinds are exhausted, permanent"},
		{"requeue orders@dlq --rate -3", "--rate is -3: it cannot be negative"},
		{"requeue orders@dlq --hold 0", "--hold is 0"},
		{"requeue orders@dlq --most -1", "--most is -1"},
		{"requeue orders@dlq --older 2x", "use a duration such as 90s, 2h or 3d"},
		{"requeue orders@dlq --older 3d --newer 1h", "no message is both"},
		{"requeue orders@dlq --attempts -1", "--attempts is -1"},
		{"export orders --most -1", "--most is -1"},
		{"peek orders --since 2099-01-01T00:00:00Z", "it has not come yet"},
		{"peek orders --since yesterday", "2h or 3d"},
		{"health --url nonsense", "http://127.0.0.1:8080/livez"},
	} {
		var out, errOut bytes.Buffer
		status := run(t.Context(), strings.Fields(c.args), &out, &errOut)
		if status != exitUsage || !strings.Contains(errOut.String(), c.says) {
			t.Errorf("godwit %s: status %d, %s; want %q", c.args, status, &errOut, c.says)
		}
	}
	for _, args := range []string{"ls nosuch", "demand nosuch"} {
		var out, errOut bytes.Buffer
		if status := run(t.Context(), strings.Fields(args), &out, &errOut); status != exitNothing ||
			!strings.Contains(errOut.String(), "there are no channels") {
			t.Errorf("godwit %s: status %d, %s", args, status, &errOut)
		}
	}
}

// Columns stay in line, also behind empty cells and short rows, and numbers end at the right.
func TestTable(t *testing.T) {
	got := table{
		head: []string{"CHANNEL", "WAITING", "OLDEST", "NOTES"},
		rows: [][]string{
			{"orders", "3", "3m", ""},
			{"wünsche.*"},
			{"orders@dlq", "12000", "", "ordered"},
		},
	}.String()
	want := "CHANNEL     WAITING  OLDEST  NOTES\n" +
		"orders            3  3m\n" +
		"wünsche.*\n" +
		"orders@dlq    12000          ordered\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Nothing that could control a terminal reaches it, in whatever pieces it comes; JSON stays what it was.
func TestScreen(t *testing.T) {
	const text = "a\x1b[31m\u009bred\u202edrow\u2066\x9b\x00é\tß\n漢字\r"
	const want = `a\u001b[31m\u009bred\u202edrow\u2066\x9b\u0000é` + "\tß\n漢字" + `\u000d`
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		s := &screen{to: &out}
		for piece := range slices.Chunk([]byte(text), size) {
			if n, err := s.Write(piece); n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
		}
		if out.String() != want {
			t.Errorf("in pieces of %d: %q, want %q", size, &out, want)
		}
	}
	in := map[string]string{"error": "a\u009b\u202e\x1b"}
	var out bytes.Buffer
	if err := json.NewEncoder(&screen{to: &out}).Encode(in); err != nil {
		t.Fatal(err)
	}
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["error"] != in["error"] ||
		strings.ContainsAny(out.String(), "\u009b\u202e\x1b") {
		t.Errorf("%v: %q", err, &out)
	}
}

// What senders and services write is escaped in every command that shows it.
func TestNothingControlsTheTerminal(t *testing.T) {
	const evil = "x\x1b[2J\u009b\u202e\r"
	onServer(t)
	b, err := snssqs.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := godwit.NewProducer(t.Context(), b, "orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Send(t.Context(), godwit.Message{
		Body: []byte(`{"a":"` + "\u009b\u202e" + `"}`), Type: "t\u009b\u202e", RoutingKey: "a.b",
		Headers: godwit.Headers{{Name: "h", Value: "\u009b\u202e"}},
	}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	c, err := godwit.NewConsumer(ctx, b, "orders", &godwit.ConsumerOptions{
		Logger: slog.New(slog.DiscardHandler), WaitTime: time.Second,
		Hooks: godwit.Hooks{Settled: func(godwit.Settling) { stop() }},
	})
	if err == nil {
		_, err = c.Run(ctx, func(context.Context, *godwit.Delivery) error {
			return godwit.Permanent(errors.New("bad " + evil))
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"peek orders@dlq", "peek orders@dlq -o json", "peek orders@dlq --groups",
		"peek orders@dlq --groups=exact -o jsonl",
		"export orders@dlq --receive", "requeue orders@dlq", "ls", "requeue orders@dlq --yes --edit .a.b",
		"peek x" + evil, "ls x" + evil, "purge x" + evil, "requeue orders@dlq --kind x" + evil,
	} {
		var out, errOut bytes.Buffer
		run(t.Context(), strings.Split(args, " "), &out, &errOut)
		if shown := out.String() + errOut.String(); strings.ContainsAny(shown, "\x1b\u009b\u202e\r") || shown == "" {
			t.Errorf("godwit %q prints %q", args, shown)
		}
	}
}

func TestAgo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 900 * time.Millisecond: "0s", 40 * time.Second: "40s", 3*time.Minute + 59*time.Second: "3m",
		2*time.Hour + 10*time.Minute: "2h10m", 5 * time.Hour: "5h", 49 * time.Hour: "2d",
	} {
		if got := ago(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

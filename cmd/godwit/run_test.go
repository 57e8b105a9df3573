package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/localaws"
	sqsqueue "github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/snssqs"
)

// shellWorker is a worker in a shell: what it handles is in the file seen.
const shellWorker = `#!/bin/sh
read -r hello
echo '{"godwit":1,"ready":true}'
while read -r line; do
	request=${line#*'"request":'}
	request=${request%%,*}
	body=${line#*'"body":"'}
	body=${body%%'"'*}
	case $body in
	die) exit 1 ;;
	bad) echo "{\"request\":$request,\"action\":\"reject\",\"error\":\"bad\"}" ;;
	*) echo "$body" >>seen && echo "{\"request\":$request,\"action\":\"done\"}" ;;
	esac
done
`

// locked is an output that a test reads while a command writes.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// call runs a command to its end.
func call(t *testing.T, args ...string) (out, errOut string, status int) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(t.Context(), args, &o, &e)
	return o.String(), e.String(), status
}

// runUntil runs `godwit run` until a queue is empty and has so many dead letters. It returns what was printed.
func runUntil(t *testing.T, server *localaws.Server, queue string, dead int, args ...string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var out bytes.Buffer
	errOut := &locked{}
	ended := make(chan int, 1)
	awaited, give := context.WithCancel(ctx)
	go func() {
		defer give() // it has ended by itself
		ended <- run(ctx, append([]string{"run"}, append(args, "--wait", "1s", "--retry", "10ms", "--retry-at-most",
			"20ms")...), &out, errOut)
	}()
	for name, count := range map[string]int{queue: 0, queue + "--dlq": dead} {
		if err := server.SQS().Queue(name).Model().Await(awaited, func(s sqsqueue.Stats) bool {
			return s.Total() == count
		}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	stop()
	if status := <-ended; status != exitDone {
		t.Errorf("status %d: %s", status, errOut)
	}
	return errOut.String()
}

// provisioned makes a channel as a consumer does.
func provisioned(t *testing.T, channel string, o *godwit.ConsumerOptions) {
	t.Helper()
	b, err := snssqs.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = godwit.NewConsumer(t.Context(), b, channel, o)
	if err := errors.Join(err, b.Close(context.Background())); err != nil {
		t.Fatal(err)
	}
}

// Messages that the command sends are handled by processes that live on. One that dies fails its message alone.
func TestRunWorker(t *testing.T) {
	if apart(t) {
		return
	}
	server := onServer(t)
	provisioned(t, "orders", nil)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("worker", []byte(shellWorker), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, errOut, status := call(t, "send", "orders", "n{{.N}}", "--template", "-n", "200"); status != 0 ||
		strings.Count(out, "\n") != 200 || !strings.Contains(errOut, "200 messages were sent to orders") {
		t.Fatalf("status %d: %s%s", status, out, errOut)
	}
	for _, body := range []string{"die", "bad"} {
		if _, errOut, status := call(t, "send", "orders", body); status != 0 {
			t.Fatalf("status %d: %s", status, errOut)
		}
	}
	errOut := runUntil(t, server, "orders", 2, "orders", "--worker", "./worker", "-j", "3")
	if !strings.Contains(errOut, "200 handled, 2 retried, 2 dead letters") {
		t.Errorf("%s", errOut)
	}
	seen, err := os.ReadFile("seen")
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for line := range strings.FieldsSeq(string(seen)) {
		times[line]++
	}
	for i := range 200 {
		if n := times[fmt.Sprint("n", i+1)]; n != 1 {
			t.Errorf("message %d was handled %d times", i+1, n)
		}
	}
	out, _, _ := call(t, "peek", "orders@dlq")
	if !strings.Contains(out, "permanent  of bad") || !strings.Contains(out, "exit status 1") {
		t.Errorf("%s", out)
	}
}

// A process for each message gets it as its input, and its status decides.
func TestRunExec(t *testing.T) {
	if apart(t) {
		return
	}
	server := onServer(t)
	provisioned(t, "orders", nil)
	t.Chdir(t.TempDir())
	for _, body := range []string{"good", "bad"} {
		if _, errOut, status := call(t, "send", "orders", body, "--key", "k"); status != 0 {
			t.Fatalf("status %d: %s", status, errOut)
		}
	}
	runUntil(t, server, "orders", 1, "orders", "--exec",
		`read -r body || true; test "$body" = good || exit 65; echo "$GODWIT_ORDER_KEY $body" >>seen`)
	if seen, err := os.ReadFile("seen"); err != nil || string(seen) != "k good\n" {
		t.Errorf("%q, %v", seen, err)
	}
}

// Messages of an exchange are posted, filtered and signed.
func TestRunHTTP(t *testing.T) {
	if apart(t) {
		return
	}
	server := onServer(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var got []string
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Header.Get("X-Godwit-Routing-Key"))
		if r.Header.Get("X-Godwit-Signature") == "" {
			t.Error("a request is not signed")
		}
	}))
	defer site.Close()
	provisioned(t, "events.mail", &godwit.ConsumerOptions{Filter: godwit.Filter{Prefix: []string{"MAIL."}}})
	for _, key := range []string{"MAIL.SENT", "CALL.MADE", "MAIL.READ"} {
		if _, errOut, status := call(t, "send", "events.*", "{}", "--routing-key", key); status != 0 {
			t.Fatalf("status %d: %s", status, errOut)
		}
	}
	runUntil(t, server, "events--mail", 0, "events.mail", "--http", site.URL, "--http-secret", secret,
		"--filter-prefix", "MAIL.")
	if slices.Sort(got); !slices.Equal(got, []string{"MAIL.READ", "MAIL.SENT"}) {
		t.Errorf("%s", got)
	}
}

// Wrong usage starts nothing, and says the names of flags.
func TestRunRefuses(t *testing.T) {
	onServer(t)
	for _, c := range []struct {
		args   string
		want   string
		status int
	}{
		{"run orders", "one of --exec, --worker and --http", 2},
		{"run orders --exec true --http http://x", "one of --exec, --worker and --http", 2},
		{"run orders --exec no-such-program", "cannot be run", 2},
		{"run orders --worker cat", `must be {"godwit":1,"ready":true}`, 1},
		{"run orders --http foo", "--http: ", 2},
		{"run orders --exec true -j 0", "--workers is 0", 2},
		{"run orders --exec true --timeout 1h", "--timeout is 1h", 2},
		{"run orders --exec true --max-attempts -1", "--max-attempts is -1", 2},
		{"run orders --exec true --provision maybe", "--provision is", 2},
		{"run orders --exec true --rate fast", "--rate is", 2},
		{"run orders --exec true --retry 1h --retry-at-most 1s", "--retry is 1h", 2},
		{"run orders --exec true --http-secret f", "it needs --http", 2},
		{"run orders --http http://x --http-secret /no/such", "--http-secret: ", 2},
		{"run orders --exec true --filter A", "--filter", 2},
		{"run", "name one channel", 2},
		{"send", "name one channel", 2},
		{"send missing x", "does not exist", 3},
		{"send orders x --file y", "given more than once", 2},
		{"send orders --file /no/such", "--file: ", 2},
		{"send orders --jsonl /no/such", "--jsonl: ", 2},
		{"send orders x -n 0", "--count is 0", 2},
		{"send orders x --rate -1", "--rate is -1", 2},
		{"send orders x --header a", "--header is", 2},
		{"send orders {{ --template", "is no template", 2},
		{"send orders --jsonl - --template", "--template and --count", 2},
		{"send orders x --ordered", "--ordered is for --create", 2},
		{"send orders x --delay 1h", "(--create makes it)", 1},
	} {
		_, errOut, status := call(t, strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(errOut, c.want) {
			t.Errorf("%s: status %d, want %d: %s", c.args, status, c.status, errOut)
		}
	}
}

// A file with a line that is no message sends those before it, and says so.
func TestSendLines(t *testing.T) {
	server := onServer(t)
	file := filepath.Join(t.TempDir(), "lines")
	text := strings.Repeat("{\"body\": \"a\"}\n", 6) + "{\"body\": \n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errOut, status := call(t, "send", "orders", "--jsonl", file, "--create")
	if status != exitFailed || !strings.Contains(errOut, "line 7: ") ||
		!strings.Contains(errOut, "6 messages were sent") {
		t.Errorf("status %d: %s", status, errOut)
	}
	if n := server.SQS().Queue("orders").Model().Stats().Total(); n != 6 {
		t.Errorf("%d messages", n)
	}
}

// The workers in other languages, in examples/workers, handle messages. CI has all of them.
func TestExampleWorkers(t *testing.T) {
	if apart(t) {
		return
	}
	folder, err := filepath.Abs("../../examples/workers")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ runs, file string }{
		{"python3", "worker.py"}, {"node", "worker.mjs"}, {"ruby", "worker.rb"}, {"sh", "handle.sh"},
	} {
		t.Run(c.runs, func(t *testing.T) {
			if _, err := exec.LookPath(c.runs); err != nil {
				if os.Getenv("GODWIT_ALL_LANGUAGES") != "" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			server := onServer(t)
			provisioned(t, "orders", nil)
			for _, body := range []string{`{"amount": 7}`, `{"amount": -7}`, "no JSON"} {
				if _, errOut, status := call(t, "send", "orders", body); status != 0 {
					t.Fatalf("status %d: %s", status, errOut)
				}
			}
			how := "--worker"
			if c.runs == "sh" {
				how = "--exec"
			}
			errOut := runUntil(t, server, "orders", 2, "orders", how, c.runs+" "+filepath.Join(folder, c.file))
			if !strings.Contains(errOut, "1 handled, 0 retried, 2 dead letters") ||
				!strings.Contains(errOut, "booked 7") {
				t.Errorf("%s", errOut)
			}
		})
	}
}

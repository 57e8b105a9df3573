package worker_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/cmd/godwit/internal/worker"
)

// TestMain makes this test's binary a worker if its first argument is a role.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case "worker":
		play(false)
	case "ahead":
		play(true)
	case "mute":
		select {}
	case "stranger":
		fmt.Println(`{"godwit":2,"ready":true}`)
		select {}
	}
	os.Exit(m.Run())
}

// reply is an answer of play.
type reply struct {
	Request uint64  `json:"request"`
	Action  string  `json:"action"`
	After   float64 `json:"after,omitempty"`
	Error   string  `json:"error,omitempty"`
}

// play is a worker whose messages say what it does. Messages may wait for it, or not.
func play(ahead bool) {
	in, out := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	if _, err := in.ReadString('\n'); err != nil {
		os.Exit(4)
	}
	fmt.Printf("{\"godwit\":1,\"ready\":true,\"ahead\":%v}\n", ahead)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			os.Exit(0)
		}
		var m struct {
			Request uint64
			Body    string
			Body64  []byte  `json:"body_base64"`
			BeginBy float64 `json:"begin_by"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			os.Exit(5)
		}
		do, with, _ := strings.Cut(m.Body, " ")
		answer := reply{Request: m.Request, Action: do}
		if m.BeginBy != 0 && float64(time.Now().UnixMicro())/1e6 > m.BeginBy {
			do, answer.Action = "release", "release"
		}
		switch do {
		case "spin":
			spin(with)
			answer.Action = "done"
		case "pid": // as the reason of a failure
			answer.Action, answer.Error = "fail", fmt.Sprint(os.Getpid())
		case "echo":
			answer.Action, answer.Error = "fail", line
		case "die":
			fmt.Fprint(os.Stderr, "cannot ", with)
			os.Exit(3)
		case "garbage":
			fmt.Println("what?")
			continue
		case "other":
			answer.Request, answer.Action = m.Request+1, "done"
		case "hang":
			signal.Ignore(syscall.SIGTERM)
			fmt.Fprintln(os.Stderr, "hangs", os.Getpid())
			select {}
		case "log":
			fmt.Fprintln(os.Stderr, with)
			answer.Action = "done"
		case "until": // nobody listens on an address any more
			c, err := net.Dial("tcp", with)
			if err != nil {
				os.Exit(8)
			}
			fmt.Fprintln(os.Stderr, "waits")
			_, _ = c.Read(make([]byte, 1))
			answer.Action = "done"
		case "wait":
			fmt.Fprintln(os.Stderr, "waits")
			select {}
		case "release":
		case "retry", "reject", "fail":
			answer.Error = with
			if do == "retry" {
				answer.After = 2.5
			}
		default:
			answer.Action = "done"
		}
		if err := out.Encode(answer); err != nil {
			os.Exit(6)
		}
	}
}

// spin uses a processor for so many microseconds, which is a text that may have more behind it.
func spin(text string) {
	number, _, _ := strings.Cut(text, " ")
	us, err := strconv.Atoi(number)
	if err != nil {
		os.Exit(7)
	}
	for end := time.Now().Add(time.Duration(us) * time.Microsecond); time.Now().Before(end); {
		continue
	}
}

// output collects what processes print, and tells what it waits for.
type output struct {
	mu   sync.Mutex
	text strings.Builder
	seen chan struct{} // receives when something was written
}

func newOutput() *output { return &output{seen: make(chan struct{}, 1)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	select {
	case o.seen <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (o *output) await(t *testing.T, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		o.mu.Lock()
		has := strings.Contains(o.text.String(), text)
		o.mu.Unlock()
		if has {
			return
		}
		select {
		case <-o.seen:
		case <-ctx.Done():
			t.Fatalf("%q was not written", text)
		}
	}
}

func self(t testing.TB, role string) worker.Command {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := worker.NewCommand(path + " " + role)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func constant(int) time.Duration { return 7 * time.Second }

func pool(t *testing.T, out *output, workers int) *worker.Pool {
	t.Helper()
	p, err := worker.NewPool(t.Context(), worker.PoolOptions{
		Command: self(t, "worker"), Workers: workers, Channel: "orders", Timeout: time.Minute, Backoff: constant,
		Output: &worker.Lines{To: out},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// verdict handles a message and says what came of it.
func verdict(ctx context.Context, h godwit.Handler, d *godwit.Delivery) string {
	err := h(ctx, d)
	if v, ok := d.Settled(); ok {
		return fmt.Sprintf("%s after %v", v.Action, v.After)
	}
	if err == nil {
		return "done"
	}
	how := godwit.RetryPolicy(3, constant)(d, err)
	return fmt.Sprintf("%s: %v", how.Action, err)
}

func message(body string) *godwit.Delivery {
	return &godwit.Delivery{ID: "m1", Channel: "orders", Body: []byte(body), Attempt: 1}
}

// What a worker answers is what becomes of the message. One that dies, or answers something else, fails that message
// alone, with the end of its errors as the reason.
func TestPool(t *testing.T) {
	t.Parallel()
	p := pool(t, newOutput(), 2)
	for _, c := range []struct{ body, want string }{
		{"done", "done"},
		{"reject bad amount", "reject: bad amount"},
		{"reject", "reject: the worker gave no error"},
		{"retry later", "retry after 2.5s"},
		{"fail no idea", "retry: no idea"},
		{"die remember", "it ended without an answer: exit status 3: cannot remember"},
		{"garbage", `answered "what?\n": it is no JSON object`},
		{"other", "it answers request "},
		{"done", "done"},
	} {
		if got := verdict(t.Context(), p.Handle, message(c.body)); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.body, got, c.want)
		}
	}
}

// A worker gets all that a message has, also bytes that are no text.
func TestRequest(t *testing.T) {
	t.Parallel()
	p := pool(t, newOutput(), 1)
	d := &godwit.Delivery{
		ID: "m2", Body: []byte("echo ä"), Attempt: 3, OrderKey: "k", RoutingKey: "A.B", ContentType: "text/plain",
		Type: "order", Version: 2, SentAt: time.Unix(10, 0),
		Headers: godwit.Headers{{Name: "a", Value: "1"}, {Name: "a", Value: "2"}},
	}
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(time.Hour))
	defer cancel()
	got := verdict(ctx, p.Handle, d)
	for _, want := range []string{
		`"id":"m2"`, `"body":"echo ä"`, `"attempt":3`, `"order_key":"k"`, `"routing_key":"A.B"`,
		`"content_type":"text/plain"`, `"type":"order"`, `"version":2`, `"sent":"1970-01-01T00:00:10Z"`, `"deadline":"`,
		`"headers":[{"name":"a","value":"1"},{"name":"a","value":"2"}]`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if got := verdict(t.Context(), p.Handle, message("\xff\xfe")); got != "done" {
		t.Errorf("%s", got)
	}
}

// A worker that does not answer is ended with its message's context, by force if it must be, and another one replaces
// it.
func TestWorkerIsEnded(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"wait", "hang"} {
		out := newOutput()
		p := pool(t, out, 1)
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() { ended <- p.Handle(ctx, message(body)) }()
		out.await(t, body+"s")
		cancel(godwit.ErrProcessingTimeout)
		if err := <-ended; !errors.Is(err, godwit.ErrProcessingTimeout) {
			t.Errorf("%s: %v", body, err)
		}
		if got := verdict(t.Context(), p.Handle, message("done")); got != "done" {
			t.Errorf("afterwards: %s", got)
		}
	}
}

// Messages of one key go to the same worker.
func TestUsualWorker(t *testing.T) {
	t.Parallel()
	p := pool(t, newOutput(), 4)
	seen := map[string]string{}
	for i := range 40 {
		key := fmt.Sprint("k", i%4)
		d := message("pid")
		d.OrderKey = key
		err := p.Handle(t.Context(), d)
		if err == nil || seen[key] != "" && seen[key] != err.Error() {
			t.Fatalf("key %s went to %v and %v", key, seen[key], err)
		}
		seen[key] = err.Error()
	}
}

// What does not speak the protocol is an error before a message is received.
func TestPoolRefuses(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]string{
		"stranger": `its first line is "{\"godwit\":2`,
		"mute":     "it has not answered",
	} {
		_, err := worker.NewPool(t.Context(), worker.PoolOptions{
			Command: self(t, role), Workers: 2, Timeout: 400 * time.Millisecond, Output: &worker.Lines{To: newOutput()},
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", role, err, want)
		}
	}
	for line, want := range map[string]string{
		"": "empty", "no-such-program at all": "cannot be run",
	} {
		if _, err := worker.NewCommand(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
}

// A worker that cannot be started any more stops the consumer: no message is to blame.
func TestWorkerIsGone(t *testing.T) {
	t.Parallel()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := t.TempDir() + "/worker"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	c, err := worker.NewCommand(link + " worker")
	if err != nil {
		t.Fatal(err)
	}
	p, err := worker.NewPool(t.Context(), worker.PoolOptions{
		Command: c, Workers: 1, Timeout: time.Minute, Output: &worker.Lines{To: newOutput()},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if got := verdict(t.Context(), p.Handle, message("die now")); !strings.Contains(got, "cannot now") {
		t.Errorf("%s", got)
	}
	if got := verdict(t.Context(), p.Handle, message("done")); !strings.HasPrefix(got, "stop: start ") {
		t.Errorf("%s", got)
	}
}

package lambdaruntime

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Function is a function in a process of its own.
type Function struct {
	events chan *invocation
	ended  chan struct{} // closed when the process has ended

	log *os.File // what the process has printed is there before its answer is

	mu      sync.Mutex
	open    map[string]*invocation
	invoked int
}

type invocation struct {
	id      string
	event   []byte
	timeout time.Duration
	answer  chan result // has room for one
}

type result struct {
	text []byte
	err  error
}

// Error is what a function reports instead of an answer.
type Error struct {
	Message string `json:"errorMessage"`
	Type    string `json:"errorType"`
}

func (e *Error) Error() string { return e.Type + ": " + e.Message }

// Start starts the command as a function, with these environment variables in addition to AWS_LAMBDA_RUNTIME_API. The
// process is killed at the end of the test, as Lambda does.
func Start(t testing.TB, command *exec.Cmd, env ...string) *Function {
	t.Helper()
	f := &Function{events: make(chan *invocation), ended: make(chan struct{}), open: map[string]*invocation{}}
	var err error
	if f.log, err = os.CreateTemp(t.TempDir(), "log"); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: f.routes(), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	command.Env = append(append(os.Environ(), env...),
		"AWS_LAMBDA_RUNTIME_API="+listener.Addr().String(), "AWS_LAMBDA_FUNCTION_NAME=test")
	command.Stdout, command.Stderr = f.log, f.log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = command.Wait()
		close(f.ended)
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-f.ended
		_ = server.Close()
		if t.Failed() {
			t.Logf("the function has printed:\n%s", f.Log())
		}
		_ = f.log.Close()
	})
	return f
}

// Invoke passes an event to the function, and returns its answer. The error is an *Error if the function reports one.
func (f *Function) Invoke(event []byte, timeout time.Duration) ([]byte, error) {
	f.mu.Lock()
	f.invoked++
	in := &invocation{
		id: fmt.Sprintf("request-%d", f.invoked), event: event, timeout: timeout, answer: make(chan result, 1),
	}
	f.open[in.id] = in
	f.mu.Unlock()
	select {
	case f.events <- in:
	case <-f.ended:
		return nil, errors.New("the process has ended")
	case <-time.After(time.Minute): // the process may take a while to start
		return nil, errors.New("the function asks for no event")
	}
	select {
	case r := <-in.answer:
		return r.text, r.err
	case <-f.ended:
		return nil, errors.New("the process has ended without an answer")
	case <-time.After(timeout):
		return nil, fmt.Errorf("the function has not answered within %v", timeout)
	}
}

// Log is what the function has printed so far, also after the process has ended, until the end of the test.
func (f *Function) Log() string {
	text, err := os.ReadFile(f.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Ended is closed when the process has ended.
func (f *Function) Ended() <-chan struct{} { return f.ended }

func (f *Function) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", f.next)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		f.answer(w, r, result{text, err})
	})
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", func(w http.ResponseWriter, r *http.Request) {
		reported := &Error{}
		if err := json.NewDecoder(r.Body).Decode(reported); err != nil {
			f.answer(w, r, result{err: err})
			return
		}
		f.answer(w, r, result{err: reported})
	})
	return mux
}

func (f *Function) next(w http.ResponseWriter, r *http.Request) {
	select {
	case in := <-f.events:
		h := w.Header()
		h.Set("Lambda-Runtime-Aws-Request-Id", in.id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(in.timeout).UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:000000000000:function:test")
		h.Set("Content-Type", "application/json")
		_, _ = w.Write(in.event)
	case <-r.Context().Done():
	}
}

func (f *Function) answer(w http.ResponseWriter, r *http.Request, to result) {
	f.mu.Lock()
	in := f.open[r.PathValue("id")]
	delete(f.open, r.PathValue("id"))
	f.mu.Unlock()
	if in == nil {
		http.Error(w, `{"errorMessage":"no such request","errorType":"InvalidRequestID"}`, http.StatusBadRequest)
		return
	}
	in.answer <- to
	w.WriteHeader(http.StatusAccepted)
}

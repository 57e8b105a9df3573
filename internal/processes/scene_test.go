package processes_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

const (
	keys = 20
	// workers is how many processes consume at the same time.
	workers = 3
)

// scene is one server with its producer and its workers.
type scene struct {
	*testing.T
	ordered  bool
	ahead    int // how many messages the producer sends before the first of them is handled
	lease    time.Duration
	program  string
	backend  *local.Backend
	endpoint string
	random   *rand.Rand
	started  int

	mu     sync.Mutex
	ends   *sync.Cond // signaled at every line of a worker
	events []event
	seen   int            // ends of handlers
	once   map[string]int // ends by message
}

// event is one line of a worker.
type event struct {
	at   int64 // in nanoseconds
	what string
	key  string
	n    int // of the message in its key
	by   string
}

// newScene builds the worker and starts the server.
func newScene(t *testing.T, ordered bool, lease time.Duration) *scene {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	s := &scene{T: t, ordered: ordered, ahead: 1000, lease: lease, once: map[string]int{}}
	s.ends = sync.NewCond(&s.mu)
	seed := rand.Uint64()
	if at := os.Getenv("GODWIT_SEED"); at != "" {
		_, _ = fmt.Sscan(at, &seed)
	}
	t.Logf("seed %d (GODWIT_SEED)", seed)
	s.random = rand.New(rand.NewPCG(seed, 1))
	s.program = filepath.Join(t.TempDir(), "worker")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", s.program, "./worker")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := local.Open(t.Context(), &local.Options{Server: &localaws.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.Background()) })
	s.backend = b
	addr, err := b.Server().Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.endpoint = "http://" + addr.String()
	spec := driver.ChannelSpec{Channel: driver.Channel{Queue: "orders", Ordered: ordered}, Owner: true}
	if err := b.Ensure(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	return s
}

// busy keeps n processors busy until the test ends.
func (s *scene) busy(n int) {
	s.Helper()
	for range n {
		cmd := exec.CommandContext(s.Context(), s.program, "-busy")
		if err := cmd.Start(); err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() { _ = cmd.Wait() }) // the context has killed it
	}
}

// produce sends messages, ahead of the workers, until ctx ends. It returns how many it has sent.
func (s *scene) produce(ctx context.Context) (sent int) {
	p, err := godwit.NewProducer(s.Context(), s.backend, "orders", &godwit.ProducerOptions{Ordered: s.ordered})
	if err != nil {
		s.Error(err)
		return 0
	}
	defer func() { _ = p.Close(context.Background()) }()
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ends.Broadcast()
	})()
	for {
		s.mu.Lock()
		for len(s.once)+s.ahead <= sent && ctx.Err() == nil {
			s.ends.Wait()
		}
		s.mu.Unlock()
		if ctx.Err() != nil {
			return sent
		}
		batch := make([]godwit.Message, keys)
		for key := range batch {
			batch[key].Body = fmt.Appendf(nil, "k%d/%d", key, sent/keys)
			if s.ordered {
				batch[key].OrderKey = fmt.Sprint("k", key)
			}
		}
		if err := p.SendBatch(s.Context(), batch); err != nil {
			s.Error(err)
			return sent
		}
		sent += keys
	}
}

// worker is one process.
type worker struct {
	*exec.Cmd
	s     *scene
	name  string
	ready chan struct{} // closed when it consumes
	read  chan struct{} // closed when all its lines are read
	said  strings.Builder
}

// start starts a worker and waits until it consumes.
func (s *scene) start() *worker {
	s.Helper()
	s.started++
	w := &worker{s: s, name: fmt.Sprint("worker", s.started), ready: make(chan struct{}), read: make(chan struct{})}
	w.Cmd = exec.CommandContext(s.Context(), s.program, "-ordered="+strconv.FormatBool(s.ordered),
		"-lease", s.lease.String())
	w.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+s.endpoint, "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID="+w.name, "AWS_SECRET_ACCESS_KEY=secret") // the server knows a process by its key
	w.Stderr = &w.said
	out, err := w.StdoutPipe()
	if err == nil {
		err = w.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	go func() {
		defer close(w.read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			w.line(lines.Text())
		}
	}()
	select {
	case <-w.ready:
	case <-w.read:
		s.Fatalf("%s ended before it was ready: %v: %s", w.name, w.Wait(), w.said.String())
	}
	return w
}

// line notes one line of a worker. A line that a kill has cut off says nothing.
func (w *worker) line(text string) {
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return
	}
	at, _ := strconv.ParseInt(fields[0], 10, 64)
	e := event{at: at, what: fields[1], by: w.name}
	if e.what == "ready" {
		close(w.ready)
		return
	}
	key, n, ok := strings.Cut(fields[len(fields)-1], "/")
	if !ok {
		return
	}
	e.key = key
	e.n, _ = strconv.Atoi(n)
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.events = append(w.s.events, e)
	if e.what == "end" {
		w.s.seen++
		w.s.once[fields[2]]++
	}
	w.s.ends.Broadcast()
}

// await waits until workers have ended n more handlers.
func (s *scene) await(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for until := s.seen + n; s.seen < until; {
		s.ends.Wait()
	}
}

// stop stops the worker with SIGTERM, and returns the messages that it has left in flight.
func (w *worker) stop() (stranded []string) {
	w.s.Helper()
	if err := w.Process.Signal(syscall.SIGTERM); err != nil {
		w.s.Fatal(err)
	}
	<-w.read
	if err := w.Wait(); err != nil {
		w.s.Errorf("%s: %v: %s", w.name, err, w.said.String())
	}
	for _, m := range w.s.queue("orders").Messages() {
		if m.State == queue.InFlight && strings.HasPrefix(m.Receives[len(m.Receives)-1].By+" ", w.name+" ") {
			stranded = append(stranded, m.Body)
		}
	}
	return stranded
}

// kill kills the worker, as kill -9 does.
func (w *worker) kill() {
	w.s.Helper()
	if err := w.Process.Kill(); err != nil {
		w.s.Fatal(err)
	}
	<-w.read
	if err := w.Wait(); !errors.As(err, new(*exec.ExitError)) {
		w.s.Errorf("%s: %v", w.name, err)
	}
}

// queue is a queue of the server.
func (s *scene) queue(name string) *queue.Queue {
	if s.ordered {
		name += ".fifo"
	}
	return s.backend.Server().SQS().Queue(name).Model()
}

// check checks that each message was handled, in the order of its key, and that none is left or dead. Without kills,
// each was handled once.
func (s *scene) check(sent int, kills bool) {
	s.Helper()
	if left := s.queue("orders").Stats(); left.Total() > 0 {
		s.Errorf("left in the queue: %+v", left)
	}
	if dead := s.queue("orders--dlq").Messages(); len(dead) > 0 {
		s.Errorf("%d dead letters, the first is %s", len(dead), dead[0].Body)
	}
	twice := 0
	for _, n := range s.once {
		if n > 1 {
			twice++
		}
	}
	if len(s.once) != sent || !kills && twice > 0 {
		s.Errorf("%d of %d messages were handled, %d of them twice", len(s.once), sent, twice)
	}
	if s.ordered {
		s.checkOrder()
	}
	s.Logf("%d messages, %d handled twice, %d processes", sent, twice, s.started)
}

// checkOrder checks that the messages of a key start one after another. After a kill, another process begins again with
// the first message that was not deleted.
func (s *scene) checkOrder() {
	s.Helper()
	slices.SortStableFunc(s.events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	last, ended := map[string]event{}, map[string]int{} // the latest start; the next number
	for _, e := range s.events {
		if e.what == "end" {
			ended[e.key] = max(ended[e.key], e.n+1)
			continue
		}
		before, any := last[e.key]
		next := before.n + 1
		if !any {
			next = 0
		}
		switch {
		case e.n > ended[e.key]:
			s.Errorf("%s starts %s/%d, and %d has not ended", e.by, e.key, e.n, ended[e.key])
		case e.n > next, e.n < next && e.by == before.by:
			s.Errorf("%s starts %s/%d, and %s has started %d", e.by, e.key, e.n, before.by, before.n)
		}
		last[e.key] = e
	}
}

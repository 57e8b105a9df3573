package ops_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/memdriver"
	"github.com/godwitmq/godwit/ops"
)

// watch is a consumer under a Health.
type watch struct {
	*testing.T
	health  *ops.Health
	backend *memdriver.Backend
	file    string
}

func newWatch(t *testing.T, o *ops.HealthOptions) *watch {
	t.Helper()
	w := &watch{T: t, file: filepath.Join(t.TempDir(), "health.json")}
	if o == nil {
		o = &ops.HealthOptions{}
	}
	o.File = w.file
	var err error
	if w.health, err = ops.NewHealth(o); err != nil {
		t.Fatal(err)
	}
	if w.backend, err = memdriver.Open(nil); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *watch) consumer(b godwit.Backend, o godwit.ConsumerOptions) (*godwit.Consumer, error) {
	o.Hooks = o.Hooks.Join(w.health.Hooks("orders"))
	return godwit.NewConsumer(w.Context(), b, "orders", &o)
}

// look checks the file and the addresses.
func (w *watch) look(want string, live, ready int) {
	w.Helper()
	synctest.Wait()
	err := ops.CheckHealth(w.Context(), ops.HealthCheck{File: w.file})
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		w.Errorf("the file says %v, want %q", err, want)
	}
	h := w.health.Handler()
	for path, status := range map[string]int{"/livez": live, "/readyz": ready} {
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		if answer.Code != status {
			w.Errorf("%s: %d %s, want %d", path, answer.Code, answer.Body, status)
		}
	}
}

// slow is a backend that takes long to provision.
type slow struct {
	*memdriver.Backend
	d time.Duration
}

func (s slow) Ensure(ctx context.Context, c driver.ChannelSpec) error {
	time.Sleep(s.d)
	return s.Backend.Ensure(ctx, c)
}

// A consumer may be Initializing for a minute, and Initialized for another one.
func TestHealthOfAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatch(t, nil)
		var c *godwit.Consumer
		var made sync.WaitGroup
		made.Go(func() {
			var err error
			if c, err = w.consumer(slow{w.backend, 90 * time.Second}, godwit.ConsumerOptions{}); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(50 * time.Second)
		w.look("", 200, 503)
		time.Sleep(20 * time.Second)
		w.look("orders: it has been Initializing for 1m10s", 503, 503)
		made.Wait()
		w.look("", 200, 200)
		time.Sleep(time.Minute + 6*time.Second)
		w.look("Initialized for 1m", 503, 503)
		ctx, stop := context.WithCancel(t.Context())
		var ran sync.WaitGroup
		ran.Go(func() { _, _ = c.Run(ctx, func(context.Context, *godwit.Delivery) error { return nil }) })
		time.Sleep(time.Hour)
		w.look("", 200, 200)
		if text := w.get("/demand?channel=orders"); !strings.Contains(text, `"consumers":0`) {
			t.Errorf("%s", text)
		}
		if text := w.get("/demand?channel=bills"); !strings.Contains(text, "no consumer of bills") {
			t.Errorf("%s", text)
		}
		c.Pause()
		time.Sleep(time.Hour)
		w.look("", 200, 200)
		stop()
		ran.Wait()
		w.look("", 200, 200)
		if err := w.health.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(w.file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the file is still there: %v", err)
		}
	})
}

// Consumers are not ready if nobody has received their delayed messages, or the ticks of schedules, for a day. A
// restart would not help, and other channels do not matter.
func TestHealthOfDelayedMessages(t *testing.T) {
	for _, beside := range []string{"@later", "@ticks"} {
		t.Run(beside, func(t *testing.T) { healthOfMessagesBeside(t, beside) })
	}
}

func healthOfMessagesBeside(t *testing.T, beside string) {
	synctest.Test(t, func(t *testing.T) {
		s := &street{}
		old := time.Now().Add(-48 * time.Hour)
		orders, bills := s.add("orders"+beside, 0), s.add("bills"+beside, 7)
		s.add("orders", 3)
		orders.Created, bills.Created = old, old
		w := newWatch(t, &ops.HealthOptions{Backend: s, Logger: slog.New(slog.DiscardHandler)})
		defer func() { _ = w.health.Close() }()
		c, err := w.consumer(w.backend, godwit.ConsumerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var ran sync.WaitGroup
		ran.Go(func() { _, _ = c.Run(ctx, func(context.Context, *godwit.Delivery) error { return nil }) })
		sleeps := func(d time.Duration, want string, ready int) {
			t.Helper()
			time.Sleep(d)
			w.look(want, 200, ready)
		}
		asleep := "orders: nobody has sent on messages for a day from orders" + beside
		sleeps(time.Hour+10*time.Second, "", 200)
		s.change(func() { orders.depth.InFlight = 5 })
		sleeps(50*time.Minute, "", 200)
		sleeps(10*time.Minute, asleep, 503)
		s.change(func() { s.catalogErr = errors.New("down") })
		sleeps(10*time.Minute, asleep, 503)
		s.change(func() { s.catalogErr, orders.polls.Value = nil, 1 })
		sleeps(10*time.Minute, "", 200)
		s.change(func() { orders.polls.Value, s.meterErr = 0, errors.New("denied") })
		sleeps(time.Hour, "", 200) // it is not known
		s.change(func() { s.meterErr, orders.Created = nil, time.Now() })
		sleeps(time.Hour, "", 200)
		stop()
		ran.Wait()
	})
}

// A handler that ignores its context is dead after its timeout and a minute; /debug/stuck shows where it is before.
func TestHealthOfAStuckHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatch(t, nil)
		defer func() { _ = w.health.Close() }()
		c, err := w.consumer(w.backend, godwit.ConsumerOptions{
			ProcessingTimeout: time.Minute, ShutdownTimeout: 10 * time.Second, Ordered: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		p, err := godwit.NewProducer(t.Context(), w.backend, "orders", &godwit.ProducerOptions{Ordered: true})
		if err == nil {
			err = errors.Join(p.Send(t.Context(), godwit.Message{Body: []byte("x")}), p.Close(t.Context()))
		}
		if err != nil {
			t.Fatal(err)
		}
		free := make(chan struct{})
		ctx, stop := context.WithCancel(t.Context())
		var ran sync.WaitGroup
		ran.Go(func() {
			_, _ = c.Run(ctx, func(context.Context, *godwit.Delivery) error { hang(free); return nil })
		})
		time.Sleep(20 * time.Second)
		if text := w.get("/debug/stuck"); !strings.Contains(text, "no handler") {
			t.Errorf("%s", text)
		}
		w.look("", 200, 200)
		time.Sleep(20 * time.Second)
		text := w.get("/debug/stuck")
		if !strings.Contains(text, "ops_test.hang") || !strings.Contains(text, "of 1m0s") {
			t.Errorf("%s", text)
		}
		time.Sleep(30 * time.Second) // it ignores the end of its context, which is no reason to start again yet
		w.look("ignore the end of their context", 200, 503)
		time.Sleep(time.Minute)
		w.look("a handler has been running for 2m", 503, 503)
		stop()
		close(free)
		ran.Wait()
	})
}

func hang(free <-chan struct{}) { <-free }

func (w *watch) get(path string) string {
	answer := httptest.NewRecorder()
	w.health.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	return answer.Body.String()
}

// A breaker that is open makes the process not ready, but it lives.
func TestHealthOfAnOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatch(t, nil)
		defer func() { _ = w.health.Close() }()
		c, err := w.consumer(w.backend, godwit.ConsumerOptions{BreakAfter: 3, Backoff: godwit.Constant(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		p, err := godwit.NewProducer(t.Context(), w.backend, "orders", nil)
		if err == nil {
			err = errors.Join(p.SendBatch(t.Context(), make([]godwit.Message, 20)), p.Close(t.Context()))
		}
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var ran sync.WaitGroup
		ran.Go(func() {
			_, _ = c.Run(ctx, func(context.Context, *godwit.Delivery) error { return errors.New("no answer") })
		})
		time.Sleep(6 * time.Second)
		w.look("no answer", 200, 503)
		stop()
		ran.Wait()
	})
}

// A service that does not answer polls is a reason to start again; one that answers with errors is not.
func TestHealthOfAService(t *testing.T) {
	for _, hangs := range []bool{true, false} {
		t.Run(fmt.Sprint("hangs ", hangs), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWatch(t, nil)
				defer func() { _ = w.health.Close() }()
				o := godwit.ConsumerOptions{ShutdownTimeout: 10 * time.Second}
				c, err := w.consumer(outage{w.backend, hangs}, o)
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				var ran sync.WaitGroup
				ran.Go(func() { _, _ = c.Run(ctx, func(context.Context, *godwit.Delivery) error { return nil }) })
				time.Sleep(2 * time.Minute)
				if hangs {
					w.look("does not answer polls", 503, 503)
				} else {
					w.look("has failed for", 200, 503)
				}
				stop()
				ran.Wait()
			})
		})
	}
}

// outage is a backend whose polls hang or fail.
type outage struct {
	*memdriver.Backend
	hangs bool
}

func (o outage) Receiver(ctx context.Context, c driver.Channel, opts driver.ReceiverOptions) (driver.Receiver, error) {
	r, err := o.Backend.Receiver(ctx, c, opts)
	return outageReceiver{r, o.hangs, make(chan struct{})}, err
}

type outageReceiver struct {
	driver.Receiver
	hangs  bool
	closed chan struct{}
}

func (r outageReceiver) Receive(_ context.Context, _ driver.Ask, into []driver.Delivery) ([]driver.Delivery, error) {
	if r.hangs {
		<-r.closed
		return into, nil
	}
	return into, &driver.Error{Class: driver.Transient, Err: errors.New("the service is down")}
}

func (r outageReceiver) Close(ctx context.Context) error {
	close(r.closed)
	return r.Receiver.Close(ctx)
}

// A file of a process that has ended is dead after 30 s; without a file, a process may be starting.
func TestHealthFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "health.json")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	look := func(c ops.HealthCheck) string {
		if err := ops.CheckHealth(t.Context(), c); err != nil {
			return err.Error()
		}
		return "ok"
	}
	at := func(age time.Duration) string {
		return fmt.Sprintf(`{"at": %q, "pid": 7, "consumers": [
			{"channel": "orders", "dead": ["a"], "unhealthy": ["a", "b"]}]}`,
			time.Now().Add(-age).Format(time.RFC3339Nano))
	}
	for want, f := range map[string]func() string{
		"there is no file": func() string {
			return look(ops.HealthCheck{File: file + "x", StartPeriod: time.Nanosecond})
		},
		"is no health file": func() string {
			write("{")
			return look(ops.HealthCheck{File: file})
		},
		"old: its process 7": func() string {
			write(at(31 * time.Second))
			return look(ops.HealthCheck{File: file})
		},
		"orders: a; orders: b": func() string {
			write(at(20 * time.Second))
			return look(ops.HealthCheck{File: file})
		},
		"orders: a": func() string {
			write(at(0))
			return look(ops.HealthCheck{File: file, Live: true})
		},
		"name either":        func() string { return look(ops.HealthCheck{}) },
		"cannot be negative": func() string { return look(ops.HealthCheck{File: file, StartPeriod: -1}) },
		"connection refused": func() string { return look(ops.HealthCheck{URL: "http://127.0.0.1:1/livez"}) },
	} {
		if got := f(); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := look(ops.HealthCheck{File: file + "x", StartPeriod: 1000 * 24 * time.Hour}); got != "ok" {
		t.Errorf("while it starts: %s", got)
	}
	if _, err := ops.NewHealth(&ops.HealthOptions{File: filepath.Join(dir, "no", "such", "folder")}); err == nil {
		t.Error("a file that cannot be written was accepted")
	}
}

// A reader never sees a part of the file, however often it looks.
func TestHealthFileIsNeverHalfWritten(t *testing.T) {
	w := newWatch(t, nil)
	defer func() { _ = w.health.Close() }()
	hooks := w.health.Hooks("orders")
	done := make(chan struct{})
	var changes sync.WaitGroup
	changes.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				hooks.State(godwit.StateListening, godwit.StateIdle)
			}
		}
	})
	for range 10_000 {
		text, err := os.ReadFile(w.file)
		var r ops.HealthReport
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	close(done)
	changes.Wait()
	left, err := filepath.Glob(filepath.Join(filepath.Dir(w.file), ".*"))
	if err != nil || len(left) > 1 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
}

package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
)

// Every hook is called on both sides, in order, and a nil hook on either side is ignored.
func TestHooksJoin(t *testing.T) {
	var called []string
	all := func(name string) godwit.Hooks {
		var h godwit.Hooks
		v := reflect.ValueOf(&h).Elem()
		for i := range v.NumField() {
			field := v.Type().Field(i)
			v.Field(i).Set(reflect.MakeFunc(field.Type, func([]reflect.Value) []reflect.Value {
				called = append(called, name+field.Name)
				return nil
			}))
		}
		return h
	}
	for _, c := range []struct {
		name   string
		joined godwit.Hooks
		want   []string
	}{
		{"both", all("a ").Join(all("b ")), []string{"a ", "b "}},
		{"first", all("a ").Join(godwit.Hooks{}), []string{"a "}},
		{"second", godwit.Hooks{}.Join(all("b ")), []string{"b "}},
		{"three", all("a ").Join(all("b "), all("c ")), []string{"a ", "b ", "c "}},
	} {
		v := reflect.ValueOf(c.joined)
		for i := range v.NumField() {
			called = nil
			var args []reflect.Value
			for arg := range v.Field(i).Type().Ins() {
				args = append(args, reflect.Zero(arg))
			}
			v.Field(i).Call(args)
			var want []string
			for _, side := range c.want {
				want = append(want, side+v.Type().Field(i).Name)
			}
			if !slices.Equal(called, want) {
				t.Errorf("%s: called %q, want %q", c.name, called, want)
			}
		}
	}
	none := reflect.ValueOf(godwit.Hooks{}.Join(godwit.Hooks{}))
	for i := range none.NumField() {
		if !none.Field(i).IsNil() {
			t.Errorf("%s of two empty hooks is not nil", none.Type().Field(i).Name)
		}
	}
}

// heard collects what hooks are told.
type heard[T any] struct {
	sync.Mutex
	all []T
}

func (h *heard[T]) add(v T) {
	h.Lock()
	defer h.Unlock()
	h.all = append(h.all, v)
}

func (h *heard[T]) take() []T {
	h.Lock()
	defer h.Unlock()
	all := h.all
	h.all = nil
	return all
}

// The hooks of a consumer get each poll, each request with settlements, and each renewal.
func TestRequestsOfAConsumer(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var polls heard[godwit.Poll]
		var settled heard[godwit.Settling]
		var renewed heard[godwit.Renewal]
		c := w.consumer("orders", &godwit.ConsumerOptions{
			Lease: 30 * time.Second, MaxAttempts: 1,
			Hooks: godwit.Hooks{Polled: polls.add, Settled: settled.add, Renewed: renewed.add},
		})
		p := w.producer("orders", nil)
		w.send(p, godwit.Message{Body: []byte("slow")}, godwit.Message{Body: []byte("bad")})
		r := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			if string(d.Body) == "bad" {
				return errors.New("no")
			}
			time.Sleep(time.Minute)
			return nil
		})
		time.Sleep(30 * time.Second)
		if live := c.Live(); live.Held != 1 || live.Running != 1 || live.Waiting != 0 || live.Workers != 10 ||
			live.Polls != 1 || live.Bytes != 4 {
			t.Errorf("while one handler runs: %+v", live)
		}
		time.Sleep(time.Minute)
		r.stop()
		var got []int
		for _, one := range polls.take() {
			if one.Err != nil {
				t.Errorf("a poll failed: %v", one.Err)
			}
			if len(one.Deliveries) > 0 {
				got = append(got, len(one.Deliveries), int(one.Bytes))
			} else if one.Asked != 10 {
				t.Errorf("an empty poll asked for %d", one.Asked)
			}
		}
		if diff := cmp.Diff([]int{2, 7}, got); diff != "" {
			t.Errorf("deliveries and bytes of polls (-want +got):\n%s", diff)
		}
		var bodies []string
		sum := godwit.Settling{}
		for _, s := range settled.take() {
			sum.Done, sum.Rejected, sum.Failed = sum.Done+s.Done, sum.Rejected+s.Rejected, sum.Failed+s.Failed
			for _, d := range s.Deliveries {
				bodies = append(bodies, string(d.Body))
			}
		}
		if sum.Done != 1 || sum.Rejected != 1 || sum.Failed != 0 || !cmp.Equal(bodies, []string{"bad", "slow"}) {
			t.Errorf("settled %+v, %q", sum, bodies)
		}
		if n := renewed.take(); len(n) < 2 || n[0].Leases != 1 || n[0].Failed != 0 {
			t.Errorf("renewals: %+v", n)
		}
		if live := c.Live(); live.Held != 0 || live.Lanes != 0 {
			t.Errorf("after the end: %+v", live)
		}
	})
}

// A request that fails says how many of its entries have failed.
func TestRequestsThatFail(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var settled heard[godwit.Settling]
		var polls heard[godwit.Poll]
		c := w.consumer("orders", &godwit.ConsumerOptions{Hooks: godwit.Hooks{Settled: settled.add, Polled: polls.add}})
		p := w.producer("orders", nil)
		w.send(p, godwit.Message{Body: []byte("a")})
		refused := func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Err: &wire.Error{Code: "InternalError", Fault: true}}
		}
		w.server.ControlOnce("sqs.DeleteMessageBatch", refused)
		w.server.ControlOnce("sqs.ReceiveMessage", refused)
		r := w.run(c, func(context.Context, *godwit.Delivery) error { return nil })
		time.Sleep(time.Minute)
		r.stop()
		s := settled.take()
		if len(s) != 2 || s[0].Failed != 1 || s[0].Err == nil || s[1].Failed != 0 || s[1].Err != nil {
			t.Errorf("settlements %+v", s)
		}
		if all := polls.take(); all[0].Err == nil {
			t.Errorf("the first poll is %+v", all[0])
		}
	})
}

// The lane that waits longest is the one behind a running handler or behind a retry.
func TestBlockedLanes(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{
			Ordered: true, Backoff: godwit.Exponential(time.Minute, time.Minute),
		})
		p := w.producer("orders", &godwit.ProducerOptions{Ordered: true})
		for _, body := range []string{"bad", "next"} {
			w.send(p, godwit.Message{Body: []byte(body), OrderKey: "k"})
		}
		w.send(p, godwit.Message{Body: []byte("alone"), OrderKey: "other"})
		r := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			if string(d.Body) == "bad" && d.Attempt == 1 {
				return errors.New("no")
			}
			return nil
		})
		time.Sleep(3 * time.Second)
		if live := c.Live(); live.Retrying != 1 || live.Waiting != 1 || live.Lanes != 1 ||
			live.Blocked.Round(time.Second) != 3*time.Second {
			t.Errorf("behind a retry: %+v", live)
		}
		time.Sleep(2 * time.Minute)
		r.stop()
	})
}

// The hooks of a producer get each request, each repetition, the circuit's changes and each provisioning.
func TestRequestsOfAProducer(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var sent heard[godwit.Sending]
		var events heard[string]
		p := w.producer("orders", &godwit.ProducerOptions{
			RetryFor: time.Minute,
			Hooks: godwit.ProducerHooks{
				Created: func(p *godwit.Producer) { events.add("created " + p.Channel()) },
				Sent:    sent.add,
				Retried: func(time.Duration, error) { events.add("retried") },
				Circuit: func(open bool, err error) {
					if open != (err != nil) {
						t.Errorf("open %v with error %v", open, err)
					}
					events.add(map[bool]string{true: "open", false: "closed"}[open])
				},
				Provisioned: func(err error) { events.add("provisioned") },
				Closed:      func() { events.add("end") },
			},
		})
		trace := godwit.Headers{{Name: "traceparent", Value: "00-1"}}
		w.send(p, godwit.Message{Body: []byte("ab"), Trace: trace}, godwit.Message{Body: []byte("c")})
		one := sent.take()
		if len(one) != 1 || one[0].Messages != 2 || one[0].Failed != 0 || one[0].Bytes < 3 ||
			!cmp.Equal(one[0].Traces, []godwit.Headers{trace, nil}) {
			t.Errorf("sent %+v", one)
		}
		remove := w.server.Control(sends, func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Err: &wire.Error{Code: "InternalError", Fault: true}}
		})
		time.AfterFunc(30*time.Second, remove)
		if err := p.Send(w.Context(), godwit.Message{Body: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		all := sent.take()
		if last := all[len(all)-1]; all[0].Failed != 1 || all[0].Err == nil || last.Failed != 0 || last.Err != nil {
			t.Errorf("sent %+v", all)
		}
		w.deleteChannel("orders", false)
		if err := p.Send(w.Context(), godwit.Message{Body: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, e := range events.take() {
			if len(kinds) == 0 || kinds[len(kinds)-1] != e {
				kinds = append(kinds, e)
			}
		}
		want := "created orders, retried, open, retried, closed, provisioned, end"
		if got := strings.Join(kinds, ", "); got != want {
			t.Errorf("%s; want %s", got, want)
		}
	})
}

// A producer's hook that panics changes nothing for the messages, and Health reports it.
func TestProducerHooksThatPanic(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		p := w.producer("orders", &godwit.ProducerOptions{Hooks: godwit.ProducerHooks{
			Sent: func(godwit.Sending) { panic("a hook") },
		}})
		m := godwit.Message{Body: []byte("x"), Answered: func(godwit.Receipt, error) { panic("answered") }}
		if err := p.Send(w.Context(), m); err != nil {
			t.Fatal(err)
		}
		if h := p.Health(); len(h.Unhealthy) != 1 || !strings.Contains(h.Unhealthy[0], "panic") {
			t.Errorf("unhealthy: %q", h.Unhealthy)
		}
		time.Sleep(2 * time.Minute)
		if h := p.Health(); len(h.Unhealthy) != 0 {
			t.Errorf("unhealthy after two minutes: %q", h.Unhealthy)
		}
	})
}

// The outcome of a message reaches its middleware however it was sent.
func TestTheOutcomeReachesMiddleware(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var outcomes heard[error]
		p := w.producer("orders", &godwit.ProducerOptions{
			RetryFor: time.Second,
			Middleware: []godwit.SendMiddleware{func(next godwit.SendFunc) godwit.SendFunc {
				return func(ctx context.Context, m *godwit.Message) error {
					m.Answered = func(r godwit.Receipt, err error) {
						if (r.MessageID == "") != (err != nil) {
							t.Errorf("the receipt is %+v with error %v", r, err)
						}
						outcomes.add(err)
					}
					return next(ctx, m)
				}
			}},
		})
		ms := []godwit.Message{{Body: []byte("a")}, {Body: []byte("b")}}
		send := func(ctx context.Context) {
			t.Helper()
			_ = p.Send(ctx, ms[0])
			_ = p.SendBatch(ctx, ms)
			if r, err := p.SendAsync(ctx, ms[0]); err == nil {
				_ = r.Wait(w.Context())
			}
		}
		count := func(failed bool, want int) {
			t.Helper()
			all := outcomes.take()
			for _, err := range all {
				if (err != nil) != failed {
					t.Errorf("an outcome is %v", err)
				}
			}
			if len(all) != want {
				t.Errorf("%d outcomes, want %d", len(all), want)
			}
		}
		send(w.Context())
		count(false, 4)
		remove := w.server.Control(sends, func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Err: &wire.Error{Code: "AccessDenied"}}
		})
		send(w.Context())
		count(true, 4)
		remove()
		if err := p.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		_ = p.SendBatch(w.Context(), ms)
		count(true, 2)
	})
}

// A trace replaces headers of its names. A message that has no room for it is sent without it, and a hook says so.
func TestATraceNeverCostsAMessage(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var dropped heard[error]
		c := w.consumer("orders", nil)
		p := w.producer("orders", &godwit.ProducerOptions{Hooks: godwit.ProducerHooks{Untraced: dropped.add}})
		trace := godwit.Headers{{Name: "traceparent", Value: "new"}}
		old := godwit.Headers{{Name: "locale", Value: "de"}, {Name: "traceparent", Value: "old"}}
		full := godwit.Headers{{Name: "full", Value: strings.Repeat("x", 1<<20-50<<10)}} // nearly all that SQS takes
		wide := godwit.Headers{{Name: "tracestate", Value: strings.Repeat("s", 100<<10)}}
		for _, m := range []godwit.Message{
			{Body: []byte("small"), Headers: old, Trace: trace},
			{Body: []byte("hostile"), Headers: old, Trace: godwit.Headers{{Name: "tracestate", Value: "a\x00b"}}},
			{Body: []byte("large"), Headers: full, Trace: wide},
		} {
			if err := p.Send(w.Context(), m); err != nil {
				t.Errorf("%.10s: %v", m.Body, err)
			}
		}
		if n := len(dropped.take()); n != 2 {
			t.Errorf("%d traces were dropped, want 2", n)
		}
		err := p.Send(w.Context(), godwit.Message{Headers: large(), Trace: trace})
		if err == nil || len(dropped.take()) != 0 {
			t.Errorf("a message that is too large without its trace: %v", err)
		}
		got := map[string]godwit.Headers{}
		var mu sync.Mutex
		r := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			mu.Lock()
			defer mu.Unlock()
			got[string(d.Body[:min(5, len(d.Body))])] = d.Headers
			return nil
		})
		time.Sleep(time.Minute)
		r.stop()
		want := map[string]godwit.Headers{
			"small": {{Name: "locale", Value: "de"}, {Name: "traceparent", Value: "new"}}, "hosti": old, "large": full,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
	})
}

// As reaches the backend while the delivery is held, and not afterwards.
func TestAs(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", nil)
		w.send(w.producer("orders", nil), godwit.Message{Body: []byte("x")})
		var kept *godwit.Delivery
		r := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			var at driver.Provenance
			var other int
			if !d.As(&at) || d.As(&other) {
				t.Error("As does not know a driver.Provenance, or knows an int")
			}
			kept = d
			return nil
		})
		time.Sleep(time.Minute)
		r.stop()
		if kept.As(&driver.Provenance{}) || (&godwit.Delivery{}).As(&driver.Provenance{}) {
			t.Error("As is true for a delivery that was settled, or made by hand")
		}
	})
}

// nilError is an error whose methods panic for a nil pointer, like those of many errors.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// rudeError is an error whose Unwrap panics.
type rudeError struct{}

func (rudeError) Error() string { return "rude" }
func (rudeError) Unwrap() error { panic("do not look") }

// An error whose methods panic is handled like any other error. It ends neither the process nor the consumer, and the
// dead letter says what is wrong with it.
func TestErrorsWhoseMethodsPanic(t *testing.T) {
	var unset *nilError
	for _, bad := range []error{unset, rudeError{}, fmt.Errorf("wrapped: %w", rudeError{})} {
		t.Run(fmt.Sprintf("%T", bad), func(t *testing.T) {
			l := newLog(driver.ReceiveLimits{})
			onLog(t, l, &godwit.ConsumerOptions{MaxAttempts: 2}, func(_ context.Context, d *godwit.Delivery) error {
				if d.ID == "1" {
					return d.Reject(bad)
				}
				return bad
			}, func(*godwit.Consumer) {
				l.put(0, "a", "b")
				rest(time.Hour)
				want(t, l, "1 reject rejected", "0 reject panic")
			})
		})
		t.Run(fmt.Sprintf("%T in a batch", bad), func(t *testing.T) {
			l := newLog(driver.ReceiveLimits{})
			onLogInBatches(t, l, &godwit.ConsumerOptions{MaxAttempts: 1}, nil,
				func(context.Context, []*godwit.Delivery) error {
					return &godwit.HandleBatchError{Errs: map[int]error{1: bad}}
				}, func(*godwit.Consumer) {
					l.put(0, "a", "b", "c")
					rest(time.Hour)
					got := l.answers()
					slices.Sort(got)
					if w := []string{"0 done", "1 reject panic", "2 done"}; !slices.Equal(got, w) {
						t.Errorf("settled %v, want %v", got, w)
					}
				})
		})
	}
}

// A handler that ends its goroutine has failed like one that panics: its worker is replaced, and its key continues.
func TestAHandlerThatEndsItsGoroutine(t *testing.T) {
	for _, run := range []struct {
		name string
		do   func(l *logOf, o *godwit.ConsumerOptions, handle func(*godwit.Delivery), body func(*godwit.Consumer))
	}{
		{"single", func(l *logOf, o *godwit.ConsumerOptions, handle func(*godwit.Delivery),
			body func(*godwit.Consumer),
		) {
			onLog(t, l, o, func(_ context.Context, d *godwit.Delivery) error {
				handle(d)
				return nil
			}, body)
		}},
		{"batch", func(l *logOf, o *godwit.ConsumerOptions, handle func(*godwit.Delivery),
			body func(*godwit.Consumer),
		) {
			onLogInBatches(t, l, o, &godwit.BatchOptions{Size: 1},
				func(_ context.Context, ds []*godwit.Delivery) error {
					handle(ds[0])
					return nil
				}, body)
		}},
	} {
		t.Run(run.name, func(t *testing.T) {
			l := newLog(driver.ReceiveLimits{})
			var attempts []int
			run.do(l, &godwit.ConsumerOptions{Concurrency: 1, MaxAttempts: 2}, func(d *godwit.Delivery) {
				if d.ID == "0" {
					attempts = append(attempts, d.Attempt)
					runtime.Goexit()
				}
			}, func(*godwit.Consumer) {
				l.put(0, "a", "a", "b")
				rest(time.Hour)
				want(t, l, "2 done", "0 reject exhausted", "1 done")
				if !slices.Equal(attempts, []int{1, 2}) {
					t.Errorf("attempts %v", attempts)
				}
			})
		})
	}
}

// Panics of the caller's functions are recovered: of a policy and its backoff, and of hooks, also of the hook State.
func TestFunctionsOfTheCallerMayPanic(t *testing.T) {
	l := newLog(driver.ReceiveLimits{})
	seen := 0
	onLog(t, l, &godwit.ConsumerOptions{
		MaxAttempts: 2, Backoff: func(int) time.Duration { panic("backoff") },
		Hooks: godwit.Hooks{State: func(_, to godwit.State) {
			if seen++; to == godwit.StateInitialized || to == godwit.StateProcessing && seen < 5 {
				panic("state")
			}
		}},
	}, func(context.Context, *godwit.Delivery) error { return errors.New("no") }, func(*godwit.Consumer) {
		l.put(0, "a")
		rest(time.Hour)
		want(t, l, "0 reject exhausted")
	})
	if seen == 0 {
		t.Error("the hook State was not called")
	}
}

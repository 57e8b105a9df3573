package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/internal/fullrun"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
)

// One message from send to delete, with the unmodified SDK: a handler fails, the retry starts after its backoff, and
// the consumer stops gracefully when its context ends. The test takes no real time.
func TestOneMessageAllTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		backend, err := local.Open(ctx, &local.Options{Server: &localaws.Options{Seed: 1}})
		if err != nil {
			t.Fatal(err)
		}
		defer backend.Close(context.Background())
		consumer, err := godwit.NewConsumer(ctx, backend, "orders",
			&godwit.ConsumerOptions{Backoff: godwit.Constant(40 * time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		producer, err := godwit.NewProducer(ctx, backend, "orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := producer.Send(ctx, godwit.Message{
			Body:    []byte("hello"),
			Headers: godwit.Headers{{Name: "a", Value: "b"}},
		}); err != nil {
			t.Fatal(err)
		}
		var attempts []time.Time
		report, err := consumer.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
			attempts = append(attempts, time.Now())
			if string(d.Body) != "hello" || d.Headers.Value("a") != "b" || d.Attempt != len(attempts) {
				t.Errorf("attempt %d brought %q with %v", d.Attempt, d.Body, d.Headers)
			}
			if len(attempts) == 1 {
				return errors.New("not yet")
			}
			stop()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(attempts) != 2 {
			t.Fatalf("handled %d times, want 2", len(attempts))
		}
		if wait := attempts[1].Sub(attempts[0]); wait < 40*time.Second || wait > 42*time.Second {
			t.Errorf("the retry came after %v, want 40 s", wait)
		}
		if report.Handled != 1 || report.Retried != 1 || report.Received != 1 { // it was held in the consumer
			t.Errorf("report %+v", report)
		}
		if err := producer.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func (w *world) send(p *godwit.Producer, ms ...godwit.Message) {
	w.Helper()
	if err := p.SendBatch(w.Context(), ms); err != nil {
		w.Fatal(err)
	}
}

// many makes n messages of one order key.
func many(n int, key string) []godwit.Message {
	ms := make([]godwit.Message, n)
	for i := range ms {
		ms[i] = godwit.Message{Body: fmt.Appendf(nil, "%s %d", key, i), OrderKey: key}
	}
	return ms
}

// diary records what handlers did.
type diary struct {
	mu     sync.Mutex
	bodies []string
	when   []time.Time
}

func (n *diary) note(d *godwit.Delivery) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.bodies = append(n.bodies, string(d.Body))
	n.when = append(n.when, time.Now())
	return len(n.bodies)
}

func (n *diary) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.bodies)
}

func TestExactlySoManyHandlersAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 7})
		w.send(w.producer("orders", nil), many(100, "x")...)
		var now, most atomic.Int64
		run := w.run(c, func(context.Context, *godwit.Delivery) error {
			n := now.Add(1)
			for {
				m := most.Load()
				if n <= m || most.CompareAndSwap(m, n) {
					break
				}
			}
			time.Sleep(time.Second)
			now.Add(-1)
			return nil
		})
		time.Sleep(time.Minute)
		if r := run.stop(); r.Handled != 100 || most.Load() != 7 {
			t.Errorf("handled %d, at most %d at once; want 100 and 7", r.Handled, most.Load())
		}
	})
}

func TestBackpressure(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 4})
		w.send(w.producer("orders", nil), many(100, "x")...)
		release := make(chan struct{})
		run := w.run(c, func(context.Context, *godwit.Delivery) error { <-release; return nil })
		time.Sleep(5 * time.Minute)
		held := 0
		for _, m := range w.messages("orders") {
			if m.State.String() == "in flight" {
				held++
			}
		}
		if held > 14 {
			t.Errorf("%d messages taken for 4 handlers, want at most 14", held)
		}
		close(release)
		time.Sleep(time.Minute)
		if r := run.stop(); r.Handled != 100 {
			t.Errorf("handled %d", r.Handled)
		}
	})
}

func TestIdleCostsThreeRequestsAMinute(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: 200})
		run := w.run(c, func(context.Context, *godwit.Delivery) error { return nil })
		time.Sleep(time.Minute)
		before := w.queueCalls()
		time.Sleep(time.Hour)
		if n := w.queueCalls() - before; n > 181 { // a poll may end at either end of the hour
			t.Errorf("%d requests in an idle hour, want 180", n)
		}
		run.stop()
	})
}

func TestRequestsAMessageUnderLoad(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		workers int
		most    float64
	}{{64, 0.22}, {10, 0.22}} {
		t.Run(fmt.Sprint(c.workers), func(t *testing.T) {
			inWorld(t, func(w *world) {
				n := fullrun.Pick(6000, 20_000)
				consumer := w.consumer("orders", &godwit.ConsumerOptions{Concurrency: c.workers})
				w.send(w.producer("orders", nil), many(n, "x")...)
				w.latency(5 * time.Millisecond)
				before := w.queueCalls()
				var left atomic.Int64
				left.Store(int64(n))
				done := make(chan struct{})
				begun := time.Now()
				run := w.run(consumer, func(context.Context, *godwit.Delivery) error {
					time.Sleep(10 * time.Millisecond)
					if left.Add(-1) == 0 {
						close(done)
					}
					return nil
				})
				<-done
				took := time.Since(begun)
				if r := run.stop(); r.Handled != int64(n) {
					t.Errorf("handled %d of %d", r.Handled, n)
				}
				per := float64(w.queueCalls()-before) / float64(n)
				busy := float64(n) * 0.010 / took.Seconds() / float64(c.workers)
				t.Logf("%d workers: %.3f requests a message, %.0f a second, workers busy %.0f %%", c.workers, per,
					float64(n)/took.Seconds(), busy*100)
				if per > c.most {
					t.Errorf("%.3f requests a message, want at most %.2f", per, c.most)
				}
			})
		})
	}
}

// queueCalls counts what a consumer's work costs.
func (w *world) queueCalls() int {
	return w.calls("sqs.ReceiveMessage", "sqs.DeleteMessageBatch", "sqs.ChangeMessageVisibilityBatch")
}

func TestAnExhaustedMessageIsDeadLettered(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Name: "billing", Backoff: godwit.Constant(5 * time.Second)})
		dead := w.consumer("orders@dlq", nil)
		w.send(w.producer("orders", nil), godwit.Message{
			Body:    []byte("bad"),
			Headers: godwit.Headers{{Name: "locale", Value: "de"}},
		})
		attempts := 0
		run := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			attempts++
			return fmt.Errorf("try %d", d.Attempt)
		})
		time.Sleep(5 * time.Minute)
		if r := run.stop(); attempts != 3 || r.Rejected != 1 || r.Retried != 2 || r.Handled != 0 {
			t.Errorf("%d attempts, report %+v", attempts, r)
		}
		var letters diary
		run = w.run(dead, func(_ context.Context, d *godwit.Delivery) error {
			letters.note(d)
			x := d.Death
			if x == nil || x.Error != "try 3" || x.Kind != "exhausted" || x.Consumer != "billing" ||
				x.Channel != "orders" || x.Attempts != 3 ||
				x.Last.Sub(x.First) < 5*time.Second && !x.First.Equal(x.Last) || d.Headers.Value("locale") != "de" {
				t.Errorf("its death is %+v, headers %v", x, d.Headers)
			}
			return nil
		})
		time.Sleep(time.Minute)
		run.stop()
		if !slices.Equal(letters.all(), []string{"bad"}) {
			t.Errorf("dead letters %q", letters.all())
		}
	})
}

// A consumer of dead letters creates and changes nothing, whatever its options: they are as their channel's consumer
// created them.
func TestDeadLettersAreOnlyLookedUp(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.consumer("orders", nil)
		w.consumer("events.mail", &godwit.ConsumerOptions{Ordered: true})
		w.consumer("bare", &godwit.ConsumerOptions{NoDeadLetters: true})
		made := []string{
			"sqs.CreateQueue", "sqs.SetQueueAttributes", "sqs.TagQueue", "sns.CreateTopic",
			"sns.SetTopicAttributes", "sns.Subscribe",
		}
		before := w.calls(made...)
		for _, mode := range []godwit.ProvisionMode{
			godwit.ProvisionAuto, godwit.ProvisionVerify,
			godwit.ProvisionNever,
		} {
			w.consumer("orders@dlq", &godwit.ConsumerOptions{
				Provision: mode, HighThroughput: true, Lease: time.Hour,
				Encryption: "alias/x",
			})
			w.consumer("events.mail@dlq", &godwit.ConsumerOptions{Provision: mode})
			w.consumer("events.mail@dlq", &godwit.ConsumerOptions{Provision: mode, Ordered: true})
			for channel, part := range map[string]string{
				"orders@dlq": "orders is not ordered",
				"bare@dlq":   "a consumer of bare without NoDeadLetters creates them",
				"gone.x@dlq": "a consumer of gone.x without NoDeadLetters creates them",
			} {
				_, err := godwit.NewConsumer(w.Context(), w.backend, channel,
					&godwit.ConsumerOptions{Provision: mode, Ordered: true})
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%s: %v, want an error with %q", channel, err, part)
				}
				_, err = godwit.NewProducer(w.Context(), w.backend, channel,
					&godwit.ProducerOptions{Provision: mode, Ordered: true})
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("a producer to %s: %v, want an error with %q", channel, err, part)
				}
			}
		}
		if n := w.calls(made...) - before; n > 0 {
			t.Errorf("consumers of dead letters created or changed something %d times", n)
		}
		p := w.producer("events.mail@dlq", nil)
		for i := range 20 {
			w.send(p, godwit.Message{Body: []byte(strconv.Itoa(i)), OrderKey: "ada"})
		}
		var letters diary
		run := w.run(w.consumer("events.mail@dlq", nil), func(_ context.Context, d *godwit.Delivery) error {
			letters.note(d)
			return nil
		})
		time.Sleep(time.Minute)
		run.stop()
		for i, got := range letters.all() {
			if got != strconv.Itoa(i) {
				t.Fatalf("the dead letters are %q", letters.all())
			}
		}
		if _, err := godwit.NewConsumer(w.Context(), w.backend, "events.mail@dlq",
			&godwit.ConsumerOptions{Filter: godwit.Filter{Exact: []string{"A"}}}); !errors.Is(err, godwit.ErrInvalid) {
			t.Errorf("a filter for dead letters: %v", err)
		}
	})
}

// A dead letter of a panic names the frames in which the handler has failed.
func TestADeadLetterOfAPanicHasItsFrames(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{MaxAttempts: 1})
		dead := w.consumer("orders@dlq", nil)
		w.send(w.producer("orders", nil), body("bad"))
		run := w.run(c, func(context.Context, *godwit.Delivery) error { panic("no price") })
		time.Sleep(time.Minute)
		run.stop()
		var death godwit.Death
		run = w.run(dead, func(_ context.Context, d *godwit.Delivery) error {
			death = *d.Death
			return nil
		})
		time.Sleep(time.Minute)
		run.stop()
		if death.Kind != "panic" || !strings.HasPrefix(death.Error, "panic: no price (at godwit_test.") ||
			!strings.Contains(death.Error, " consumer_test.go:") {
			t.Errorf("its death is %+v", death)
		}
	})
}

func TestMarksOfErrors(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	inWorld(t, func(w *world) {
		c := w.consumer("orders", nil)
		w.send(w.producer("orders", nil), body("permanent"), body("later"), body("panics"))
		var n diary
		run := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			n.note(d)
			switch string(d.Body) {
			case "permanent":
				return fmt.Errorf("wrapped: %w", godwit.Permanent(boom))
			case "later":
				if d.Attempt == 1 {
					return godwit.RetryAfter(100*time.Second, boom)
				}
			case "panics":
				if d.Attempt == 1 {
					panic(boom)
				}
			}
			return nil
		})
		time.Sleep(5 * time.Minute)
		r := run.stop()
		if r.Rejected != 1 || r.Retried != 2 || r.Handled != 2 {
			t.Errorf("report %+v", r)
		}
		var later []time.Time
		for i, b := range n.bodies {
			if b == "later" {
				later = append(later, n.when[i])
			}
		}
		if len(later) != 2 || later[1].Sub(later[0]) < 100*time.Second || later[1].Sub(later[0]) > 102*time.Second {
			t.Errorf("later was handled at %v", later)
		}
	})
}

func TestFatalStopsTheConsumerAndKeepsTheMessage(t *testing.T) {
	t.Parallel()
	boom := errors.New("the database is of another version")
	inWorld(t, func(w *world) {
		c := w.consumer("orders", nil)
		w.send(w.producer("orders", nil), body("x"))
		report, err := c.Run(w.Context(), func(context.Context, *godwit.Delivery) error { return godwit.Fatal(boom) })
		if !errors.Is(err, boom) || report.Released < 1 { // an open poll may receive it once more
			t.Errorf("run returned %v, report %+v", err, report)
		}
		w.visible("orders", 1)
		if st, _ := c.State(); st != godwit.StateExited {
			t.Errorf("its state is %v", st)
		}
		if _, err := c.Run(w.Context(), func(context.Context, *godwit.Delivery) error { return nil }); !errors.Is(err,
			godwit.ErrClosed) {
			t.Errorf("run again: %v", err)
		}
	})
}

func TestWithoutDeadLettersTheConsumerStopsInstead(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{NoDeadLetters: true, MaxAttempts: 1})
		w.send(w.producer("orders", nil), body("x"))
		boom := errors.New("boom")
		_, err := c.Run(w.Context(), func(context.Context, *godwit.Delivery) error { return boom })
		if !errors.Is(err, boom) || !errors.Is(err, godwit.ErrNoDeadLetters) {
			t.Errorf("run returned %v", err)
		}
		w.visible("orders", 1)
	})
}

func TestOrderSurvivesRetries(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{
			Ordered: true, Backoff: godwit.Constant(20 * time.Second),
			MaxAttempts: 5,
		})
		p := w.producer("orders", &godwit.ProducerOptions{Ordered: true})
		for _, key := range []string{"ada", "bob"} {
			w.send(p, many(5, key)...)
		}
		var n diary
		begun := time.Now()
		var bobDone time.Duration
		run := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			if string(d.Body) == "ada 1" && d.Attempt < 4 {
				return errors.New("not yet")
			}
			n.note(d)
			if string(d.Body) == "bob 4" {
				bobDone = time.Since(begun)
			}
			return nil
		})
		time.Sleep(3 * time.Minute)
		r := run.stop()
		var ada []string
		for _, b := range n.all() {
			if strings.HasPrefix(b, "ada") {
				ada = append(ada, b)
			}
		}
		if want := []string{"ada 0", "ada 1", "ada 2", "ada 3", "ada 4"}; !slices.Equal(ada, want) {
			t.Errorf("ada was handled as %q", ada)
		}
		if bobDone > time.Second {
			t.Errorf("bob waited for ada, for %v", bobDone)
		}
		if r.Handled != 10 || r.Retried != 3 || r.Received != 10 {
			t.Errorf("report %+v; want the retries held in their lane, not received again", r)
		}
	})
}

func TestALongRetryReleasesTheLane(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: true, Backoff: godwit.Constant(6 * time.Minute)})
		w.send(w.producer("orders", &godwit.ProducerOptions{Ordered: true}), many(4, "ada")...)
		var n diary
		run := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			if n.note(d) == 1 {
				return errors.New("not yet")
			}
			return nil
		})
		time.Sleep(20 * time.Minute)
		r := run.stop()
		if want := []string{"ada 0", "ada 0", "ada 1", "ada 2", "ada 3"}; !slices.Equal(n.all(), want) {
			t.Errorf("handled %q", n.all())
		}
		if r.Released != 3 || r.Retried != 1 {
			t.Errorf("report %+v", r)
		}
		if wait := n.when[1].Sub(n.when[0]); wait < 6*time.Minute || wait > 7*time.Minute {
			t.Errorf("it was delivered again after %v", wait)
		}
	})
}

func TestLeasesAreKeptForEverythingHeld(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprint("ordered ", ordered), func(t *testing.T) {
			inWorld(t, func(w *world) {
				c := w.consumer("orders", &godwit.ConsumerOptions{
					Ordered: ordered, Concurrency: 1,
					ProcessingTimeout: 30 * time.Minute,
				})
				w.send(w.producer("orders", &godwit.ProducerOptions{Ordered: ordered}), many(5, "ada")...)
				var n diary
				run := w.run(c, func(ctx context.Context, d *godwit.Delivery) error {
					n.note(d)
					time.Sleep(10 * time.Minute)
					return ctx.Err()
				})
				time.Sleep(time.Hour)
				r := run.stop()
				if len(n.all()) != 5 || r.Received != 5 || r.LeaseLost != 0 || r.Handled != 5 {
					t.Errorf("handled %q, report %+v; want each once", n.all(), r)
				}
			})
		})
	}
}

func TestALostLeaseCancelsTheHandlerAndIsNotDone(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var lost atomic.Int32
		c := w.consumer("orders",
			&godwit.ConsumerOptions{Hooks: godwit.Hooks{LeaseLost: func(*godwit.Delivery) { lost.Add(1) }}})
		w.send(w.producer("orders", nil), body("x"))
		remove := w.server.Control("sqs.ChangeMessageVisibilityBatch",
			func(context.Context, *localaws.Request) localaws.Outcome {
				return localaws.Outcome{Err: &wire.Error{
					Code: "ServiceUnavailable", Message: "down", Status: 503,
					Fault: true,
				}}
			})
		causes := make(chan error, 1)
		var first atomic.Bool
		run := w.run(c, func(ctx context.Context, d *godwit.Delivery) error {
			if !first.CompareAndSwap(false, true) {
				return nil
			}
			<-ctx.Done()
			causes <- context.Cause(ctx)
			remove()
			return nil
		})
		time.Sleep(5 * time.Minute)
		r := run.stop()
		if cause := <-causes; !errors.Is(cause, godwit.ErrLeaseLost) {
			t.Errorf("canceled because of %v", cause)
		}
		if r.LeaseLost != 1 || lost.Load() != 1 || r.Handled != 1 || r.Received != 2 {
			t.Errorf("report %+v, hook %d", r, lost.Load())
		}
	})
}

func TestProcessingTimeout(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{ProcessingTimeout: 30 * time.Second})
		w.send(w.producer("orders", nil), body("slow"))
		run := w.run(c, func(ctx context.Context, d *godwit.Delivery) error {
			if at, ok := ctx.Deadline(); !ok || time.Until(at) != 30*time.Second {
				t.Errorf("deadline %v %v", at, ok)
			}
			child, cancel := context.WithCancel(ctx)
			defer cancel()
			begun := time.Now()
			<-child.Done()
			if took := time.Since(begun); took != 30*time.Second ||
				!errors.Is(context.Cause(child), godwit.ErrProcessingTimeout) {
				t.Errorf("canceled after %v because of %v", took, context.Cause(child))
			}
			return child.Err()
		})
		time.Sleep(2 * time.Minute)
		if r := run.stop(); r.TimedOut != 1 || r.Rejected != 1 || r.Abandoned != 0 {
			t.Errorf("report %+v", r)
		}
	})
}

func TestAHandlerThatIgnoresItsContextIsReplaced(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{
			Concurrency: 2, ProcessingTimeout: time.Second,
			ShutdownTimeout: 10 * time.Second,
		})
		w.send(w.producer("orders", nil), body("stuck"), body("stuck"), body("fine"))
		release := make(chan struct{})
		var fine atomic.Bool
		run := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			if string(d.Body) == "stuck" {
				<-release
			} else {
				fine.Store(true)
			}
			return nil
		})
		time.Sleep(time.Minute)
		h := c.Health()
		if !fine.Load() || len(h.Abandoned) != 2 || len(h.Unhealthy) == 0 ||
			!strings.Contains(h.Abandoned[0].Stack, "TestAHandlerThatIgnores") {
			t.Errorf("handled the others: %v; health %+v", fine.Load(), h)
		}
		close(release)
		synctest.Wait()
		if h := c.Health(); len(h.Abandoned) != 0 {
			t.Errorf("after they returned: %+v", h)
		}
		if r := run.stop(); r.Abandoned != 2 || r.Rejected != 2 || r.Handled != 1 {
			t.Errorf("report %+v", r)
		}
	})
}

func TestTooManyAbandonedHandlersEndTheConsumer(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{
			Concurrency: 1, MaxAbandoned: 2,
			ProcessingTimeout: time.Second, ShutdownTimeout: 10 * time.Second,
		})
		w.send(w.producer("orders", nil), many(5, "x")...)
		release := make(chan struct{})
		defer close(release)
		_, err := c.Run(w.Context(), func(context.Context, *godwit.Delivery) error { <-release; return nil })
		if !errors.Is(err, godwit.ErrAbandoned) {
			t.Errorf("run returned %v", err)
		}
		if n := len(w.messages("orders")); n != 3 {
			t.Errorf("%d messages left; two were dead-lettered of five", n)
		}
		w.visible("orders", 3)
	})
}

func TestShutdownLeavesNothingInvisible(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprint("ordered ", ordered), func(t *testing.T) {
			inWorld(t, func(w *world) {
				c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: ordered, Concurrency: 3})
				p := w.producer("orders", &godwit.ProducerOptions{Ordered: ordered})
				for _, key := range []string{"a", "b", "c", "d"} {
					w.send(p, many(10, key)...)
				}
				started := make(chan struct{}, 100)
				run := w.run(c, func(ctx context.Context, d *godwit.Delivery) error {
					started <- struct{}{}
					switch d.Body[0] {
					case 'a': // finishes in time
						time.Sleep(10 * time.Second)
						return nil
					case 'b': // returns when canceled
						<-ctx.Done()
						if !errors.Is(context.Cause(ctx), godwit.ErrShutdown) {
							t.Errorf("canceled because of %v", context.Cause(ctx))
						}
						return ctx.Err()
					}
					time.Sleep(time.Minute) // ignores its context
					return nil
				})
				for range 3 {
					<-started
				}
				begun := time.Now()
				r := run.stop()
				took := time.Since(begun)
				if took > 30*time.Second {
					t.Errorf("the shutdown took %v", took)
				}
				left := w.messages("orders" + map[bool]string{true: ".fifo"}[ordered])
				if int(r.Handled)+len(left) != 40 {
					t.Errorf("handled %d and %d are left of 40", r.Handled, len(left))
				}
				for _, m := range left {
					if m.State.String() != "visible" && !ordered {
						t.Errorf("%s is %s", m.Body, m.State)
					}
				}
				time.Sleep(2 * time.Minute) // for the handler that ignores its context
			})
		})
	}
}

func TestPollingContinuesAfterAnOutage(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", nil)
		p := w.producer("orders", nil)
		var n diary
		run := w.run(c, func(_ context.Context, d *godwit.Delivery) error { n.note(d); return nil })
		time.Sleep(time.Minute)
		if h := c.Health(); len(h.Unhealthy) > 0 || h.LastPoll.IsZero() {
			t.Errorf("before: %+v", h)
		}
		remove := w.server.Control("sqs.ReceiveMessage", func(context.Context,
			*localaws.Request,
		) localaws.Outcome {
			return localaws.Outcome{Drop: true}
		})
		before := w.calls("sqs.ReceiveMessage")
		time.Sleep(time.Hour)
		if polls := w.calls("sqs.ReceiveMessage") - before; polls > 720 {
			t.Errorf("%d polls in an hour of outage", polls)
		}
		if h := c.Health(); len(h.Unhealthy) == 0 {
			t.Errorf("during the outage: %+v", h)
		}
		remove()
		w.send(p, body("after"))
		time.Sleep(time.Minute)
		if h := c.Health(); len(h.Unhealthy) > 0 || len(n.all()) != 1 {
			t.Errorf("after: %+v, handled %q", h, n.all())
		}
		run.stop()
	})
}

func TestPanickingHooksEndTheConsumer(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders",
			&godwit.ConsumerOptions{Hooks: godwit.Hooks{Started: func(*godwit.Delivery) { panic("oops") }}})
		w.send(w.producer("orders", nil), many(10, "x")...)
		_, err := c.Run(w.Context(), func(context.Context, *godwit.Delivery) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "5 internal panics") || !strings.Contains(err.Error(), "oops") {
			t.Errorf("run returned %v", err)
		}
	})
}

func TestStates(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var mu sync.Mutex
		var edges []string
		c := w.consumer("orders", &godwit.ConsumerOptions{Hooks: godwit.Hooks{State: func(from, to godwit.State) {
			mu.Lock()
			defer mu.Unlock()
			edges = append(edges, to.String())
		}}})
		p := w.producer("orders", nil)
		run := w.run(c, func(context.Context, *godwit.Delivery) error { time.Sleep(time.Second); return nil })
		time.Sleep(30 * time.Second)
		w.send(p, many(30, "x")...)
		time.Sleep(10 * time.Second)
		run.stop()
		want := []string{
			"Initialized", "Listening", "Idle", "Listening", "Processing", "Listening", "Exiting",
			"Exited",
		}
		if !slices.Equal(edges, want) {
			t.Errorf("the states changed as %v, want %v", edges, want)
		}
	})
}

func TestAHandlerMaySettleByItself(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", nil)
		w.send(w.producer("orders", nil), body("x"))
		run := w.run(c, func(_ context.Context, d *godwit.Delivery) error {
			if err := d.Done(); err != nil {
				t.Error(err)
			}
			if err := d.Retry(time.Second); !errors.Is(err, godwit.ErrSettled) {
				t.Errorf("a second settlement: %v", err)
			}
			return errors.New("ignored")
		})
		time.Sleep(2 * time.Minute)
		if r := run.stop(); r.Handled != 1 || r.Received != 1 {
			t.Errorf("report %+v", r)
		}
	})
}

func TestInvalidOptions(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		for _, c := range []struct {
			channel string
			o       godwit.ConsumerOptions
			names   string
		}{
			{"", godwit.ConsumerOptions{}, "empty"},
			{"a..b", godwit.ConsumerOptions{}, "a..b"},
			{"a--b", godwit.ConsumerOptions{}, "--"},
			{"-a", godwit.ConsumerOptions{}, "begin and end"},
			{"a b", godwit.ConsumerOptions{}, "' '"},
			{"events.*", godwit.ConsumerOptions{}, "queue of its own"},
			{"events.dlq", godwit.ConsumerOptions{}, "reserved"},
			{"orders.é", godwit.ConsumerOptions{}, "'é' is not allowed"},
			{"orders", godwit.ConsumerOptions{Concurrency: -1}, "Concurrency is -1: it must be between 1 and 100000"},
			{
				"orders",
				godwit.ConsumerOptions{Middleware: []godwit.Middleware{godwit.Recover(), nil}},
				"Middleware[1] is nil",
			},
			{
				"orders",
				godwit.ConsumerOptions{Middleware: []godwit.Middleware{godwit.Idempotent(nil, nil, 0)}},
				"Idempotent needs a store",
			},
			{
				"orders",
				godwit.ConsumerOptions{Policy: godwit.RetryPolicy(3, nil), MaxAttempts: 4},
				"no effect together with Policy",
			},
			{
				"orders",
				godwit.ConsumerOptions{Policy: godwit.RetryPolicy(3, nil), Backoff: godwit.Constant(0)},
				"no effect together with Policy",
			},
			{
				"orders",
				godwit.ConsumerOptions{HighThroughput: true},
				"HighThroughput is true: it is for ordered channels",
			},
			{"orders", godwit.ConsumerOptions{BatchSize: 11}, "BatchSize is 11"},
			{"orders", godwit.ConsumerOptions{WaitTime: time.Minute}, "WaitTime is 1m0s: a poll waits for at most 20s"},
			{"orders", godwit.ConsumerOptions{Delay: time.Hour}, "Delay is 1h0m0s"},
			{"orders", godwit.ConsumerOptions{Lease: time.Second}, "Lease is 1s"},
			{"orders", godwit.ConsumerOptions{ProcessingTimeout: time.Millisecond}, "ProcessingTimeout is 1ms"},
			{"orders", godwit.ConsumerOptions{MaxAttempts: -3}, "MaxAttempts is -3"},
			{"orders", godwit.ConsumerOptions{ShutdownTimeout: -time.Second}, "ShutdownTimeout is -1s"},
			{"orders", godwit.ConsumerOptions{Filter: godwit.Filter{Exact: []string{"A"}}}, "Filter"},
			{
				"events.q",
				godwit.ConsumerOptions{Filter: godwit.Filter{Exact: []string{"A"}, Exclude: []string{"B"}}},
				"Exclude cannot be combined",
			},
			{"orders.fifo", godwit.ConsumerOptions{}, "order is an option"},
			{strings.Repeat("x", 81), godwit.ConsumerOptions{}, "86 characters"},
		} {
			_, err := godwit.NewConsumer(w.Context(), w.backend, c.channel, &c.o)
			if err == nil || !strings.Contains(err.Error(), c.names) {
				t.Errorf("%q %+v: %v, want an error with %q", c.channel, c.o, err, c.names)
			} else if c.o.Concurrency < 0 && strings.Contains(err.Error(), "MaxAbandoned") {
				t.Errorf("the error is about an option that is not set: %v", err)
			}
		}
		if _, err := godwit.NewConsumer(w.Context(), nil, "orders", nil); !errors.Is(err, godwit.ErrInvalid) {
			t.Errorf("without a backend: %v", err)
		}
		var unset *local.Backend
		if _, err := godwit.NewConsumer(w.Context(), unset, "orders", nil); !errors.Is(err, godwit.ErrInvalid) {
			t.Errorf("with a nil pointer for a backend: %v", err)
		}
		if _, err := godwit.NewProducer(w.Context(), unset, "orders", nil); !errors.Is(err, godwit.ErrInvalid) {
			t.Errorf("with a nil pointer for a backend: %v", err)
		}
		if _, err := godwit.NewProducer(w.Context(), w.backend, "orders",
			&godwit.ProducerOptions{HighThroughput: true}); !errors.Is(err, godwit.ErrInvalid) {
			t.Errorf("high throughput without order: %v", err)
		}
		c := w.consumer("unused", nil)
		if err := godwit.RunAll(w.Context(), &godwit.FleetOptions{Middleware: []godwit.Middleware{nil}},
			c.With(func(context.Context, *godwit.Delivery) error { return nil })); err == nil ||
			!strings.Contains(err.Error(), "FleetOptions.Middleware[0] is nil") {
			t.Errorf("a fleet with nil middleware: %v", err)
		}
		if _, err := c.RunBatches(w.Context(), func(context.Context, []*godwit.Delivery) error { return nil },
			&godwit.BatchOptions{Middleware: []func(godwit.BatchHandler) godwit.BatchHandler{nil}}); err == nil ||
			!strings.Contains(err.Error(), "Middleware of unused[0] is nil") {
			t.Errorf("batches with nil middleware: %v", err)
		}
		if _, err := godwit.NewProducer(w.Context(), w.backend, "events.q", nil); !errors.Is(err, godwit.ErrInvalid) {
			t.Errorf("a producer to one queue of an exchange: %v", err)
		}
		if _, err := w.consumer("orders", nil).Run(w.Context(), nil); !errors.Is(err, godwit.ErrInvalid) {
			t.Errorf("without a handler: %v", err)
		}
		_ = w.backend.Close(w.Context())
		if _, err := godwit.NewConsumer(w.Context(), w.backend, "orders", nil); !errors.Is(err, godwit.ErrClosed) {
			t.Errorf("on a closed backend: %v", err)
		}
		if _, err := godwit.NewProducer(w.Context(), w.backend, "orders", nil); !errors.Is(err, godwit.ErrClosed) {
			t.Errorf("on a closed backend: %v", err)
		}
	})
}

package godwit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
)

func (w *world) close(c *godwit.Consumer) godwit.Report {
	w.Helper()
	r, err := c.Close(w.Context())
	if err != nil {
		w.Errorf("close: %v", err)
	}
	return r
}

func TestIterating(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", nil)
		w.send(w.producer("orders", nil), many(25, "x")...)
		var got []string
		for d, err := range c.Deliveries(w.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(d.Body))
			if err := d.Done(); err != nil {
				t.Error(err)
			}
			if err := d.Done(); !errors.Is(err, godwit.ErrSettled) {
				t.Errorf("a second settlement: %v", err)
			}
			if len(got) == 25 {
				break
			}
		}
		r := w.close(c)
		if r.Handled != 25 || r.Received != 25 {
			t.Errorf("report %+v", r)
		}
		w.visible("orders", 0)
		for _, err := range c.Deliveries(w.Context()) {
			if !errors.Is(err, godwit.ErrClosed) {
				t.Errorf("iterating again: %v", err)
			}
		}
	})
}

func TestLeavingTheLoopReleasesTheRest(t *testing.T) {
	t.Parallel()
	leave := map[string]func(w *world, c *godwit.Consumer){
		"break": func(w *world, c *godwit.Consumer) {
			for _, err := range c.Deliveries(w.Context()) {
				if err != nil {
					w.Error(err)
				}
				break
			}
		},
		"panic": func(w *world, c *godwit.Consumer) {
			defer func() { _ = recover() }()
			for _, err := range c.Deliveries(w.Context()) {
				if err != nil {
					w.Error(err)
				}
				panic("oops")
			}
		},
		"batch": func(w *world, c *godwit.Consumer) {
			for ds, err := range c.Batches(w.Context()) {
				if err != nil || len(ds) != 10 {
					w.Errorf("a batch of %d, %v", len(ds), err)
				}
				break
			}
		},
		"cancel": func(w *world, c *godwit.Consumer) {
			ctx, cancel := context.WithCancel(w.Context())
			defer cancel()
			for _, err := range c.Deliveries(ctx) {
				if err != nil {
					w.Error(err)
				}
				cancel()
			}
		},
	}
	for name, leave := range leave {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				var unsettled atomic.Int32
				hooks := godwit.Hooks{Unsettled: func(*godwit.Delivery) { unsettled.Add(1) }}
				c := w.consumer("orders", &godwit.ConsumerOptions{Hooks: hooks})
				w.send(w.producer("orders", nil), many(30, "x")...)
				begun := time.Now()
				leave(w, c)
				r := w.close(c)
				if took := time.Since(begun); took > time.Second {
					t.Errorf("it took %v", took)
				}
				w.visible("orders", 30)
				if r.Released != r.Received || unsettled.Load() == 0 {
					t.Errorf("report %+v, hook %d", r, unsettled.Load())
				}
			})
		})
	}
}

func TestIterationEndsAtOnceInTheMiddleOfAPoll(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", nil)
		ctx, cancel := context.WithTimeout(w.Context(), 7*time.Second)
		defer cancel()
		begun := time.Now()
		for d, err := range c.Deliveries(ctx) {
			t.Errorf("received %v, %v", d, err)
		}
		if took := time.Since(begun); took != 7*time.Second {
			t.Errorf("it ended after %v", took)
		}
		w.close(c)
	})
}

func TestKeptDeliveriesAreSettledLater(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{ShutdownTimeout: 20 * time.Minute})
		w.send(w.producer("orders", nil), many(5, "x")...)
		n := 0
		for d, err := range c.Deliveries(w.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			d.Keep()
			go func() {
				time.Sleep(10 * time.Minute) // twenty leases
				if err := d.Done(); err != nil {
					t.Error(err)
				}
			}()
			if n++; n == 5 {
				break
			}
		}
		if r := w.close(c); r.Handled != 5 || r.LeaseLost != 0 {
			t.Errorf("report %+v", r)
		}
	})
}

// A kept delivery that loses its lease cannot be settled any more, and its place is free.
func TestAKeptDeliveryThatIsLostLeavesItsPlace(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{false, true} {
		inWorld(t, func(w *world) {
			c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: ordered, Concurrency: 1, Lease: 6 * time.Second})
			w.send(w.producer("orders", &godwit.ProducerOptions{Ordered: ordered}), many(10, "x")...)
			remove := w.server.Control("sqs.ChangeMessageVisibilityBatch",
				func(context.Context, *localaws.Request) localaws.Outcome {
					return localaws.Outcome{Err: &wire.Error{
						Code: "ServiceUnavailable", Message: "down", Status: 503,
						Fault: true,
					}}
				})
			time.AfterFunc(10*time.Second, remove)
			ctx, cancel := context.WithTimeout(w.Context(), 3*time.Minute)
			defer cancel()
			began, handled := time.Now(), 0
			for d, err := range c.Deliveries(ctx) {
				if err != nil {
					t.Fatal(err)
				}
				if time.Since(began) < 6*time.Second {
					d.Keep()
					time.AfterFunc(20*time.Second, func() {
						if err := d.Done(); !errors.Is(err, godwit.ErrLeaseLost) {
							t.Errorf("settled after its lease: %v", err)
						}
					})
					continue
				}
				if err := d.Done(); err != nil {
					t.Error(err)
				}
				if handled++; handled == 10 {
					break
				}
			}
			if r := w.close(c); handled != 10 {
				t.Errorf("ordered %v: %d are handled of 10, %+v", ordered, handled, r)
			}
		})
	}
}

func TestASettleErrorIsReturnedByTheNextStep(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", nil)
		p := w.producer("orders", nil)
		w.send(p, body("a"))
		w.server.ControlOnce("sqs.DeleteMessageBatch", func(context.Context, *localaws.Request) localaws.Outcome {
			return localaws.Outcome{Err: &wire.Error{Code: "AccessDeniedException", Message: "no", Status: 403}}
		})
		var seen error
		for d, err := range c.Deliveries(w.Context()) {
			if err != nil {
				seen = err
				break
			}
			if err := d.Done(); err != nil {
				t.Error(err)
			}
		}
		var e *godwit.Error
		if !errors.As(seen, &e) || e.Op != "done" || e.MessageID == "" {
			t.Errorf("the error is %v", seen)
		}
		w.close(c)
	})
}

func TestAConsumerThatIsNotClosed(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var warned atomic.Bool
		c := w.consumer("orders", &godwit.ConsumerOptions{Hooks: godwit.Hooks{Unclosed: func() { warned.Store(true) }}})
		w.send(w.producer("orders", nil), many(5, "x")...)
		for _, err := range c.Deliveries(w.Context()) {
			if err != nil {
				w.Error(err)
			}
			break
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if !warned.Load() {
			t.Error("the hook Unclosed was not called")
		}
		w.visible("orders", 5)
	})
}

func TestOrderInAnIteration(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: true})
		w.send(w.producer("orders", &godwit.ProducerOptions{Ordered: true}), many(12, "ada")...)
		var got []string
		for ds, err := range c.Batches(w.Context()) {
			if err != nil || len(ds) != 1 {
				t.Fatalf("%d of one lane at once, %v", len(ds), err)
			}
			got = append(got, string(ds[0].Body))
			if len(got) == 4 {
				_ = ds[0].Retry(3 * time.Second)
				continue
			}
			_ = ds[0].Done()
			if len(got) == 13 {
				break
			}
		}
		w.close(c)
		var want []string
		for i := range 12 {
			want = append(want, fmt.Sprint("ada ", i))
		}
		want = slices.Insert(want, 4, "ada 3")
		if !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
	})
}

type wish struct{ User, Thing string }

func TestTypedBothWays(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("wishes", nil)
		p := w.producer("wishes", nil)
		s := godwit.NewSender[wish](p, godwit.JSON)
		typed := s.WithType("wish", 2)
		if err := typed.Send(w.Context(), wish{"ada", "engine"}, godwit.Message{}); err != nil {
			t.Fatal(err)
		}
		w.send(p, body("no JSON"))
		if err := s.Send(w.Context(), wish{"bob", "boat"}, godwit.Message{}); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for d, err := range godwit.Decode[wish](godwit.JSON, c.Deliveries(w.Context())) {
			if err != nil {
				t.Fatal(err)
			}
			got[d.Value.User] = fmt.Sprint(d.ContentType, " ", d.Type, d.Version)
			_ = d.Done()
			if len(got) == 2 {
				break
			}
		}
		if r := w.close(c); r.Handled != 2 || got["ada"] != "application/json wish2" ||
			got["bob"] != "application/json 0" {
			t.Errorf("got %v, report %+v", got, r)
		}
		letter := w.messages("wishes--dlq")
		if len(letter) == 0 { // it may not have arrived before the loop ended
			return
		}
		if letter[0].Body != "no JSON" {
			t.Errorf("the dead letter is %q", letter[0].Body)
		}
	})
}

// An undecodable dead letter cannot be rejected. It is delivered with its raw bytes and the reason, and the consumer
// continues.
func TestUndecodableDeadLettersAreDelivered(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("wishes", nil)
		bad := map[string]types.MessageAttributeValue{"godwit": {
			DataType:    aws.String("String"),
			StringValue: aws.String(`{"v":1,"e":"base64"}`),
		}}
		for _, body := range []string{"bad!", "worse!"} {
			if _, err := sqs.NewFromConfig(w.sdk()).SendMessage(w.Context(), &sqs.SendMessageInput{
				QueueUrl: aws.String("http://localaws.internal/000000000000/wishes"), MessageBody: &body,
				MessageAttributes: bad,
			}); err != nil {
				t.Fatal(err)
			}
		}
		run := w.run(c, func(context.Context, *godwit.Delivery) error { t.Error("handled"); return nil })
		time.Sleep(time.Minute)
		if r := run.stop(); r.Rejected != 2 {
			t.Fatalf("report %+v", r)
		}
		typed := godwit.Handle(godwit.Raw,
			func(context.Context, godwit.Typed[string]) error { t.Error("decoded"); return nil })
		var got []string
		dead := w.consumer("wishes@dlq", &godwit.ConsumerOptions{Concurrency: 1})
		run = w.run(dead, func(ctx context.Context, d *godwit.Delivery) error {
			if err := typed(ctx, d); d.Undecodable == nil || !errors.Is(err, d.Undecodable) {
				t.Errorf("Undecodable is %v, and the codec's error is %v", d.Undecodable, err)
			}
			got = append(got, string(d.Body))
			return nil
		})
		time.Sleep(time.Minute)
		if r := run.stop(); r.Handled != 2 || len(got) != 2 || !strings.Contains(strings.Join(got, " "), "worse") {
			t.Errorf("handled %q, report %+v", got, r)
		}
	})
}

func TestUndecodableBodiesAreDeadLettered(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		c := w.consumer("wishes", nil)
		w.send(w.producer("wishes", nil), body("no JSON"))
		run := w.run(c, godwit.Handle(godwit.JSON, func(context.Context, godwit.Typed[wish]) error { return nil }))
		time.Sleep(time.Minute)
		if r := run.stop(); r.Rejected != 1 {
			t.Errorf("report %+v", r)
		}
		dead := w.consumer("wishes@dlq", nil)
		for d, err := range dead.Deliveries(w.Context()) {
			if err != nil || d.Death == nil || d.Death.Kind != "undecodable" || string(d.Body) != "no JSON" {
				t.Errorf("the dead letter %q has the death %+v, %v", d.Body, d.Death, err)
			}
			break
		}
		w.close(dead)
	})
}

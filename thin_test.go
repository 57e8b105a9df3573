package godwit_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
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

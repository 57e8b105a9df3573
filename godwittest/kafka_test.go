package godwittest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/godwittest"
)

// The harness works on Kafka as on AWS, outside a bubble in real time.
func TestKafka(t *testing.T) { onKafka(t, time.Millisecond) }

// onKafka runs a consumer whose handler fails once for "shy" and always for "bad", with this backoff.
func onKafka(t *testing.T, wait time.Duration) {
	h := godwittest.NewKafka(t, nil)
	ordered := &godwit.ConsumerOptions{Ordered: true, Backoff: godwit.Constant(wait)}
	first := h.Run(h.Consumer("orders", ordered), handleOrders)
	application, err := godwit.NewConsumer(t.Context(), h.Backend(), "wishes.audit", ordered)
	if err != nil {
		t.Fatal(err)
	}
	h.Go("the application", func(ctx context.Context) error {
		_, err := application.Run(ctx, handleOrders)
		return err
	})
	orders := h.Producer("orders", &godwit.ProducerOptions{Ordered: true})
	h.Send(orders, godwittest.Keyed("ada", "shy", "2", "bad", "3")...)
	h.Send(h.Producer("wishes.*", &godwit.ProducerOptions{Ordered: true}), godwittest.Keyed("bob", "shy")...)

	h.AwaitHandled("orders", 3)
	h.AwaitDeadLettered("orders", 1)
	h.AwaitNothingLeft()
	h.AssertHandled("orders", "2", "3", "shy")
	h.AssertOrder("orders", "ada", "shy", "2", "3")
	h.AssertAttempts("orders", "shy", 2)
	h.AssertAttempts("wishes.audit", "shy", 2)
	h.AssertDeadLettered("orders",
		godwittest.DeadLetter{Body: "bad", Kind: "permanent", Cause: "no such kite", Consumer: "orders"})
	h.AssertDeadLettered("wishes.audit")
	h.AssertNothingLeft()
	if report := first.Stop(); report.Handled != 3 || report.Rejected != 1 {
		t.Errorf("report %+v", report)
	}
	h.Send(orders, godwittest.Keyed("ada", "4")...)
	if left := h.Left("orders"); len(left) != 1 || left[0].State != "waiting" {
		t.Errorf("left %+v, want one waiting message", left)
	}
}

// A failure reports the actual state, and methods that need the embedded AWS say so.
func TestKafkaFailures(t *testing.T) {
	failure := record(t, func(r *recorder) {
		h := godwittest.NewKafka(r, &godwittest.KafkaOptions{Patience: 5 * time.Second})
		h.Run(h.Consumer("orders", nil),
			func(context.Context, *godwit.Delivery) error { return godwit.Permanent(errors.New("no such kite")) })
		h.Send(h.Producer("orders", nil), godwittest.Bodies("a kite")...)
		h.AwaitDeadLettered("orders", 1)
		h.AssertHandled("orders", "a kite")
		h.Throttle(godwittest.Sends, "orders", 1)
	})
	says(t, failure, `missing: "a kite"`, "orders: 1 received", "dead-lettered",
		`dead: "a kite", permanent at attempt 1: no such kite`,
		"throttle the next 1 sends of orders: this harness is on Kafka")
	failure = record(t, func(r *recorder) { godwittest.NewKafka(r, nil).Advance(time.Second) })
	says(t, failure, "this harness is on Kafka")
	failure = record(t, func(r *recorder) { godwittest.New(r, nil).Broker() })
	says(t, failure, "on AWS")
}

// In a bubble the client needs its build tag; without it the harness fails instead of causing a deadlock.
func TestKafkaInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if godwittest.ClientIsVirtual {
			onKafka(t, 5*time.Minute)
			return
		}
		says(t, record(t, func(r *recorder) { godwittest.NewKafka(r, nil) }), "-tags synctests")
	})
}

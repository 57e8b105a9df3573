package schemaregistry_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/godwittest"
	"github.com/godwitmq/godwit/schemaregistry"
)

// faults are the ways in which a registry does not work.
func faults() map[string]func(*http.Request) (*http.Response, error) {
	return map[string]func(*http.Request) (*http.Response, error){
		"unreachable":  unreachable,
		"hangs":        hangs,
		"unavailable":  answers(http.StatusServiceUnavailable, ""),
		"overloaded":   answers(http.StatusTooManyRequests, ""),
		"denied":       answers(http.StatusForbidden, `{"error_code":40301,"message":"User is denied operation"}`),
		"another site": answers(http.StatusNotFound, "<html>not found</html>"),
		"broken":       answers(http.StatusOK, "<html>a proxy</html>"),
	}
}

// A registry that does not work makes no good message a dead letter, however long that lasts, whatever the policy, and
// without a flood of requests.
func TestAnOutageRejectsNothing(t *testing.T) {
	for name, fault := range faults() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				survives(t, godwittest.New(t, nil), fault)
			})
		})
	}
}

// survives runs a consumer through an outage of 20 minutes.
func survives(t *testing.T, h *godwittest.Harness, fault func(*http.Request) (*http.Response, error)) {
	t.Helper()
	r := newRegistry(t)
	r.SeedSchema("orders-value", 1, 7, *orderSchema())
	codec := r.codec(schemaregistry.Payload(godwit.JSON), &schemaregistry.Options{Subject: "orders-value"})
	const orders = 30
	ms := make([]godwit.Message, orders)
	sender := godwit.NewSender[order](h.Producer("orders", nil), codec)
	for i := range ms {
		m, err := sender.Message(order{"a kite"}, godwit.Message{})
		if err != nil {
			t.Fatal(err)
		}
		ms[i] = m
	}
	h.Send(h.Producer("orders", nil), ms...)
	r.asked()
	r.fails(fault)
	rejects := func(*godwit.Delivery, error) godwit.Verdict { return godwit.Verdict{Action: godwit.ActionReject} }
	c := h.Consumer("orders", &godwit.ConsumerOptions{ProcessingTimeout: 2 * time.Second, Policy: rejects})
	attempts := make(chan int, orders)
	run := h.Run(c, godwit.Handle(codec, func(_ context.Context, d godwit.Typed[order]) error {
		attempts <- d.Attempt
		return nil
	}))
	time.Sleep(20 * time.Minute)
	if n := r.asked(); n < 20 || n > 1000 {
		t.Errorf("%d requests in 20 minutes", n)
	}
	if ill := strings.Join(c.Health().Unhealthy, "; "); !strings.Contains(ill, "the schema registry does not answer") {
		t.Errorf("health: %q", ill)
	}
	r.fails(nil)
	time.Sleep(2 * time.Minute)
	h.AwaitHandled("orders", orders)
	if n := len(h.DeadLetters("orders")); n != 0 {
		t.Errorf("%d dead letters", n)
	}
	for range orders {
		if n := <-attempts; n != 1 {
			t.Errorf("a message was handled at attempt %d", n)
		}
	}
	if report := run.Stop(); report.Handled != orders || report.Rejected != 0 {
		t.Errorf("%+v", report)
	}
	if ill := c.Health().Unhealthy; len(ill) > 0 {
		t.Errorf("health: %q", ill)
	}
}

// An instance of a registry may not have read a new schema yet, so an unknown one is retried, as often as the policy
// allows.
func TestAnUnknownSchema(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t)
		codec := r.codec(schemaregistry.Payload(godwit.JSON), nil)
		h := godwittest.New(t, nil)
		body := "\x00\x00\x00\x00\x07" + `{"item":"a kite"}`
		stranger := "\x00\x00\x00\x00\x63" + `{"item":"a kite"}`
		h.Send(h.Producer("orders", nil), godwittest.Bodies(body, stranger)...)
		h.Run(h.Consumer("orders", nil),
			godwit.Handle(codec, func(context.Context, godwit.Typed[order]) error { return nil }))
		time.Sleep(5 * time.Second)
		r.SeedSchema("orders-value", 1, 7, *orderSchema())
		h.AwaitHandled("orders", 1)
		h.AssertAttempts("orders", body, 2)
		h.AwaitDeadLettered("orders", 1)
		h.AssertAttempts("orders", stranger, 3)
		h.AssertDeadLettered("orders", godwittest.DeadLetter{Body: stranger})
	})
}

// A body of another format is a dead letter at once.
func TestABodyOfAnotherFormat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		codec := newRegistry(t).codec(schemaregistry.Payload(godwit.JSON), nil)
		h := godwittest.New(t, nil)
		h.Send(h.Producer("orders", nil), godwittest.Bodies("{}")...)
		h.Run(h.Consumer("orders", nil),
			godwit.Handle(codec, func(context.Context, godwit.Typed[order]) error { return nil }))
		h.AwaitDeadLettered("orders", 1)
		h.AssertAttempts("orders", "{}", 1)
	})
}

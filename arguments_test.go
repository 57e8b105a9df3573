package godwit_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
)

// A missing argument is an error that names it.
func TestMissingArguments(t *testing.T) {
	inWorld(t, func(w *world) {
		var none context.Context
		c, p := w.consumer("orders", nil), w.producer("orders", nil)
		result, err := p.SendAsync(w.Context(), godwit.Message{Body: []byte("x")})
		if err != nil {
			t.Fatal(err)
		}
		_, newConsumer := godwit.NewConsumer(none, w.backend, "orders", nil)
		_, newProducer := godwit.NewProducer(none, w.backend, "orders", nil)
		_, run := c.Run(none, succeed)
		_, async := p.SendAsync(none, godwit.Message{})
		_, demand := c.Demand(none)
		_, closed := c.Close(none)
		var pulled error
		for _, pulled = range c.Deliveries(none) {
		}
		_, router := godwit.NewRouter(nil)
		for name, c := range map[string]struct {
			err  error
			says string
		}{
			"NewConsumer": {newConsumer, "ctx is nil"}, "NewProducer": {newProducer, "ctx is nil"},
			"Run": {run, "ctx is nil"}, "SendAsync": {async, "ctx is nil"}, "Demand": {demand, "ctx is nil"},
			"Consumer.Close": {closed, "ctx is nil"}, "Deliveries": {pulled, "ctx is nil"},
			"Send":           {p.Send(none, godwit.Message{}), "ctx is nil"},
			"SendBatch":      {p.SendBatch(none, nil), "ctx is nil"},
			"Wait":           {result.Wait(none), "ctx is nil"},
			"Producer.Close": {p.Close(none), "ctx is nil"},
			"RunAll":         {godwit.RunAll(w.Context(), nil), "at least one consumer"},
			"NewRouter":      {router, "NewRouter's handlers is empty"},
		} {
			if !errors.Is(c.err, godwit.ErrInvalid) || !strings.Contains(c.err.Error(), c.says) {
				t.Errorf("%s: %v, want %q", name, c.err, c.says)
			}
		}
	})
}

// All options that cannot be are reported at once.
func TestAllWrongOptionsAreReported(t *testing.T) {
	inWorld(t, func(w *world) {
		_, err := godwit.NewConsumer(w.Context(), w.backend, "orders", &godwit.ConsumerOptions{
			Concurrency: -1, WaitTime: time.Minute, MaxPerTenant: -1, Lease: time.Second, HighThroughput: true,
			DelayTolerance: time.Millisecond,
		})
		if err == nil {
			t.Fatal("accepted")
		}
		for _, option := range []string{
			"Concurrency", "WaitTime", "MaxPerTenant", "Lease", "HighThroughput", "DelayTolerance",
		} {
			if !strings.Contains(err.Error(), "ConsumerOptions."+option+" is") {
				t.Errorf("the error does not name %s: %v", option, err)
			}
		}
	})
}

//go:build synctests

package kafka_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// A producer whose broker is gone gives up at the end of RetryFor, and its Close at the end of its context.
func TestAProducerWithoutABroker(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		p, err := godwit.NewProducer(w.Context(), l.b, "orders", &godwit.ProducerOptions{RetryFor: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Send(w.Context(), godwit.Message{Body: []byte("first")}); err != nil {
			t.Fatal(err)
		}
		l.crash()
		begun := time.Now()
		err = p.Send(w.Context(), godwit.Message{Body: []byte("second")})
		if took := time.Since(begun); err == nil || took < 9*time.Second || took > 16*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		const open = 5
		var results []*godwit.Result
		for range open {
			r, err := p.SendAsync(w.Context(), godwit.Message{Body: []byte("x")})
			if err != nil {
				t.Fatal(err)
			}
			results = append(results, r)
		}
		ctx, cancel := context.WithTimeout(w.Context(), 2*time.Second)
		defer cancel()
		begun = time.Now()
		err = p.Close(ctx)
		if took := time.Since(begun); took > 3*time.Second {
			t.Errorf("Close took %v: %v", took, err)
		}
		if unsent, _ := errors.AsType[*godwit.UnsentError](err); unsent == nil || unsent.Messages != open {
			t.Errorf("Close returned %v", err)
		}
		for _, r := range results {
			if err := r.Wait(w.Context()); !errors.Is(err, godwit.ErrUnanswered) {
				t.Errorf("the result of a send is %v", err)
			}
		}
	})
}

// A stop does not wait for the commit of a topic that was deleted: nobody can make it.
func TestAStopWithoutItsTopic(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{CommitInterval: time.Hour}, driver.Events{})
		w.send(0, "a", "b")
		l.settle(driver.Done, l.get(2)...)
		w.drop("orders")
		ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
		defer cancel()
		begun := time.Now()
		err := l.recv.Close(ctx)
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("Close took %v: %v", took, err)
		}
	})
}

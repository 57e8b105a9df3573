//go:build synctests

package kafka_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// A topic that is deleted under a consumer and a producer is not created with Godwit's defaults. They wait for it,
// which health and the error of a send say, or with RecreateTopics it is created as it was.
func TestTopicDeletedUnderItsUsers(t *testing.T) {
	for name, again := range map[string]bool{"awaited": false, "created as it was": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				const compact = "compact"
				create := func() {
					t.Helper()
					config := map[string]string{"cleanup.policy": compact}
					if err := w.cluster.CreateTopic("orders", 3, config); err != nil {
						t.Fatal(err)
					}
				}
				create()
				b := w.backend(kafka.Options{RecreateTopics: again})
				c, err := godwit.NewConsumer(w.Context(), b, "orders", nil)
				if err != nil {
					t.Fatal(err)
				}
				p, err := godwit.NewProducer(w.Context(), b, "orders",
					&godwit.ProducerOptions{RetryFor: 30 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				handled, ended := make(chan string, 100), make(chan error, 1)
				ctx, cancel := context.WithCancel(w.Context())
				defer cancel()
				go func() {
					_, err := c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
						handled <- string(d.Body)
						return nil
					})
					ended <- err
				}()
				send := func(text string) error {
					return p.Send(w.Context(), godwit.Message{OrderKey: "k", Body: []byte(text)})
				}
				arrives := func(want string) {
					t.Helper()
					select {
					case got := <-handled:
						if got != want {
							t.Errorf("handled %q, want %q", got, want)
						}
					case err := <-ended:
						t.Fatalf("the consumer ended: %v", err)
					case <-time.After(2 * time.Minute):
						t.Errorf("%q is not handled; health: %q", want, c.Health().Unhealthy)
					}
				}
				if err := send("before"); err != nil {
					t.Fatal(err)
				}
				arrives("before")
				time.Sleep(30 * time.Second)
				w.drop("orders")
				time.Sleep(2 * time.Minute)
				if !again {
					if n := w.partitions("orders"); n != 0 {
						t.Errorf("the topic was created again, with %d partitions", n)
					}
					if told := strings.Join(c.Health().Unhealthy, "\n"); !strings.Contains(told, "was deleted") {
						t.Errorf("health tells %q", told)
					}
					if err := send("nowhere"); err == nil || !strings.Contains(err.Error(), "was deleted") {
						t.Errorf("a send while there is no topic: %v", err)
					}
					create()
				}
				time.Sleep(time.Minute)
				if err := send("after"); err != nil {
					t.Error(err)
				}
				arrives("after")
				n, policy := w.partitions("orders"), w.config("orders", "cleanup.policy")
				if n != 3 || policy != compact {
					t.Errorf("the topic has %d partitions and cleanup.policy %q, want 3 and %q", n, policy, compact)
				}
				cancel()
				if err := errors.Join(<-ended, p.Close(context.Background())); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

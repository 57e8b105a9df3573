//go:build synctests

package godwittest_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/godwittest"
)

// On Kafka, too, what has expired is not handled, and the other records of its key go on. A retry carries the first
// acceptance along, and a dead letter that is forwarded expires as its original.
func TestExpiredRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := godwittest.NewKafka(t, nil)
		var mu sync.Mutex
		var handled []string
		var deaths []string
		c := h.Consumer("orders", &godwit.ConsumerOptions{
			Ordered: true, DeadLetterExpired: true, MaxAge: 2 * time.Hour, MaxAttempts: 10,
			Backoff: godwit.Constant(20 * time.Second),
		})
		p := h.Producer("orders", &godwit.ProducerOptions{Ordered: true})
		h.Send(p,
			godwit.Message{Body: []byte("soon"), OrderKey: "ada", Expires: time.Minute},
			godwit.Message{Body: []byte("later"), OrderKey: "ada", Expires: time.Hour},
			godwit.Message{Body: []byte("fails"), OrderKey: "bob", Expires: 11 * time.Minute},
		)
		time.Sleep(10 * time.Minute)
		run := h.Run(c, func(_ context.Context, d *godwit.Delivery) error {
			mu.Lock()
			defer mu.Unlock()
			handled = append(handled, fmt.Sprintf("%s of %s", d.Body, d.OrderKey))
			if string(d.Body) == "fails" {
				return fmt.Errorf("attempt %d", d.Attempt)
			}
			return nil
		})
		time.Sleep(5 * time.Minute)
		r := run.Stop()
		slices.Sort(handled)
		want := []string{"fails of bob", "fails of bob", "fails of bob", "later of ada"}
		if !slices.Equal(handled, want) || r.Expired != 2 || r.Rejected != 2 {
			t.Errorf("handled %q, want %q: %+v", handled, want, r)
		}
		letters := h.Consumer("orders@dlq", nil)
		run = h.Run(letters, func(ctx context.Context, d *godwit.Delivery) error {
			mu.Lock()
			deaths = append(deaths, fmt.Sprintf("%s: %s", d.Body, d.Death.Kind))
			mu.Unlock()
			return p.Send(ctx, d.Forward())
		})
		time.Sleep(time.Minute)
		run.Stop()
		if slices.Sort(deaths); !slices.Equal(deaths, []string{"fails: expired", "soon: expired"}) {
			t.Errorf("dead letters: %q", deaths)
		}
		again := h.Consumer("orders", &godwit.ConsumerOptions{Ordered: true})
		run = h.Run(again, func(_ context.Context, d *godwit.Delivery) error {
			t.Errorf("%s is handled after %v", d.Body, d.ExpiresAt)
			return nil
		})
		time.Sleep(time.Minute)
		if r := run.Stop(); r.Expired != 2 || r.Dropped != 2 {
			t.Errorf("forwarded: %+v", r)
		}
	})
}

package kafka

import (
	"context"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A send whose context ends returns an error for each record, the cause, even if the client still tries to connect.
func TestASendEndsWithItsContext(t *testing.T) {
	b := newTestBackend(t, Options{Brokers: []string{"127.0.0.1:1"}})
	why := errors.New("the caller gave up")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	errs := b.senders.Producer.ProduceOnce(ctx, []*kgo.Record{{Topic: "orders"}, {Topic: "orders"}})
	if len(errs) != 2 {
		t.Fatalf("%d errors for two records", len(errs))
	}
	for i, err := range errs {
		if !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
			t.Errorf("record %d: %v, want the cause", i, err)
		}
	}
}

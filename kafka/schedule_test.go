//go:build synctests

package kafka_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// Schedules need a service that removes duplicates. On Kafka they are an error, before anything is sent.
func TestEveryIsRefused(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{}, driver.Events{})
		defer l.end()
		p, err := godwit.NewProducer(w.Context(), l.b, "orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close(context.Background())
		err = godwit.Every(w.Context(), p, godwit.Schedule{
			Name: "report", Cron: "@daily", Message: func(time.Time) godwit.Message { return godwit.Message{} },
		})
		if !errors.Is(err, godwit.ErrInvalid) || !strings.Contains(err.Error(), "SNS and SQS") {
			t.Error(err)
		}
	})
}

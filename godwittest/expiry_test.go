package godwittest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/godwittest"
)

// A message that has expired is not handled, and nothing waits for it.
func TestExpiredMessagesAreFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := godwittest.New(t, nil)
		c := h.Consumer("orders", nil)
		p := h.Producer("orders", nil)
		h.Send(p, godwit.Message{Body: []byte("soon"), Expires: time.Minute})
		h.Send(p, godwit.Message{Body: []byte("fails"), Expires: time.Hour})
		h.Advance(2 * time.Minute)
		run := h.Run(c, func(context.Context, *godwit.Delivery) error {
			return godwit.RetryAfter(2*time.Hour, context.Canceled)
		})
		time.Sleep(time.Minute)
		if r := run.Stop(); r.Expired != 2 {
			t.Errorf("%+v", r)
		}
		ms := h.Messages("orders")
		for _, m := range ms {
			if m.Handled || len(m.Attempts) != 1 || m.Attempts[0].Outcome != "expired" {
				t.Errorf("%s is %+v", m.Body, m)
			}
		}
		if len(ms) != 2 {
			t.Errorf("%d messages", len(ms))
		}
	})
}

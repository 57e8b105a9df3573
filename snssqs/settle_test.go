package snssqs_test

import (
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
)

// SQS counts whole seconds, so the delay of a retry is rounded up: the message is not delivered early.
func TestARetryIsNotEarly(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		inWorld(t, localaws.Options{}, func(w *world) {
			ch := driver.Channel{Queue: "orders", Ordered: ordered}
			w.ensure(owner(ch))
			w.send(w.sender(ch), driver.Message{Body: []byte("a"), OrderKey: "k", DedupID: "1"})
			r := w.receiver(ch, driver.Filter{})
			const after = 1500 * time.Millisecond
			begun, d := time.Now(), w.receive(r, 1)[0]
			if err := r.Settle(w.Context(), []driver.Settlement{{
				Handle: d.Handle, Action: driver.Retry, After: after, Attempt: 1,
			}}); err != nil {
				t.Fatal(err)
			}
			w.receive(r, 1)
			if took := time.Since(begun); took < after || took > after+time.Second {
				t.Errorf("ordered %v: it was delivered again after %v, want %v", ordered, took, after)
			}
		})
	}
}

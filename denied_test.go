package godwit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
)

// A consumer whose deletes are denied for good says so as long as it lasts, also while few messages come.
func TestDeniedDeletesAreUnhealthy(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		inWorld(t, func(w *world) {
			c := w.consumer("orders", &godwit.ConsumerOptions{Ordered: ordered})
			p := w.producer("orders", &godwit.ProducerOptions{Ordered: ordered})
			denied := localaws.Outcome{Err: &wire.Error{Code: "AccessDenied", Message: "not allowed to delete"}}
			stop := w.server.Control("sqs.DeleteMessageBatch",
				func(context.Context, *localaws.Request) localaws.Outcome { return denied })
			r := w.run(c, succeed)
			if err := p.Send(w.Context(), godwit.Message{Body: []byte("x")}); err != nil {
				t.Fatal(err)
			}
			for range 9 { // then the queue moves the message to the dead letters
				time.Sleep(time.Minute)
				if all := strings.Join(c.Health().Unhealthy, "; "); !strings.Contains(all, "sqs:DeleteMessage") {
					t.Errorf("ordered %v: unhealthy: %q", ordered, all)
				}
			}
			stop()
			time.Sleep(2 * time.Minute)
			if all := c.Health().Unhealthy; len(all) > 0 {
				t.Errorf("ordered %v: still unhealthy: %q", ordered, all)
			}
			r.stop()
		})
	}
}

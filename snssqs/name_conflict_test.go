package snssqs_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/snssqs"
)

// If a lookup fails with a passing error, nothing is created: the name may exist.
func TestALookThatFailsIsNoProofOfAbsence(t *testing.T) {
	exchange := driver.Channel{Exchange: "wishlist_events"}
	for action, c := range map[string]struct{ there, wanted driver.Channel }{
		"sns.GetTopicAttributes": {exchange, driver.Channel{Queue: "wishlist_events"}},
		"sts.GetCallerIdentity":  {exchange, driver.Channel{Queue: "wishlist_events"}},
		"sqs.GetQueueUrl":        {driver.Channel{Queue: "orders"}, driver.Channel{Queue: "orders", Ordered: true}},
	} {
		t.Run(action, func(t *testing.T) {
			inWorld(t, localaws.Options{}, func(w *world) {
				w.ensure(driver.ChannelSpec{Channel: c.there, Owner: c.there.Exchange == ""})
				remove := w.server.Control(action, func(_ context.Context, r *localaws.Request) localaws.Outcome {
					if in, ok := r.Input.(*sqs.GetQueueURLInput); ok && in.QueueName != "orders" {
						return localaws.Outcome{}
					}
					return localaws.Outcome{Err: &wire.Error{
						Status: http.StatusServiceUnavailable,
						Code:   "ServiceUnavailable", Message: "down", Fault: true,
					}}
				})
				b := w.open(snssqs.Options{})
				err := b.Ensure(w.Context(), owner(c.wanted))
				if driver.ClassOf(err) != driver.Transient {
					t.Errorf("while %s fails: %v, of class %s", action, err, driver.ClassOf(err))
				}
				remove()
				err = b.Ensure(w.Context(), owner(c.wanted))
				if driver.ClassOf(err) != driver.Permanent || !strings.Contains(err.Error(), "exists, so") {
					t.Errorf("afterwards: %v", err)
				}
			})
		})
	}
}

package snssqs_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/snssqs"
)

// meanwhile runs f while the first call of an action is in flight.
func (w *world) meanwhile(action string, f func()) {
	var under atomic.Bool
	w.server.Control(action, func(context.Context, *localaws.Request) localaws.Outcome {
		if under.CompareAndSwap(false, true) {
			f()
		}
		return localaws.Outcome{}
	})
}

// A producer that is slower than the queue's owner does not revert the owner's changes.
func TestAProducerThatComesTooLate(t *testing.T) {
	for _, delay := range []time.Duration{0, time.Minute} { // equal to the owner's attributes, and different
		inWorld(t, localaws.Options{}, func(w *world) {
			other := w.open(snssqs.Options{})
			w.meanwhile("sqs.CreateQueue", func() {
				if err := other.Ensure(context.Background(), owner(audit)); err != nil {
					t.Error(err)
				}
			})
			w.ensure(driver.ChannelSpec{Channel: audit, Delay: delay})
			if sids := w.statements("wishlist_events--audit_log"); sids["godwitTopic"] == nil {
				t.Errorf("the producer left the statements %v", sids)
			}
			if a := w.attributes("wishlist_events--audit_log"); a["DelaySeconds"] != "0" {
				t.Errorf("the producer set a delay of %s", a["DelaySeconds"])
			}
		})
	}
}

// Two processes with different tags create the same topic at the same time.
func TestTwoWhoMakeATopicAtOnce(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		a, b := owner(audit), owner(driver.Channel{Exchange: "wishlist_events", Queue: "b"})
		a.Tags, b.Tags = map[string]string{"owner": "a"}, map[string]string{"owner": "b"}
		other := w.open(snssqs.Options{})
		w.meanwhile("sns.CreateTopic", func() {
			if err := other.Ensure(context.Background(), b); err != nil {
				t.Error(err)
			}
		})
		w.ensure(a)
		if subs := w.server.SNS().Topics()[0].Subscriptions; len(subs) != 2 {
			t.Errorf("subscriptions %v", subs)
		}
	})
}

package snssqs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
)

// The error of a denied call names the missing permission.
func TestDeniedCallsNameThePermission(t *testing.T) {
	for action, permission := range map[string]string{
		"sqs.GetQueueUrl": "sqs:GetQueueUrl", "sqs.CreateQueue": "sqs:CreateQueue",
		"sqs.GetQueueAttributes": "sqs:GetQueueAttributes",
		"sqs.SetQueueAttributes": "sqs:SetQueueAttributes", "sns.CreateTopic": "sns:CreateTopic",
		"sns.GetTopicAttributes": "sns:GetTopicAttributes",
		"sns.SetTopicAttributes": "sns:SetTopicAttributes", "sns.Subscribe": "sns:Subscribe",
		"sqs.ListQueues":        "sqs:ListQueues",
		"sts.GetCallerIdentity": "sts:GetCallerIdentity",
	} {
		inWorld(t, localaws.Options{}, func(w *world) {
			w.deny(action)
			w.denied(w.b.Ensure(w.Context(), owner(audit)), action, permission)
		})
	}
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(audit))
		r, s := w.receiver(audit, driver.Filter{}), w.sender(driver.Channel{Exchange: "wishlist_events"})
		w.foreign("wishlist_events--audit_log", "x", nil)
		d := w.receive(r, 1)[0]
		p, err := s.Prepare(w.Context(), &driver.Message{})
		if err != nil {
			t.Fatal(err)
		}
		w.deny("*")
		settle := func(a driver.Action) error {
			return r.Settle(w.Context(), []driver.Settlement{{Handle: d.Handle, Action: a}})
		}
		_, err = r.Receive(w.Context(), driver.Ask{Max: 1}, nil)
		w.denied(err, "receive", "sqs:ReceiveMessage")
		w.denied(s.Send(w.Context(), []driver.Prepared{p}), "publish", "sns:Publish")
		w.denied(settle(driver.Done), "done", "sqs:DeleteMessage")
		w.denied(settle(driver.Release), "release", "sqs:ChangeMessageVisibility")
		w.denied(settle(driver.Reject), "reject", "sqs:")
	})
}

func (w *world) deny(action string) {
	w.server.Control(action, func(context.Context, *localaws.Request) localaws.Outcome {
		return localaws.Outcome{Err: &wire.Error{Code: "AccessDenied", Message: "no", Status: 403}}
	})
}

func (w *world) denied(err error, what, permission string) {
	w.Helper()
	if driver.ClassOf(err) != driver.Denied || !strings.Contains(fmt.Sprint(err), "permission "+permission) {
		w.Errorf("%s: %v, of class %s; want it to name %s", what, err, driver.ClassOf(err), permission)
	}
}

func TestClashesNameBothNames(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		w.ensure(owner(audit))
		for _, c := range []struct {
			ch    driver.Channel
			parts []string
		}{
			{driver.Channel{Exchange: "orders"}, []string{"orders.*", "queue orders exists"}},
			{driver.Channel{Exchange: "orders", Queue: "q"}, []string{"orders.q", "queue orders exists"}},
			{
				driver.Channel{Queue: "wishlist_events"},
				[]string{"channel wishlist_events:", "topic wishlist_events exists", "wishlist_events.*"},
			},
			{
				driver.Channel{Queue: "orders", Ordered: true},
				[]string{"channel orders", "queue orders exists", "Ordered is true"},
			},
			{
				driver.Channel{Exchange: "wishlist_events", Ordered: true},
				[]string{"wishlist_events.*", "topic wishlist_events exists", "Ordered is true"},
			},
			{
				driver.Channel{Exchange: "wishlist_events", Queue: "q", Ordered: true},
				[]string{"wishlist_events.q", "topic wishlist_events exists"},
			},
		} {
			err := w.b.Ensure(w.Context(), driver.ChannelSpec{Channel: c.ch, Owner: c.ch.Queue != ""})
			for _, part := range c.parts {
				if err == nil || !strings.Contains(err.Error(), part) || driver.ClassOf(err) != driver.Permanent {
					t.Errorf("%s (ordered %v): %v; want it to say %q", c.ch, c.ch.Ordered, err, part)
				}
			}
		}
	})
}

// A topic exists in both kinds, so neither a producer nor a consumer can choose one.
func TestATopicUnderBothNames(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		for _, in := range []*sns.CreateTopicInput{
			{Name: aws.String("e")},
			{Name: aws.String("e.fifo"), Attributes: map[string]string{"FifoTopic": "true"}},
		} {
			if _, err := w.sns.CreateTopic(w.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		for _, ordered := range []bool{false, true} {
			for _, s := range []driver.ChannelSpec{
				{Channel: driver.Channel{Exchange: "e", Ordered: ordered}},
				owner(driver.Channel{Exchange: "e", Queue: "q", Ordered: ordered}),
			} {
				if err := w.b.Ensure(w.Context(), s); err == nil {
					t.Errorf("%s (ordered %v) was provisioned", s.Channel, ordered)
				}
			}
		}
	})
}

func TestIllegalWishesMakeNoCall(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		many := make([]string, 151)
		for i := range many {
			many[i] = fmt.Sprint("K", i)
		}
		for _, s := range []driver.ChannelSpec{
			{Channel: audit, Filter: driver.Filter{Exact: many}},
			{Channel: audit, Filter: driver.Filter{Exact: many[:100], Prefix: many[:51]}},
			{Channel: audit, Filter: driver.Filter{Exclude: many[:150]}},
			{Channel: audit, Filter: driver.Filter{Exclude: many[:1], Exact: many[:1]}},
			{Channel: audit, Filter: driver.Filter{Prefix: []string{""}}},
			{Channel: orders, Filter: driver.Filter{Exact: []string{"A"}}},
			{Channel: dead(audit), Filter: driver.Filter{Exact: []string{"A"}}},
			{Channel: driver.Channel{Queue: "a--b"}},
			{Channel: driver.Channel{Queue: "dlq"}},
			{Channel: driver.Channel{Exchange: "a.b"}},
			{Channel: driver.Channel{Queue: strings.Repeat("q", 76)}},
		} {
			s.Owner = true
			var err error
			if made := w.calls(func() { err = w.b.Ensure(w.Context(), s) }); err == nil || len(made) > 0 ||
				driver.ClassOf(err) != driver.Permanent {
				t.Errorf("%s: %v after %v", s.Channel, err, made)
			}
		}
		for _, f := range []driver.Filter{{Exact: many[:150]}, {Exclude: many[:149]}} {
			s := owner(audit)
			s.Filter = f
			w.ensure(s)
		}
	})
}

func TestAFilterWhereThereIsNoneIsRefused(t *testing.T) {
	inWorld(t, localaws.Options{}, func(w *world) {
		w.ensure(owner(orders))
		for _, ch := range []driver.Channel{orders, dead(orders)} {
			if _, err := w.b.Receiver(w.Context(), ch,
				driver.ReceiverOptions{Filter: driver.Filter{Exact: []string{"A"}}}); err == nil {
				t.Errorf("%s was opened with a filter, which would delete messages", ch)
			}
		}
	})
}

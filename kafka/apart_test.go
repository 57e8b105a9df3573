//go:build synctests

package kafka_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/ops"
)

const (
	auditTier = "orders.orders--audit.retry.5s"
	auditDead = "orders.orders--audit.dlq"
)

// ofGroup are options with a group of its own for channel orders; "": the channel's.
func ofGroup(o kafka.Options, group string) kafka.Options {
	if o.Names = nil; group != "" {
		o.Names = map[string]kafka.Resource{"orders": {Group: group}}
	}
	return o
}

// Programs with groups of their own on one channel retry and reject apart from each other: a poison record costs each
// of them its own attempts and one dead letter, and a program that can handle it does so once.
func TestPoisonOfTwoGroups(t *testing.T) {
	for name, o := range map[string]kafka.Options{
		"block": {}, "park": {
			ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark},
		}, "alone": {ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryAlone}},
		"share": {ChannelOptions: kafka.ChannelOptions{Ordering: kafka.OrderNone, GroupProtocol: kafka.GroupShare}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				o.Tiers, o.Partitions = []time.Duration{5 * time.Second}, 1
				var mu sync.Mutex
				calls := map[string]int{}
				ctx, cancel := context.WithCancel(w.Context())
				var runs sync.WaitGroup
				for _, group := range []string{"", "audit", "healthy"} {
					c, err := godwit.NewConsumer(ctx, w.backend(ofGroup(o, group)), "orders", &godwit.ConsumerOptions{
						MaxAttempts: 6, Backoff: godwit.Constant(5 * time.Second),
					})
					if err != nil {
						t.Fatal(err)
					}
					runs.Go(func() {
						if _, err := c.Run(ctx, func(context.Context, *godwit.Delivery) error {
							mu.Lock()
							defer mu.Unlock()
							if calls[group]++; group == "healthy" {
								return nil
							}
							return errOnce
						}); err != nil {
							t.Error(err)
						}
					})
				}
				time.Sleep(10 * time.Second)
				w.send(0, "k=poison")
				time.Sleep(5 * time.Minute)
				cancel()
				runs.Wait()
				if diff := cmp.Diff(map[string]int{"": 6, "audit": 6, "healthy": 1}, calls); diff != "" {
					t.Errorf("handler calls by group (-want +got):\n%s", diff)
				}
				for _, topic := range []string{ordersDead, auditDead} {
					if n := w.count(topic); n != 1 {
						t.Errorf("%d dead letters in %s", n, topic)
					}
				}
			})
		})
	}
}

// retryIn settles deliveries as retried, so that they wait in different tiers.
func (l *life) retryIn(tiers []time.Duration, ds []driver.Delivery) {
	l.w.Helper()
	ss := make([]driver.Settlement, len(ds))
	for i := range ds {
		ss[i] = driver.Settlement{Handle: ds[i].Handle, Action: driver.Retry, Attempt: 1, After: tiers[i]}
	}
	if err := l.recv.Settle(l.w.Context(), ss); err != nil {
		l.w.Error(err)
	}
}

// inOrder are deliveries by their bodies.
func inOrder(ds []driver.Delivery) []driver.Delivery {
	slices.SortFunc(ds, func(x, y driver.Delivery) int { return strings.Compare(string(x.Body), string(y.Body)) })
	return ds
}

// drain handles what comes until it has been quiet for a minute, and returns the bodies.
func (l *life) drain() (bodies []string) {
	l.w.Helper()
	for {
		ds := l.within(1, time.Minute)
		if len(ds) == 0 {
			slices.Sort(bodies)
			return bodies
		}
		bodies = append(bodies, texts(ds)...)
		l.settle(driver.Done, ds...)
	}
}

// reads are the topics of which the members of a group want partitions.
func (w *world) reads(group string) (topics []string) {
	w.Helper()
	all, err := w.admin.DescribeGroups(w.Context(), group)
	if err != nil {
		w.Fatal(err)
	}
	for _, m := range all[group].Members {
		if c, ok := m.Join.AsConsumer(); ok {
			topics = append(topics, c.Topics...)
		}
	}
	slices.Sort(topics)
	return slices.Compact(topics)
}

// A program of an earlier version, in which all groups of a channel had the same tiers, was killed with retries in
// every tier, and its successor is killed while it reads them. Each retry is handled by its own group, and none is
// lost. When the tiers have no retry of the group any more, its next member does not read them.
func TestUpgradeWithRetriesInEveryTier(t *testing.T) {
	for name, o := range map[string]kafka.Options{
		"park": {
			ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryPark},
		}, "alone": {ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryAlone}},
		"share": {ChannelOptions: kafka.ChannelOptions{Ordering: kafka.OrderNone, GroupProtocol: kafka.GroupShare}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				o.Tiers = []time.Duration{5 * time.Second, 20 * time.Second, 2 * time.Minute}
				audits := ofGroup(o, "audit")
				w.former = true
				orders, audit := w.begin(o, driver.Events{}), w.begin(audits, driver.Events{})
				alone := o.GroupProtocol == kafka.GroupShare // groups of earlier versions lost retries of each other
				if alone {
					orders.end()
				}
				w.send(0, "a=0", "b=1", "c=2", "d=done", "e=held")
				if !alone {
					orders.retryIn(o.Tiers, inOrder(orders.get(5))[:3])
				}
				ds := inOrder(audit.get(5))
				audit.retryIn(o.Tiers, ds[:3])
				audit.settle(driver.Done, ds[3])
				time.Sleep(3 * time.Second)
				audit.crash()

				w.former = false
				audit = w.begin(audits, driver.Events{})
				var seen []string
				for !slices.Contains(seen, "1") {
					ds := audit.get(1)
					if seen = append(seen, texts(ds)...); string(ds[0].Body) == "1" {
						audit.crash()
						break
					}
					audit.settle(driver.Done, ds...)
					time.Sleep(2 * time.Second) // for a commit
				}
				audit = w.begin(audits, driver.Events{})
				seen = append(seen, audit.drain()...)
				slices.Sort(seen)
				if diff := cmp.Diff([]string{"0", "1", "1", "2", "held"}, seen); diff != "" {
					t.Errorf("the group with a name of its own handled (-want +got):\n%s", diff)
				}
				if !alone {
					if diff := cmp.Diff([]string{"0", "1", "2"}, orders.drain()); diff != "" {
						t.Errorf("the other group handled (-want +got):\n%s", diff)
					}
				}
				audit.end()
				audit = w.begin(audits, driver.Events{})
				audit.nothing(time.Minute)
				group := "audit"
				if alone {
					group = "orders.orders--audit.retry"
				}
				for _, topic := range w.reads(group) {
					if topic != "orders" && !strings.HasPrefix(topic, "orders.orders--audit.") {
						t.Errorf("the group still reads %s", topic)
					}
				}
				before := w.count(auditTier)
				w.send(0, "f=new")
				ds = audit.get(1)
				audit.settle(driver.Retry, ds...)
				if n := w.count(auditTier) - before; n != 1 {
					t.Errorf("%d retries in %s", n, auditTier)
				}
				w.same(audit.get(1), "new")
			})
		})
	}
}

// Dead letters of an earlier version are in a topic with those of other groups. They are counted, shown and sent back
// until there are none of the group any more, and those of other groups are not. A dead letter that was sent back
// before the upgrade is not sent back again.
func TestUpgradeWithDeadLetters(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Retries: kafka.RetryAlone, Tiers: []time.Duration{5 * time.Second}},
		}
		audits := ofGroup(o, "audit")
		w.former = true
		other, audit := w.begin(o, driver.Events{}), w.begin(audits, driver.Events{})
		w.send(0, "a=0", "b=1", "c=2")
		audit.settle(driver.Reject, inOrder(audit.get(3))...)
		other.settle(driver.Reject, inOrder(other.get(3))...)
		audit.requeue(ops.RequeueOptions{Alone: true, Most: 1}, 1, 5)
		w.same(audit.get(1), "0")
		audit.end()

		w.former = false
		audit = w.begin(audits, driver.Events{})
		ds := audit.get(1)
		w.same(ds, "0") // it was not settled
		audit.settle(driver.Done, ds...)
		time.Sleep(2 * time.Second) // for a commit
		depth := func(l *life, want int64) {
			t.Helper()
			if d, err := l.b.Inspect(w.Context(), ordersLetters); err != nil || d.Waiting != want {
				t.Errorf("%d dead letters wait, want %d (%v)", d.Waiting, want, err)
			}
		}
		peek := func(l *life, from driver.PeekFrom, most int, want ...string) {
			t.Helper()
			seen, err := l.b.Peek(w.Context(), ordersLetters, from, most)
			var got []string
			for i := range seen {
				got = append(got, string(seen[i].Delivery.Body))
			}
			if !slices.Equal(got, want) || err != nil {
				t.Errorf("a look shows %v, want %v (%v)", got, want, err)
			}
		}
		depth(audit, 2)
		depth(other, 5)
		w.send(0, "d=3")
		audit.settle(driver.Reject, audit.get(1)...)
		depth(audit, 3)
		peek(audit, driver.PeekFrom{}, 10, "1", "2", "3")
		peek(audit, driver.PeekFrom{}, 2, "1", "2")
		peek(audit, driver.PeekFrom{Last: true}, 2, "2", "3")
		peek(audit, driver.PeekFrom{ID: ordersDead + "/0/2"}, 10, "2")
		peek(audit, driver.PeekFrom{ID: auditDead + "/0/0"}, 10, "3")
		s, err := audit.b.Snapshot(w.Context(), orders)
		if err != nil || !strings.Contains(string(s.Data), `"topics of earlier versions":["`+ordersDead+`"]`) {
			t.Errorf("snapshot: %s, %v", s.Data, err)
		}

		audit.requeue(ops.RequeueOptions{Alone: true}, 3, 0)
		var back []string
		for range 3 {
			ds = audit.get(1)
			back = append(back, texts(ds)...)
			audit.settle(driver.Reject, ds...)
		}
		peek(audit, driver.PeekFrom{}, 10, back...)
		if slices.Sort(back); !slices.Equal(back, []string{"1", "2", "3"}) {
			t.Errorf("%v came back to their group", back)
		}
		depth(other, 5)
		denied := true // the group of the shared dead letters is that of others
		w.cluster.ControlKey(int16(kmsg.OffsetFetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
			w.cluster.KeepControl()
			req := r.(*kmsg.OffsetFetchRequest)
			if !denied || len(req.Groups) != 1 || req.Groups[0].Group != "orders.dlq" {
				return nil, nil, false
			}
			resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
			one := kmsg.NewOffsetFetchResponseGroup()
			one.Group, one.ErrorCode = "orders.dlq", kerr.GroupAuthorizationFailed.Code
			resp.Groups = append(resp.Groups, one)
			return resp, nil, true
		})
		depth(audit, 3)
		denied = false
		if n := w.count(auditDead); n != 4 {
			t.Errorf("%d dead letters in %s", n, auditDead)
		}
		if s, err = audit.b.Snapshot(w.Context(), orders); err != nil || strings.Contains(string(s.Data), "earlier") {
			t.Errorf("snapshot after the way back: %s, %v", s.Data, err)
		}
		audit.requeue(ops.RequeueOptions{Alone: true}, 3, 0)
		for range 3 {
			audit.settle(driver.Done, audit.get(1)...)
		}
		audit.nothing(time.Minute)
		depth(audit, 0)

		// A process that knows a later dead letter of a record handles the record that comes back from an earlier one.
		audit.end()
		audit = w.begin(audits, driver.Events{})
		seen, err := audit.b.Peek(w.Context(), ordersLetters, driver.PeekFrom{Finished: true, Last: true}, 1)
		if err != nil {
			t.Fatal(err)
		}
		home := audit.home(true).Forwarder
		p, err := home.Forward(w.Context(), &driver.Forward{Raw: seen[0].Raw, ID: ordersDead + "/0/0", Revive: true})
		if err == nil {
			err = home.Send(w.Context(), []driver.Prepared{p})
		}
		if err != nil {
			t.Fatal(err)
		}
		w.same(audit.get(1), string(seen[0].Delivery.Body))
		w.same(other.get(1), "3")
		other.nothing(time.Minute)
	})
}

// While members of both versions run, those of the earlier one go on using its tiers. Members of the later one that
// join meanwhile read them as well, so that nothing is left in them, and the tiers can be deleted afterwards.
func TestMembersOfBothVersions(t *testing.T) {
	for _, protocol := range []kafka.GroupProtocol{kafka.GroupClassic, kafka.GroupConsumer} {
		inWorld(t, func(w *world) {
			o := ofGroup(kafka.Options{
				ChannelOptions: kafka.ChannelOptions{
					GroupProtocol: protocol, Retries: kafka.RetryAlone, Tiers: []time.Duration{5 * time.Second},
					Partitions: 2,
				},
			}, "audit")
			w.former = true
			early := w.begin(o, driver.Events{})
			early.nothing(5 * time.Second)
			w.former = false
			late := w.begin(o, driver.Events{})
			var ds []driver.Delivery
			for n := 0; n < 60 && len(ds) == 0; n++ { // some for the rebalance
				late.settle(driver.Done, late.within(10, time.Second)...)
				early.settle(driver.Done, early.within(10, time.Second)...)
				w.send(int32(n%2), strconv.Itoa(n))
				if ds = early.within(1, time.Second); n >= 6 {
					early.settle(driver.Retry, ds...)
				} else {
					early.settle(driver.Done, ds...)
					ds = nil
				}
			}
			time.Sleep(2 * time.Second) // for a commit
			early.crash()
			var left []string
			for _, d := range ds {
				left = append(left, string(d.Body))
			}
			for begun := time.Now(); len(left) > 0 && time.Since(begun) < 2*time.Minute; {
				got := late.within(1, time.Second)
				late.settle(driver.Done, got...)
				left = slices.DeleteFunc(left, func(one string) bool { return slices.Contains(texts(got), one) })
			}
			if len(ds) == 0 || len(left) > 0 {
				t.Errorf("of %d retries of an earlier version %v are left in its tier", len(ds), left)
			}
			late.end()
			w.drop(shortTier)
			late = w.begin(o, driver.Events{})
			w.send(0, "last")
			ds = late.get(1)
			w.same(ds, "last")
			late.settle(driver.Retry, ds...)
			w.same(late.get(1), "last")
			if n := w.count(auditTier); n != 1 {
				t.Errorf("%d retries in %s", n, auditTier)
			}
		})
	}
}

//go:build synctests

package kafka_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// join lets a program without Godwit join the group orders, and returns when it has the partition.
func (w *world) join(opts ...kgo.Opt) *kgo.Client {
	w.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.Dialer(w.network.DialContext), kgo.ClientID("their-app"),
		kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}, opts...)...)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(c.Close)
	if got := c.PollRecords(w.Context(), 1); got.NumRecords() != 1 {
		w.Fatalf("the other program got %v", got.Errors())
	}
	return c
}

// offers are options with an assignor of other programs.
func offers(a kafka.Assignor) kafka.Options {
	return kafka.Options{Channels: map[string]kafka.ChannelOptions{"orders": {Assignor: a}}}
}

// A consumer whose group has members of another protocol or assignor is not created. The error has what both use, and
// who the others are. When they have left, it is.
func TestGroupsOfOtherProtocols(t *testing.T) {
	share := kafka.Options{
		ChannelOptions: kafka.ChannelOptions{GroupProtocol: kafka.GroupShare, Ordering: kafka.OrderNone},
	}
	ranges := []kgo.Opt{kgo.ConsumerGroup("orders"), kgo.Balancers(kgo.RangeBalancer())}
	modern := []kgo.Opt{kgo.ConsumerGroup("orders"), kgo.ServerSideBalancer()}
	for name, c := range map[string]struct {
		theirs []kgo.Opt
		o      kafka.Options
		says   []string // none: no error
	}{
		"another assignor": {
			theirs: ranges, says: []string{"a classic group with the assignor range", "cooperative-sticky"},
		},
		"another assignor, which is offered": {theirs: ranges, o: offers(kafka.AssignorRange)},
		"another assignor than that which is offered": {
			theirs: ranges, o: offers(kafka.AssignorRoundRobin), says: []string{"with the assignor range", "Assignor"},
		},
		"classic and the consumer protocol": {
			theirs: modern,
			says:   []string{"a group of the consumer protocol (KIP-848) (their-app", "join as a classic group"},
		},
		"the consumer protocol and classic": {
			theirs: ranges, o: kafka.Options{ChannelOptions: kafka.ChannelOptions{GroupProtocol: kafka.GroupConsumer}},
			says: []string{"active as a classic group (their-app", "join as a group of the consumer protocol"},
		},
		"a share group and the consumer protocol": {
			theirs: modern, o: share, says: []string{"a group of the consumer protocol", "join as a share group"},
		},
		"classic and a share group": {
			theirs: []kgo.Opt{kgo.ShareGroup("orders")},
			says:   []string{"active as a share group", "join as a classic group"},
		},
		"the same assignor": {
			theirs: []kgo.Opt{kgo.ConsumerGroup("orders"), kgo.Balancers(kgo.CooperativeStickyBalancer())},
		},
		"the same protocol": {theirs: modern, o: kafka.Options{
			ChannelOptions: kafka.ChannelOptions{GroupProtocol: kafka.GroupConsumer},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.create("orders", 1)
				b, spec := w.backend(c.o), driver.ChannelSpec{Channel: orders, Owner: true}
				if c.o.GroupProtocol == 0 && strings.Contains(name, "share") {
					if err := w.backend(share).Ensure(w.Context(), spec); err != nil {
						t.Fatal(err)
					}
				}
				w.send(0, "a")
				theirs := w.join(c.theirs...)
				err := b.Ensure(w.Context(), spec)
				if (err != nil) != (len(c.says) > 0) {
					t.Fatalf("%v", err)
				}
				for _, says := range append(c.says, "group orders") {
					if err != nil && (driver.ClassOf(err) != driver.Permanent || !strings.Contains(err.Error(), says)) {
						t.Errorf("%v, want an error that says %q", err, says)
					}
				}
				if err := b.Ensure(w.Context(), driver.ChannelSpec{Channel: orders}); err != nil {
					t.Errorf("a producer: %v", err)
				}
				theirs.Close()
				time.Sleep(time.Minute)
				if err := b.Ensure(w.Context(), spec); err != nil {
					t.Errorf("after the others have left: %v", err)
				}
			})
		})
	}
}

// Brokers that are too old to have other kinds of groups have no members of them, and neither has a client that is
// limited to an old version.
func TestGroupsOfOldBrokers(t *testing.T) {
	works := func(t *testing.T, b *kafka.Backend) {
		t.Helper()
		if err := b.Ensure(t.Context(), driver.ChannelSpec{Channel: orders, Owner: true}); err != nil {
			t.Error(err)
		}
		if _, err := b.Rewind(t.Context(), orders, driver.Position{From: driver.FromEnd}, false); err != nil {
			t.Error(err)
		}
	}
	inWorld(t, func(w *world) {
		works(w.T, w.backend(kafka.Options{Client: []kgo.Opt{kgo.MaxVersions(kversion.V3_0_0())}}))
	})
	synctest.Test(t, func(t *testing.T) {
		var network kfake.VirtualNetwork
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.ListenFn(network.Listen),
			kfake.MaxVersions(kversion.V3_0_0()))
		if err != nil {
			t.Fatal(err)
		}
		defer cluster.Close()
		b, err := kafka.Open(t.Context(), &kafka.Options{
			Brokers: cluster.ListenAddrs(), Client: []kgo.Opt{kgo.Dialer(network.DialContext)},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = b.Close(t.Context()) }()
		works(t, b)
	})
}

// The first look-ups of a new cluster find no coordinator of groups. They are repeated; if that lasts, the group is not
// checked, because it can have no members.
func TestGroupsWithoutACoordinator(t *testing.T) {
	for _, lasts := range []time.Duration{time.Second, time.Hour} {
		inWorld(t, func(w *world) {
			w.create("orders", 1)
			w.send(0, "a")
			w.join(kgo.ConsumerGroup("orders"), kgo.Balancers(kgo.RangeBalancer()))
			b, until := w.backend(kafka.Options{}), time.Now().Add(lasts)
			w.cluster.ControlKey(int16(kmsg.FindCoordinator), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
				w.cluster.KeepControl()
				if time.Now().After(until) {
					return nil, nil, false
				}
				req := kreq.(*kmsg.FindCoordinatorRequest)
				resp := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
				for _, key := range req.CoordinatorKeys {
					one := kmsg.NewFindCoordinatorResponseCoordinator()
					one.Key, one.ErrorCode = key, kerr.CoordinatorNotAvailable.Code
					resp.Coordinators = append(resp.Coordinators, one)
				}
				return resp, nil, true
			})
			err := b.Ensure(w.Context(), driver.ChannelSpec{Channel: orders, Owner: true})
			if refused := err != nil && strings.Contains(err.Error(), "range"); refused != (lasts == time.Second) ||
				!refused && err != nil {
				t.Errorf("without a coordinator for %v: %v", lasts, err)
			}
		})
	}
}

// A mapped group that has only read other topics is probably that of another channel. With a Start it is not.
func TestTheGroupOfAnotherTopic(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create("Shop.Orders", 1)
		w.create("Shop.Invoices", 1)
		w.commits("billing", "Shop.Invoices")
		names := map[string]kafka.Resource{"orders": {Topic: "Shop.Orders", Group: "billing"}}
		spec := driver.ChannelSpec{Channel: orders, Owner: true}
		err := w.backend(kafka.Options{Names: names}).Ensure(w.Context(), spec)
		for _, says := range []string{
			"channel orders", "topic Shop.Orders", "group billing", "Shop.Invoices", "set Start",
		} {
			if driver.ClassOf(err) != driver.Permanent || err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%v, want an error that says %q", err, says)
			}
		}
		o := starts(kafka.Start{From: kafka.StartEarliest})
		o.Names = names
		if err := w.backend(o).Ensure(w.Context(), spec); err != nil {
			t.Error(err)
		}
		names["invoices"] = kafka.Resource{Topic: "Shop.Invoices", Group: "billing"}
		if err := w.backend(kafka.Options{Names: names}).Ensure(w.Context(), spec); err != nil {
			t.Errorf("a group of two mapped channels: %v", err)
		}
	})
}

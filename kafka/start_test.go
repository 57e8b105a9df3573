//go:build synctests

package kafka_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// starts are options with a start for orders.
func starts(s kafka.Start) kafka.Options {
	return kafka.Options{Channels: map[string]kafka.ChannelOptions{"orders": {Start: s}}}
}

// A group without a commit begins where its channel's Start says. A group with a commit goes on there.
func TestStart(t *testing.T) {
	for name, c := range map[string]struct {
		start     func(noon time.Time) kafka.Start
		committed bool // the group has committed 1
		want      string
	}{
		"the default":                 {start: func(time.Time) kafka.Start { return kafka.Start{} }, want: "abc"},
		"earliest":                    {start: from(kafka.StartEarliest), want: "abc"},
		"latest":                      {start: from(kafka.StartLatest), want: ""},
		"a time":                      {start: at, want: "c"},
		"latest, with a commit":       {start: from(kafka.StartLatest), committed: true, want: "bc"},
		"a time, with a commit":       {start: at, committed: true, want: "bc"},
		"commits only, with a commit": {start: from(kafka.StartCommitted), committed: true, want: "bc"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.create("orders", 1)
				w.send(0, "a", "b")
				time.Sleep(time.Hour)
				noon := time.Now()
				w.send(0, "c")
				if c.committed {
					w.commit(1, "")
				}
				l := w.begin(starts(c.start(noon)), driver.Events{})
				w.send(0, "later")
				var got []string
				for _, d := range l.within(len(c.want)+2, 10*time.Second) {
					got = append(got, string(d.Body))
				}
				if all := strings.Join(got, ""); all != c.want+"later" {
					t.Errorf("%q were delivered, want %q", all, c.want+"later")
				}
			})
		})
	}
}

func from(f kafka.StartFrom) func(time.Time) kafka.Start {
	return func(time.Time) kafka.Start { return kafka.Start{From: f} }
}

func at(noon time.Time) kafka.Start { return kafka.Start{From: kafka.StartTime, Time: noon} }

// The position is committed before a consumer joins: what is sent while no consumer runs is handled, also if none has
// handled a record yet, and also in partitions that were added meanwhile.
func TestStartIsCommitted(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create("orders", 1)
		w.send(0, "old")
		o := starts(kafka.Start{From: kafka.StartLatest})
		b := w.backend(o)
		if err := b.Ensure(w.Context(), driver.ChannelSpec{Channel: orders, Owner: true}); err != nil {
			t.Fatal(err)
		}
		w.send(0, "a") // after the construction of a consumer that never ran
		w.addPartitions("orders", 2)
		w.send(1, "b")
		l := w.begin(o, driver.Events{})
		got := texts(l.within(3, 20*time.Second))
		slices.Sort(got)
		if !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("received %v, want a and b", got)
		}
	})
}

// Retries wait in tiers, which begin at their start whatever the channel's Start is.
func TestStartIsNotThatOfTiers(t *testing.T) {
	inWorld(t, func(w *world) {
		o := starts(kafka.Start{From: kafka.StartLatest})
		o.Retries = kafka.RetryPark
		l := w.begin(o, driver.Events{})
		w.send(0, "k=a")
		l.settle(driver.Retry, l.get(1)...)
		w.same(l.get(1), "a")
	})
}

// Without a commit, a channel that goes on only at commits is not opened, and the error has all names. Partitions that
// the group has not committed begin at their start.
func TestStartAtCommitsOnly(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create("orders", 2)
		w.send(1, "b")
		o := starts(kafka.Start{From: kafka.StartCommitted})
		o.Names = map[string]kafka.Resource{"orders": {Group: "billing"}}
		b := w.backend(o)
		for _, mode := range []driver.Mode{driver.Auto, driver.Verify} {
			err := b.Ensure(w.Context(), driver.ChannelSpec{Channel: orders, Owner: true, Mode: mode})
			for _, says := range []string{"channel orders", "group billing", "topic orders", "StartCommitted"} {
				if driver.ClassOf(err) != driver.Permanent || err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("%v, want an error that says %q", err, says)
				}
			}
		}
		if _, err := b.Receiver(w.Context(), orders, driver.ReceiverOptions{}); err == nil {
			t.Error("a receiver was opened")
		}
		w.commits("billing", "orders")
		l := w.begin(o, driver.Events{})
		w.same(l.get(1), "b")
	})
}

// The position cannot be committed for a group that others have joined. The error says what to do.
func TestStartOfAnActiveGroup(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create("orders", 1)
		other, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.Dialer(w.network.DialContext),
			kgo.ConsumerGroup("orders"), kgo.ConsumeTopics("orders"), kgo.DisableAutoCommit(),
			kgo.Balancers(kgo.CooperativeStickyBalancer()))
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		time.Sleep(10 * time.Second)
		b := w.backend(starts(kafka.Start{From: kafka.StartLatest}))
		err = b.Ensure(w.Context(), driver.ChannelSpec{Channel: orders, Owner: true})
		if driver.ClassOf(err) != driver.Permanent || err == nil ||
			!strings.Contains(err.Error(), "group orders has members") {
			t.Errorf("%v, want an error that says that the group has members", err)
		}
	})
}

// A partition that is assigned without a commit is committed before its first record, and so is one with a commit of
// another program: at the same offset, with metadata of Godwit. One with a commit of Godwit is left as it is.
func TestStartsAreCommitted(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create("orders", 3)
		w.send(1, numbers(5)...)
		w.send(2, numbers(5)...)
		var gone kadm.Offsets
		gone.Add(kadm.Offset{Topic: "orders", Partition: 1, At: 2})
		if _, err := w.admin.DeleteRecords(w.Context(), gone); err != nil {
			t.Fatal(err)
		}
		var foreign kadm.Offsets
		foreign.Add(kadm.Offset{Topic: "orders", Partition: 2, At: 4, LeaderEpoch: -1, Metadata: "theirs"})
		if err := w.admin.CommitAllOffsets(w.Context(), "orders", foreign); err != nil {
			t.Fatal(err)
		}
		l := w.begin(kafka.Options{CommitInterval: time.Hour}, driver.Events{})
		l.get(4) // none is settled
		before := w.fetched("orders", "orders")
		for n, want := range []int64{0, 2, 4} {
			if o := before[int32(n)]; o.At != want || o.Metadata == "" || o.Metadata == "theirs" {
				t.Errorf("of partition %d, %d with the metadata %q is committed, want %d with Godwit's", n, o.At, o.Metadata,
					want)
			}
		}
		l.end()
		commits := 0
		w.cluster.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
			w.cluster.KeepControl()
			commits++
			return nil, nil, false
		})
		l = w.begin(kafka.Options{CommitInterval: time.Hour}, driver.Events{})
		l.get(4)
		l.end()
		if commits > 0 {
			t.Errorf("%d commits, and nothing has changed", commits)
		}
	})
}

// A start that contradicts itself, or its channel, is an error of the options.
func TestImpossibleStarts(t *testing.T) {
	inWorld(t, func(w *world) {
		for says, s := range map[string]kafka.Start{
			"Start.From is 9":           {From: 9},
			"Start.Time is missing":     {From: kafka.StartTime},
			"Start.Time has no effect":  {Time: time.Now()},
			"no effect without StartTi": {From: kafka.StartLatest, Time: time.Now()},
		} {
			o := starts(s)
			if _, err := kafka.Open(w.Context(), &o); err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%+v: %v, want an error that says %q", s, err, says)
			}
		}
		o := starts(kafka.Start{From: kafka.StartLatest})
		o.GroupProtocol, o.Ordering = kafka.GroupShare, kafka.OrderNone
		err := w.backend(o).Ensure(w.Context(), driver.ChannelSpec{Channel: orders, Owner: true})
		if err == nil || !strings.Contains(err.Error(), "kafka-share-groups.sh") {
			t.Errorf("a share group: %v", err)
		}
	})
}

// fetched are the committed offsets of a group in a topic.
func (w *world) fetched(group, topic string) map[int32]kadm.OffsetResponse {
	w.Helper()
	all, err := w.admin.FetchOffsets(w.Context(), group)
	if err != nil {
		w.Fatal(err)
	}
	return all[topic]
}

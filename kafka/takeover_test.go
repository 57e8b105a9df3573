//go:build synctests

package kafka_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// plain consumes as a program without Godwit does: it reads n records as a member of a group, commits them, and leaves.
func (w *world) plain(group, topic string, n int) (got []string) {
	w.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.Dialer(w.network.DialContext),
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		w.Fatal(err)
	}
	defer c.Close()
	for len(got) < n {
		fetches := c.PollRecords(w.Context(), n-len(got))
		if err := fetches.Err(); err != nil {
			w.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
		if err := c.CommitRecords(w.Context(), fetches.Records()...); err != nil {
			w.Fatal(err)
		}
	}
	return got
}

// A consumer goes on where a plain client stopped. After the way back, the plain client handles again only what was
// finished beyond the watermark, and after that, a consumer goes on at the plain commit again.
func TestThereAndBack(t *testing.T) {
	inWorld(t, func(w *world) {
		const group = "billing service"
		w.create(shopOrders, 1)
		for i, text := range strings.Split("abcdefgh", "") {
			w.sendTo(shopOrders, 0, "k"+string(rune('0'+i)), text)
		}
		if got := w.plain(group, shopOrders, 3); !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Fatalf("the plain client read %v", got)
		}
		o := kafka.Options{
			Names: map[string]kafka.Resource{"orders": {Topic: shopOrders, Group: group}},
			Channels: map[string]kafka.ChannelOptions{
				"orders": {Start: kafka.Start{From: kafka.StartCommitted}},
			},
		}
		l := w.begin(o, driver.Events{})
		ds := l.get(5)
		w.same(ds, "d", "e", "f", "g", "h")
		l.settle(driver.Done, ds[0], ds[2], ds[4]) // e and g are not finished: the watermark is e
		l.end()
		if at := w.fetched(group, shopOrders)[0]; at.At != 4 || at.Metadata == "" {
			t.Fatalf("committed: %+v", at)
		}
		l = w.begin(o, driver.Events{}) // Godwit's own consumers do not handle f and h again
		w.same(l.within(3, 20*time.Second), "e", "g")
		l.end()

		if got := w.plain(group, shopOrders, 3); !slices.Equal(got, []string{"e", "f", "g"}) {
			t.Errorf("after the way back the plain client read %v, want e, f and g", got)
		}
		if at := w.fetched(group, shopOrders)[0]; at.At != 7 {
			t.Fatalf("the plain client has committed %+v", at)
		}
		w.sendTo(shopOrders, 0, "k", "i")
		l = w.begin(o, driver.Events{}) // a plain commit is the watermark: h is handled again
		w.same(l.within(3, 20*time.Second), "h", "i")
	})
}

// A plain client may keep text of its own in the metadata of its commits. It is not taken for Godwit's.
func TestCommitWithForeignMetadata(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create("orders", 1)
		w.send(0, "a", "b", "c")
		os := kadm.Offsets{}
		os.Add(kadm.Offset{Topic: "orders", At: 1, LeaderEpoch: -1, Metadata: "consumer-1@host g2.AAAA"})
		if err := w.admin.CommitAllOffsets(w.Context(), "orders", os); err != nil {
			t.Fatal(err)
		}
		l := w.begin(kafka.Options{}, driver.Events{})
		w.same(l.get(2), "b", "c")
	})
}

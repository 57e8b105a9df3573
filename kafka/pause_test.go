//go:build synctests

package kafka_test

import (
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// A paused partition brings no more records, while others do, also after the consumer has started again; its records
// come, in order, once it is resumed.
func TestPausedPartitions(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 2}}, driver.Events{})
		w.send(1, "a")
		held := l.get(1)
		if err := l.b.Partitions("orders").Pause(1); err != nil {
			t.Fatal(err)
		}
		w.send(1, "b", "c")
		w.send(0, "x")
		w.same(l.get(1), "x")
		l.nothing(time.Minute)
		l.settle(driver.Done, held...)
		if err := l.recv.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		l.open(driver.Events{})
		w.send(0, "y")
		w.same(l.get(2), "x", "y") // x was not settled
		l.nothing(time.Minute)
		if at, _ := w.committed(1); at != 1 {
			t.Errorf("committed %d of the paused partition, want 1", at)
		}
		if err := l.b.Partitions("orders").Resume(0, 1); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		w.same(l.get(2), "b", "c")
		if took := time.Since(begun); took > time.Second {
			t.Errorf("the first record after the pause came after %v", took)
		}
	})
}

// While a partition is paused, its records wait on the broker, not in this process.
func TestPausedPartitionWithManyRecords(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 2}}, driver.Events{})
		if err := l.b.Partitions("orders").Pause(1); err != nil {
			t.Fatal(err)
		}
		w.send(1, numbers(20_000)...)
		w.send(0, "x")
		w.same(l.get(1), "x")
		l.nothing(10 * time.Second)
		if err := l.b.Partitions("orders").Resume(1); err != nil {
			t.Fatal(err)
		}
		l.handle(20_000)
	})
}

// A partition with many records is not fetched while it is paused. If the member loses it then, because the broker was
// away, and gets it back, its records arrive after the pause.
func TestPausedPartitionIsLostAndReturns(t *testing.T) {
	inWorld(t, func(w *world) {
		lost := make(chan []*driver.Source, 1)
		l := w.begin(kafka.Options{
			ChannelOptions: kafka.ChannelOptions{Partitions: 1}, SessionTimeout: 6 * time.Second,
		},
			driver.Events{Lost: func(s []*driver.Source, _ error) { lost <- s }})
		if err := l.b.Partitions("orders").Pause(0); err != nil {
			t.Fatal(err)
		}
		w.send(0, numbers(20_000)...)
		l.nothing(10 * time.Second)
		l.wire.cut()
		<-lost
		l.wire.mend()
		l.nothing(10 * time.Second)
		if err := l.b.Partitions("orders").Resume(0); err != nil {
			t.Fatal(err)
		}
		l.handle(20_000)
	})
}

// handle receives and settles n records.
func (l *life) handle(n int) {
	l.w.Helper()
	for got := 0; got < n; {
		ds := l.within(1_000, time.Minute)
		if len(ds) == 0 {
			l.w.Fatalf("%d records came after the pause", got)
		}
		got += len(ds)
		l.settle(driver.Done, ds...)
	}
}

func TestPausesThatAreRefused(t *testing.T) {
	b, err := kafka.Open(t.Context(), &kafka.Options{
		ChannelOptions: kafka.ChannelOptions{Ordering: kafka.OrderNone},
		Channels:       map[string]kafka.ChannelOptions{"shared": {GroupProtocol: kafka.GroupShare}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close(t.Context())
	for name, c := range map[string]struct {
		channel    string
		partitions []int32
		says       string
	}{
		"all of an exchange": {"events.*", []int32{1}, "events.*"},
		"no name":            {"", []int32{1}, "name a channel"},
		"a share group":      {"shared", []int32{1}, "share group"},
		"no partition":       {"orders", nil, "no partition"},
		"a negative one":     {"orders", []int32{0, -1}, "-1"},
	} {
		if err := b.Partitions(c.channel).Pause(c.partitions...); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A position outside of the log is refused, and so is one for which no consumer of this process runs.
func TestSeeksThatAreRefused(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.begin(kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 2}}, driver.Events{})
		w.send(0, "a")
		ds := l.get(1)
		parts := l.b.Partitions("orders")
		for says, to := range map[string]driver.Position{
			"offset 7 is not in partition 0": {From: driver.FromOffset, Offset: 7, Partitions: []int32{0}},
			"no partition 5":                 {From: driver.FromStart, Partitions: []int32{5}},
		} {
			moved, err := parts.Seek(w.Context(), to)
			if err == nil || !strings.Contains(err.Error(), says) || moved != nil {
				t.Errorf("moved %v, %v, want an error with %q", moved, err, says)
			}
		}
		l.settle(driver.Done, ds...) // a refused seek has ended nothing
		if err := l.recv.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		for channel, says := range map[string]string{
			"orders": "no consumer of this process runs", "": "name a channel",
		} {
			if _, err := l.b.Partitions(channel).Seek(w.Context(), driver.Position{}); err == nil ||
				!strings.Contains(err.Error(), says) {
				t.Errorf("%v, want an error with %q", err, says)
			}
		}
	})
}

//go:build synctests

package kafka_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// While consumers join and leave, 99 of 100 messages are at most a second late, none is early, lost, or there twice. A
// reader of committed records counts the time.
func TestLaterLateness(t *testing.T) {
	inWorld(t, func(w *world) {
		o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 6, Ordering: kafka.OrderNone}}
		l := w.begin(o, driver.Events{})
		const n, over = 3000, 5 * time.Minute
		begins := time.Now().Add(30 * time.Second)
		s, err := l.b.Sender(w.Context(), orders)
		if err != nil {
			t.Fatal(err)
		}
		var batch []driver.Prepared
		for i := range n {
			due := begins.Add(time.Duration(i) * over / n).Truncate(time.Millisecond)
			p, err := s.Prepare(w.Context(), &driver.Message{
				Body: []byte(strconv.FormatInt(due.UnixMilli(), 10)), OrderKey: fmt.Sprint(i), At: due,
			})
			if err != nil {
				t.Fatal(err)
			}
			batch = append(batch, p)
		}
		if err := s.Send(w.Context(), batch); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(w.Context()); err != nil {
			t.Fatal(err)
		}
		from := map[int32]kgo.Offset{}
		for p := range int32(6) {
			from[p] = kgo.NewOffset().AtStart()
		}
		c, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.Dialer(w.network.DialContext),
			kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"orders": from}),
			kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(100*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx, stop := context.WithCancel(w.Context())
		read := make(chan map[string][]time.Duration)
		go func() {
			late := map[string][]time.Duration{}
			for ctx.Err() == nil {
				c.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
					due, _ := strconv.ParseInt(string(r.Value), 10, 64)
					late[string(r.Value)] = append(late[string(r.Value)], time.Since(time.UnixMilli(due)))
				})
			}
			read <- late
		}()
		time.Sleep(time.Until(begins))
		for range 4 { // consumers come and go while messages are due
			second := w.begin(o, driver.Events{})
			time.Sleep(over / 12)
			third := w.begin(o, driver.Events{})
			time.Sleep(over / 12)
			second.end()
			time.Sleep(over / 12)
			third.end()
		}
		time.Sleep(time.Minute)
		stop()
		var all []time.Duration
		for body, times := range <-read {
			if len(times) != 1 || times[0] < 0 {
				t.Errorf("a message that was due at %s ms came at %v", body, times)
			}
			all = append(all, times[0])
		}
		slices.Sort(all)
		if len(all) != n {
			t.Fatalf("%d of %d messages came", len(all), n)
		}
		p50, p99, last := all[n/2], all[n*99/100], all[n-1]
		t.Logf("late by %v (median), %v (99 of 100), %v (most)", p50, p99, last)
		if p99 > time.Second {
			t.Errorf("99 of 100 messages are late by up to %v", p99)
		}
		l.end()
	})
}

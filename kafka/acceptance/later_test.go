//go:build synctests

package acceptance

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// The mistakes: a delayed message is lost or sent twice when the process that would send it crashes, overtakes another
// one of its key, or comes although it was cancelled. Here a process crashes when messages are due, while another
// cancels some of them.
func TestDelayedAndCancelled(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, keys = 120, 10
		w.create(3)
		o := kafka.Options{ChannelOptions: kafka.ChannelOptions{Partitions: 3}}
		w.ensure(o)
		var mu sync.Mutex
		came, last := map[int]int{}, map[string]int{}
		note := func(_ context.Context, d *godwit.Delivery) error {
			mu.Lock()
			defer mu.Unlock()
			n := number(d)
			if before, ok := last[d.OrderKey]; ok && before > n && came[n] == 0 {
				t.Errorf("message %d of key %s comes after %d", n, d.OrderKey, before)
			}
			last[d.OrderKey] = n
			came[n]++
			return nil
		}
		first := w.start(o, godwit.ConsumerOptions{Ordered: true}, note)
		second := w.start(o, godwit.ConsumerOptions{Ordered: true}, note)
		b := w.open(o, nil)
		defer w.close(b)
		p, err := godwit.NewProducer(t.Context(), b, channel, &godwit.ProducerOptions{Ordered: true})
		if err != nil {
			t.Fatal(err)
		}
		defer w.close(p)
		due := time.Now().Add(15 * time.Second)
		receipts := make([]godwit.Receipt, records)
		for n := range records {
			m := godwit.Message{Body: []byte(fmt.Sprint(n)), OrderKey: fmt.Sprint("k", n%keys), At: due}
			if n%2 == 0 {
				m.Cancellable, m.Receipt = true, &receipts[n]
			}
			if err := p.Send(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Until(due.Add(-2 * time.Second)))
		gone := map[int]bool{}
		for n := 0; n < records; n += 2 {
			cancelled, err := p.Cancel(t.Context(), receipts[n].ID)
			if err != nil {
				t.Fatal(err)
			}
			gone[n] = cancelled
			if time.Sleep(100 * time.Millisecond); n == records/2 {
				first.crash()
			}
		}
		w.eventually(90*time.Second, "all messages handled that were not cancelled", func() bool {
			mu.Lock()
			defer mu.Unlock()
			for n := range records {
				if !gone[n] && came[n] == 0 {
					return false
				}
			}
			return true
		})
		if _, err := second.stop(); err != nil {
			t.Error(err)
		}
		for n, times := range came {
			if gone[n] && times > 0 {
				t.Errorf("message %d was cancelled, and came", n)
			}
		}
		sent := map[string]int{}
		c := w.newClient(kgo.ConsumeTopics(w.topic()), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
			kgo.FetchIsolationLevel(kgo.ReadCommitted()))
		defer c.Close()
		for more := true; more; {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			rs := c.PollFetches(ctx).Records()
			cancel()
			for _, r := range rs {
				sent[string(r.Value)]++
			}
			more = len(rs) > 0
		}
		for n, times := range sent {
			if times != 1 {
				t.Errorf("message %s was sent %d times", n, times)
			}
		}
	})
}

//go:build synctests

package kafka_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// A single send takes one round trip. Concurrent sends share requests all the same: their records gather while others
// are in flight.
func TestALoneSendDoesNotLinger(t *testing.T) {
	inWorld(t, func(w *world) {
		const roundTrip = 5 * time.Millisecond
		b, err := kafka.Open(w.Context(), &kafka.Options{
			Brokers: w.cluster.ListenAddrs(), ChannelOptions: kafka.ChannelOptions{Partitions: 1},
			Client: []kgo.Opt{kgo.Dialer(w.network.DialContext)},
		})
		if err != nil {
			w.Fatal(err)
		}
		p, err := godwit.NewProducer(w.Context(), b, "orders", nil)
		if err != nil {
			w.Fatal(err)
		}
		defer func() {
			ctx := context.WithoutCancel(w.Context())
			_, _ = p.Close(ctx), b.Close(ctx)
		}()
		send := func() {
			if err := p.Send(w.Context(), godwit.Message{Body: []byte("x")}); err != nil {
				w.Error(err)
			}
		}
		send() // the first send connects, and looks up the topic
		var requests atomic.Int64
		w.cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
			w.cluster.KeepControl()
			requests.Add(1)
			w.cluster.SleepControl(func() { time.Sleep(roundTrip) })
			return nil, nil, false
		})
		began := time.Now()
		send()
		if took := time.Since(began); took != roundTrip {
			w.Errorf("a single send took %v, and a round trip is %v", took, roundTrip)
		}
		requests.Store(0)
		var all sync.WaitGroup
		for range 200 {
			all.Go(send)
		}
		all.Wait()
		if n := requests.Load(); n > 20 {
			w.Errorf("200 sends at once took %d requests, want at most 20", n)
		}
	})
}

// Prepare refuses a message that is too large for its topic, whatever the topic's limit, so that the broker does not
// refuse a whole batch because of it.
func TestTooLargeTouchesNoNeighbour(t *testing.T) {
	for name, c := range map[string]struct {
		config map[string]string
		most   int
	}{
		"the default": {nil, 1_048_588}, "small": {map[string]string{"max.message.bytes": "5000"}, 5000},
		"large": {map[string]string{"max.message.bytes": "3000000"}, 3_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				l := w.begin(kafka.Options{
					ChannelOptions: kafka.ChannelOptions{TopicConfig: c.config},
				}, driver.Events{})
				s, err := l.b.Sender(w.Context(), orders)
				if err != nil {
					w.Fatal(err)
				}
				if _, err := s.Prepare(w.Context(), &driver.Message{Body: make([]byte,
					c.most)}); driver.ClassOf(err) != driver.TooLarge {
					w.Errorf("prepare a message of %d bytes: %v", c.most, err)
				}
				var batch []driver.Prepared
				for _, size := range []int{1, c.most - 200, c.most / 2, c.most / 2, 1} {
					p, err := s.Prepare(w.Context(), &driver.Message{OrderKey: "k", Body: make([]byte, size)})
					if err != nil {
						w.Fatal(err)
					}
					batch = append(batch, p)
				}
				if err := s.Send(w.Context(), batch); err != nil {
					w.Error(err)
				}
				ds := l.get(5)
				l.settle(driver.Reject, ds...) // the dead letters take the largest record with its reasons
				if n := w.count(ordersDead); n != 5 {
					w.Errorf("%d dead letters, want 5", n)
				}
			})
		})
	}
}

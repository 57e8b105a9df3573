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
	"github.com/godwitmq/godwit/kafka"
)

// A single send takes one round trip. Concurrent sends share requests all the same: their records gather while others
// are in flight.
func TestALoneSendDoesNotLinger(t *testing.T) {
	inWorld(t, func(w *world) {
		const roundTrip = 5 * time.Millisecond
		b, err := kafka.Open(w.Context(), &kafka.Options{
			Brokers: w.cluster.ListenAddrs(), Partitions: 1,
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

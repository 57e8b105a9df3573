//go:build synctests

package kafka_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// A consumer waits for a broker that is unavailable at its start, for a short or a long time, whether connections are
// refused or not answered. Its health reports the outage.
func TestABrokerThatIsAwayAtTheStart(t *testing.T) {
	for how, hangs := range map[string]bool{"refused": false, "not answered": true} {
		for _, outage := range []time.Duration{time.Minute, 10 * time.Minute} {
			t.Run(how+" "+outage.String(), func(t *testing.T) {
				inWorld(t, func(w *world) {
					wire := &cutter{dial: w.network.DialContext, hangs: hangs}
					b, err := kafka.Open(w.Context(), &kafka.Options{
						Brokers: w.cluster.ListenAddrs(), Client: []kgo.Opt{kgo.Dialer(wire.DialContext)},
						ChannelOptions: kafka.ChannelOptions{Partitions: 1},
					})
					if err != nil {
						t.Fatal(err)
					}
					c, err := godwit.NewConsumer(w.Context(), b, "orders", nil)
					if err != nil {
						t.Fatal(err)
					}
					w.send(0, "x")
					wire.cut()
					ctx, cancel := context.WithCancel(w.Context())
					defer cancel()
					handled, ended := make(chan struct{}, 1), make(chan error, 1)
					go func() {
						_, err := c.Run(ctx, func(context.Context,
							*godwit.Delivery,
						) error {
							handled <- struct{}{}
							return nil
						})
						ended <- err
					}()
					time.Sleep(outage)
					if told := strings.Join(c.Health().Unhealthy, "\n"); !strings.Contains(told,
						"opening the channel") {
						t.Errorf("after an outage of %v, health reports %q", outage, told)
					}
					wire.mend()
					select {
					case <-handled:
					case err := <-ended:
						t.Fatalf("the consumer ended: %v", err)
					case <-time.After(40 * time.Second):
						t.Errorf("no record was handled within 40 s after the outage")
					}
					time.Sleep(10 * time.Second)
					if h := c.Health(); len(h.Unhealthy) > 0 {
						t.Errorf("after the outage, health reports %q", h.Unhealthy)
					}
					cancel()
					if err := errors.Join(<-ended, b.Close(context.Background())); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

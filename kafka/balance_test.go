//go:build synctests

package kafka_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
)

// The mistake: channel y in namespace x, and channel x.y without a namespace, have groups of the same name, x.y. The
// leader of the group belongs to one channel and assigns no partition to the other. Here both receive their records and
// their retries.
func TestChannelsWhoseGroupsHaveOneName(t *testing.T) {
	inWorld(t, func(w *world) {
		got := map[string]chan string{
			"x.y": w.retrying("x", driver.Channel{Queue: "y"}),
			"x":   w.retrying("", driver.Channel{Exchange: "x", Queue: "y"}),
		}
		time.Sleep(20 * time.Second) // both have joined
		if members := w.groupOf("x.y").Members; len(members) != 2 {
			w.Fatalf("%d members in the group", len(members))
		}
		for topic := range got {
			for n := range int32(2) {
				if err := w.client.ProduceSync(w.Context(), &kgo.Record{
					Topic: topic, Partition: n,
					Value: []byte(topic),
				}).FirstErr(); err != nil {
					w.Fatal(err)
				}
			}
		}
		for topic, bodies := range got {
			for range 4 { // two records, twice each
				select {
				case body := <-bodies:
					if body != topic {
						w.Errorf("the consumer of topic %s received %s", topic, body)
					}
				case <-time.After(time.Minute):
					w.Fatalf("the consumer of topic %s received too few", topic)
				}
			}
		}
	})
}

// retrying receives from a channel and retries each record once. It reports every delivery.
func (w *world) retrying(namespace string, ch driver.Channel) chan string {
	w.Helper()
	o := kafka.Options{
		Brokers: w.cluster.ListenAddrs(), Client: []kgo.Opt{kgo.Dialer(w.network.DialContext)},
		Namespace: namespace, ChannelOptions: kafka.ChannelOptions{Partitions: 2, Retries: kafka.RetryAlone},
	}
	b, err := kafka.Open(w.Context(), &o)
	if err != nil {
		w.Fatal(err)
	}
	if err := b.Ensure(w.Context(), driver.ChannelSpec{Channel: ch, Owner: true}); err != nil {
		w.Fatal(err)
	}
	recv, err := b.Receiver(w.Context(), ch, driver.ReceiverOptions{Concurrency: 10, Wait: time.Second})
	if err != nil {
		w.Fatal(err)
	}
	bodies, done := make(chan string, 100), make(chan struct{})
	go func() {
		defer close(done)
		for w.Context().Err() == nil {
			ds, err := recv.Receive(w.Context(), driver.Ask{Max: 10}, nil)
			for _, d := range ds {
				bodies <- string(d.Body)
				s := driver.Settlement{
					Handle: d.Handle, Action: driver.Retry, After: 5 * time.Second,
					Attempt: d.Attempt + 1,
				}
				if d.Attempt > 0 {
					s.Action = driver.Done
				}
				err = errors.Join(err, recv.Settle(w.Context(), []driver.Settlement{s}))
			}
			if err != nil {
				w.Error(err)
			}
		}
	}()
	w.Cleanup(func() {
		<-done
		if err := errors.Join(recv.Close(context.Background()), b.Close(context.Background())); err != nil {
			w.Error(err)
		}
	})
	return bodies
}

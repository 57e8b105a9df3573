package snssqs_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
)

// On a FIFO queue, a receive whose answer was lost is repeated with the same attempt id, so that its groups are not
// locked until the lease ends.
func TestALostReceiveIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := local.Open(t.Context(), &local.Options{Server: &localaws.Options{Seed: testSeed}})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close(context.Background())
		ch := driver.Channel{Queue: "orders", Ordered: true}
		if err := b.Ensure(t.Context(), driver.ChannelSpec{Channel: ch, Owner: true}); err != nil {
			t.Fatal(err)
		}
		s, err := b.Sender(t.Context(), ch)
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Prepare(t.Context(), &driver.Message{Body: []byte("x"), OrderKey: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(t.Context(), []driver.Prepared{p}); err != nil {
			t.Fatal(err)
		}
		r, err := b.Receiver(t.Context(), ch, driver.ReceiverOptions{Concurrency: 1, Wait: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := r.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		b.Server().ControlOnce("sqs.ReceiveMessage",
			func(context.Context, *localaws.Request) localaws.Outcome { return localaws.Outcome{DropAfter: true} })
		_, err = r.Receive(t.Context(), driver.Ask{Max: 10}, nil)
		if driver.ClassOf(err) != driver.Transient || err == nil {
			t.Fatalf("a lost answer: %v", err)
		}
		begun := time.Now()
		ds, err := r.Receive(t.Context(), driver.Ask{Max: 10}, nil)
		if err != nil || len(ds) != 1 || time.Since(begun) > time.Second {
			t.Errorf("after %v: %d deliveries, %v; want the lost one at once", time.Since(begun), len(ds), err)
		}
		if len(ds) == 1 && ds[0].LeaseEnds.Before(time.Now().Add(29*time.Second)) {
			t.Errorf("its lease ends %v", ds[0].LeaseEnds)
		}
		if err := r.Settle(t.Context(), []driver.Settlement{{Handle: ds[0].Handle}}); err != nil {
			t.Error(err)
		}
	})
}

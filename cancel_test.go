package godwit_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/memdriver"
)

// A message is cancelled by the ID of its Receipt until its delay is over, whichever way it was sent, and by any
// producer of the channel.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := memdriver.Open(nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := godwit.NewConsumer(t.Context(), b, "orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		var ps [2]*godwit.Producer
		for i := range ps {
			ps[i], err = godwit.NewProducer(t.Context(), b, "orders", &godwit.ProducerOptions{Buffer: 1})
			if err != nil {
				t.Fatal(err)
			}
		}
		p, another := ps[0], ps[1]
		ctx, stop := context.WithCancel(t.Context())
		var came []string
		ended := make(chan error)
		go func() {
			_, err := c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
				came = append(came, string(d.Body))
				return nil
			})
			ended <- err
		}()
		var rs [4]godwit.Receipt
		message := func(i int, text string) godwit.Message {
			return godwit.Message{Body: []byte(text), Delay: time.Hour, Cancellable: true, Receipt: &rs[i]}
		}
		if err := p.Send(t.Context(), message(0, "send")); err != nil {
			t.Fatal(err)
		}
		if err := p.SendBatch(t.Context(), []godwit.Message{message(1, "batch")}); err != nil {
			t.Fatal(err)
		}
		r, err := p.SendAsync(t.Context(), message(2, "async"))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.Send(t.Context(), message(3, "stays")); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			if cancelled, err := another.Cancel(t.Context(), rs[i].ID); err != nil || !cancelled {
				t.Errorf("%d: %v, %v", i, cancelled, err)
			}
		}
		time.Sleep(time.Hour + time.Second)
		if cancelled, err := p.Cancel(t.Context(), rs[3].ID); err != nil || cancelled {
			t.Errorf("too late: %v, %v", cancelled, err)
		}
		stop()
		if err := <-ended; err != nil || !slices.Equal(came, []string{"stays"}) {
			t.Errorf("%v came, %v", came, err)
		}
		if err := errors.Join(p.Close(t.Context()), another.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Cancel(t.Context(), rs[0].ID); !errors.Is(err, godwit.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	})
}

// What cannot be cancelled is refused by Send, and what is no id by Cancel, with the reason.
func TestCancelBadInput(t *testing.T) {
	b, err := memdriver.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	producer := func(b godwit.Backend, channel string) *godwit.Producer {
		p, err := godwit.NewProducer(t.Context(), b, channel, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close(context.Background()) })
		return p
	}
	var r godwit.Receipt
	orders, bills := producer(b, "orders"), producer(b, "bills")
	cannot := producer(struct{ driver.Backend }{b}, "orders")
	whole := godwit.Message{Cancellable: true, Delay: time.Hour, Receipt: &r}
	noDelay, noReceipt := whole, whole
	noDelay.Delay, noReceipt.Receipt = 0, nil
	if err := orders.Send(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	cancel := func(p *godwit.Producer, id string) error {
		_, err := p.Cancel(t.Context(), id)
		return err
	}
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"no delay":        {orders.Send(t.Context(), noDelay), "set Delay or At"},
		"no receipt":      {orders.Send(t.Context(), noReceipt), "set Receipt"},
		"no ability":      {cannot.Send(t.Context(), whole), "snssqs.Options.Decisions"},
		"to cancel there": {cancel(cannot, r.ID), "snssqs.Options.Decisions"},
		"no id":           {cancel(orders, ""), "not Cancellable"},
		"another id":      {cancel(orders, "x"), `"x"`},
		"another channel": {cancel(bills, r.ID), "bills"},
	} {
		if c.err == nil || driver.ClassOf(c.err) != driver.Permanent || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	if err := cancel(orders, r.ID); err != nil {
		t.Error(err)
	}
}
